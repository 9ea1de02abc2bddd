// SPDX-License-Identifier: Apache-2.0
//
// The executables and libraries that were met, and how well they are named.

import { kindOf } from "../model/colour";
import { amount, baseName, grouped, percent, shown, type Scale } from "../model/format";
import { unitOf } from "../model/types";
import * as api from "./api";
import { useAsk } from "./ask";
import { DataTable, type Column } from "./data_table";
import { Failed, Message, Waiting } from "./messages";
import { questionOf, type Scope } from "./scope";

const MOST = 1000;

function named(e: api.Executable): { text: string; class: string; share: number } {
	const share = e.self > 0 ? 1 - e.unnamed / e.self : 1;
	if (e.self === 0 || share > 0.999)
		return { text: "all named", class: "good", share };
	return share < 0.001
		? { text: "no names", class: "gone", share }
		: { text: `${percent(share, 1)} named`, class: share < 0.9 ? "late" : "good", share };
}

function columnsOf(all: number, scale: Scale): Column<api.Executable>[] {
	const cell = (v: number) => <>{amount(v, scale)} <small>{percent(v, all)}</small></>;
	return [
		{ id: "self", text: "Self", number: true, value: (e) => e.self, cell: (e) => cell(e.self) },
		{ id: "total", text: "Total", number: true, value: (e) => e.total, cell: (e) => cell(e.total) },
		{ id: "binary", text: "Executable or library", wide: true, value: (e) => e.binary, cell: (e) => (
			<span title={shown(e.binary, 300)}><b>{e.binary === "" ? "(not in a file)" : shown(baseName(e.binary), 60)}</b>
				{e.binary.includes("/") && <small> {shown(e.binary, 90)}</small>}</span>
		) },
		{ id: "kind", text: "Kind", value: (e) => e.kind, cell: (e) => kindOf(e.kind).label },
		{ id: "functions", text: "Functions", number: true, value: (e) => e.functions, cell: (e) => grouped(e.functions) },
		{ id: "named", text: "Names", value: (e) => named(e).share, cell: (e) =>
			<span class={`health ${named(e).class}`}>{named(e).text}</span> },
	];
}

export function BinariesPage({ scope }: { scope: Scope }) {
	const { state, update } = scope;
	const { data, error } = useAsk(questionOf(scope.query), (signal) =>
		api.executables({ ...scope.query, limit: MOST }, signal));
	if (!data)
		return error ? <Failed error={error} what="The list" /> : <Waiting />;
	if (data.executables.length === 0)
		return <Message title="No samples in this range"><p>Choose a longer range, or fewer filters.</p></Message>;
	const scale: Scale = { unit: unitOf(scope.type), periodNs: 0 };
	return (
		<main class="list">
			<p class="note">Where names are missing, the file was stripped: install its debug package
				{" "}(<code>-dbgsym</code>, <code>-debuginfo</code>) on the machine that is profiled.
				{data.found > data.executables.length && ` The ${data.executables.length} largest of ${data.found}.`}</p>
			<DataTable label="Executables and libraries" columns={columnsOf(data.total, scale)} rows={data.executables}
				keyOf={(e) => `${e.kind} ${e.binary}`} order={state.order} onOrder={(order) => update({ order }, "replace")}
				openText="Functions" onOpen={(e) => update({ page: "flame", view: "table", filter: e.binary, zoom: "" })} />
		</main>
	);
}
