// SPDX-License-Identifier: Apache-2.0
//
// The server's storage by day, and its retention.

import { formatBytes, formatCount } from "../model/format";
import { formatDateTime } from "../model/range";
import * as api from "./api";
import { DataTable, type Column } from "./data_table";
import { Failed, Loading, Message } from "./messages";
import type { Scope } from "./scope";
import { useQuery } from "./use_query";

type Day = api.StorageUse["days"][number];

function columnsOf(largest: number, tenants: boolean): Column<Day>[] {
	return [
		{ id: "day", text: "Day (UTC)", value: (d) => d.day, cell: (d) => d.day },
		...(tenants ? [{ id: "tenant", text: "Tenant", value: (d: Day) => d.tenant, cell: (d: Day) => d.tenant }] : []),
		{ id: "bytes", text: "Size", number: true, value: (d) => d.bytes, cell: (d) => formatBytes(d.bytes) },
		{ id: "share", text: "Share", wide: true, value: (d) => d.bytes, cell: (d) =>
			<span class="daybar" aria-hidden="true"><i style={{ width: `${(100 * d.bytes) / (largest || 1)}%` }} /></span> },
		{ id: "series", text: "Series", number: true, value: (d) => d.series, cell: (d) => formatCount(d.series) },
		{ id: "profiles", text: "Profiles", number: true, value: (d) => d.profiles, cell: (d) => formatCount(d.profiles) },
	];
}

function formatRetention(r: api.StorageUse["retention"]): string {
	const parts = [
		r.days > 0 ? `${r.days} ${r.days === 1 ? "day" : "days"}` : "",
		r.bytes > 0 ? formatBytes(r.bytes) : "",
	].filter((t) => t !== "");
	return parts.length === 0 ? "unlimited" : parts.join(", at most ");
}

export function StoragePage({ scope }: { scope: Scope }) {
	const { state, update, now } = scope;
	const { data, error } = useQuery(String(now), (signal) => api.storage(signal));
	if (!data)
		return error ? <Failed error={error} what="the storage" /> : <Loading />;
	if (data.days.length === 0)
		return <Message title="No profiles stored yet"><p>The storage is shown as soon as the server receives profiles.</p></Message>;
	const days = new Set(data.days.map((d) => d.day)).size;
	const facts: [string, string][] = [
		["Total", formatBytes(data.bytes)],
		["Series", formatCount(data.series)],
		["Per day", formatBytes(data.bytes / days)],
		["Oldest profile", data.oldest > 0 ? formatDateTime(data.oldest) : "—"],
		["Newest profile", data.newest > 0 ? formatDateTime(data.newest) : "—"],
		["Retention", formatRetention(data.retention)],
	];
	return (
		<main class="list">
			<dl class="figures">
				{facts.map(([label, text]) => <div key={label}><dt>{label}</dt><dd>{text}</dd></div>)}
			</dl>
			<DataTable label="Storage by day" rows={data.days} keyOf={(d) => `${d.day} ${d.tenant}`}
				columns={columnsOf(Math.max(...data.days.map((d) => d.bytes)), new Set(data.days.map((d) => d.tenant)).size > 1)}
				order={state.order} defaultOrder="-day" onOrder={(order) => update({ order }, "replace")} />
			{data.days.filter((d) => d.damage).map((d) =>
				<p class="error" role="alert" key={`${d.day} ${d.tenant}`}>{d.day} cannot be read: {d.damage}</p>)}
			<p class="note">The server deletes whole days. <code>cameo server --keep-days N --keep-gib N</code> sets the limits.</p>
		</main>
	);
}
