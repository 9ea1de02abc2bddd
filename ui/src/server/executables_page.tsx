// SPDX-License-Identifier: Apache-2.0
//
// The executables and libraries in the profiles, and how much of each is
// symbolized.

import { kindOf } from "../model/colour";
import { baseName, displayName, formatCount, formatPercent, formatValue, type Scale } from "../model/format";
import { unitOf } from "../model/profile_types";
import * as api from "./api";
import { DataTable, type Column } from "./data_table";
import { Failed, Loading, NoSamples } from "./messages";
import { queryKey, type Scope } from "./scope";
import { useQuery } from "./use_query";

const MAX_EXECUTABLES = 1000;

function symbolState(e: api.Executable): { text: string; class: string; share: number } {
	const share = e.self > 0 ? 1 - e.unnamed / e.self : 1;
	if (e.self === 0 || share > 0.999)
		return { text: "symbolized", class: "good", share };
	return share < 0.001
		? { text: "no symbols", class: "critical", share }
		: { text: `${formatPercent(share, 1)} symbolized`, class: share < 0.9 ? "warning" : "good", share };
}

function columnsOf(all: number, scale: Scale): Column<api.Executable>[] {
	const cell = (v: number) => <>{formatValue(v, scale)} <small>{formatPercent(v, all)}</small></>;
	return [
		{ id: "self", text: "Self", number: true, value: (e) => e.self, cell: (e) => cell(e.self) },
		{ id: "total", text: "Total", number: true, value: (e) => e.total, cell: (e) => cell(e.total) },
		{ id: "binary", text: "Executable or library", wide: true, value: (e) => e.binary, cell: (e) => (
			<span title={displayName(e.binary, 300)}><b>{e.binary === "" ? "(no file)" : displayName(baseName(e.binary), 60)}</b>
				{e.binary.includes("/") && <small> {displayName(e.binary, 90)}</small>}</span>
		) },
		{ id: "kind", text: "Frame type", value: (e) => e.kind, cell: (e) => kindOf(e.kind).label },
		{ id: "functions", text: "Functions", number: true, value: (e) => e.functions, cell: (e) => formatCount(e.functions) },
		{ id: "named", text: "Symbols", value: (e) => symbolState(e).share, cell: (e) =>
			<span class={`health ${symbolState(e).class}`}>{symbolState(e).text}</span> },
	];
}

export function ExecutablesPage({ scope }: { scope: Scope }) {
	const { state, update } = scope;
	const { data, error } = useQuery(queryKey(scope.query), (signal) =>
		api.executables({ ...scope.query, limit: MAX_EXECUTABLES }, signal));
	if (!data)
		return error ? <Failed error={error} what="the executables" /> : <Loading />;
	if (data.executables.length === 0)
		return <NoSamples />;
	const scale: Scale = { unit: unitOf(scope.type), periodNs: 0 };
	return (
		<main class="list">
			<p class="note">A file without symbols was stripped: install its debug package
				{" "}(<code>-dbgsym</code>, <code>-debuginfo</code>) on the profiled machine.
				{data.found > data.executables.length && ` Showing the ${data.executables.length} largest of ${data.found}.`}</p>
			<DataTable label="Executables and libraries" columns={columnsOf(data.total, scale)} rows={data.executables}
				keyOf={(e) => `${e.kind} ${e.binary}`} order={state.order} onOrder={(order) => update({ order }, "replace")}
				openText="Show functions" onOpen={(e) => update({ page: "flame", view: "table", filter: e.binary, zoom: "" })} />
		</main>
	);
}
