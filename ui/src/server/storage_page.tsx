// SPDX-License-Identifier: Apache-2.0
//
// What the server keeps, by day, and for how long.

import { bytesText, grouped } from "../model/format";
import { momentText } from "../model/range";
import * as api from "./api";
import { useAsk } from "./ask";
import { DataTable, type Column } from "./data_table";
import { Failed, Message, Waiting } from "./messages";
import type { Scope } from "./scope";

type Day = api.StorageUse["days"][number];

function columnsOf(largest: number, tenants: boolean): Column<Day>[] {
	return [
		{ id: "day", text: "Day (UTC)", value: (d) => d.day, cell: (d) => d.day },
		...(tenants ? [{ id: "tenant", text: "Tenant", value: (d: Day) => d.tenant, cell: (d: Day) => d.tenant }] : []),
		{ id: "bytes", text: "Bytes", number: true, value: (d) => d.bytes, cell: (d) => bytesText(d.bytes) },
		{ id: "share", text: "Share", wide: true, value: (d) => d.bytes, cell: (d) =>
			<span class="daybar" aria-hidden="true"><i style={{ width: `${(100 * d.bytes) / (largest || 1)}%` }} /></span> },
		{ id: "series", text: "Series", number: true, value: (d) => d.series, cell: (d) => grouped(d.series) },
		{ id: "profiles", text: "Profiles", number: true, value: (d) => d.profiles, cell: (d) => grouped(d.profiles) },
	];
}

function limits(r: api.StorageUse["retention"]): string {
	const parts = [
		r.days > 0 ? `${r.days} ${r.days === 1 ? "day" : "days"}` : "",
		r.bytes > 0 ? bytesText(r.bytes) : "",
	].filter((t) => t !== "");
	return parts.length === 0 ? "everything is kept" : `the last ${parts.join(", at most ")}`;
}

export function StoragePage({ scope }: { scope: Scope }) {
	const { state, update, now } = scope;
	const { data, error } = useAsk(String(now), (signal) => api.storage(signal));
	if (!data)
		return error ? <Failed error={error} what="The storage" /> : <Waiting />;
	if (data.days.length === 0)
		return <Message title="Nothing is stored yet"><p>Profiles appear here as soon as one is pushed.</p></Message>;
	const days = new Set(data.days.map((d) => d.day)).size;
	const facts: [string, string][] = [
		["In all", bytesText(data.bytes)],
		["Series", grouped(data.series)],
		["A day", bytesText(data.bytes / days)],
		["Oldest profile", data.oldest > 0 ? momentText(data.oldest) : "—"],
		["Newest profile", data.newest > 0 ? momentText(data.newest) : "—"],
		["Kept", limits(data.retention)],
	];
	return (
		<main class="list">
			<dl class="figures">
				{facts.map(([label, text]) => <div key={label}><dt>{label}</dt><dd>{text}</dd></div>)}
			</dl>
			<DataTable label="What is stored, by day" rows={data.days} keyOf={(d) => `${d.day} ${d.tenant}`}
				columns={columnsOf(Math.max(...data.days.map((d) => d.bytes)), new Set(data.days.map((d) => d.tenant)).size > 1)}
				order={state.order} usual="-day" onOrder={(order) => update({ order }, "replace")} />
			<p class="note">Days are dropped whole: <code>cameo server --keep-days N --keep-gib N</code> says when.</p>
		</main>
	);
}
