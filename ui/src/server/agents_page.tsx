// SPDX-License-Identifier: Apache-2.0
//
// Who sends profiles: hosts, services, processes; when they were heard of
// last, and what they lost.

import { grouped, percent, shown } from "../model/format";
import { momentText } from "../model/range";
import { narrowed, SERVICE } from "../model/selector";
import * as api from "./api";
import { AgentReports } from "./agent_reports";
import { useAsk } from "./ask";
import { DataTable, type Column } from "./data_table";
import { LabelPicker, useLabels } from "./filters";
import { Failed, Message, Waiting } from "./messages";
import type { Scope } from "./scope";

const HOSTS = ["host.name", "host", "hostname", "node", "instance"];
const LATE_MS = 60e3;
const GONE_MS = 300e3;

/** How it is with somebody heard of last at @lastSeen. */
export function health(lastSeen: number, now: number): { text: string; class: string; rank: number } {
	const age = now - lastSeen;
	if (age < LATE_MS)
		return { text: "sending", class: "good", rank: 0 };
	if (age < GONE_MS)
		return { text: "late", class: "late", rank: 1 };
	return { text: "silent", class: "gone", rank: 2 };
}

export function ago(ms: number): string {
	const s = Math.max(0, Math.round(ms / 1000));
	if (s < 90)
		return `${s} s ago`;
	if (s < 5400)
		return `${Math.round(s / 60)} min ago`;
	return s < 129600 ? `${Math.round(s / 3600)} h ago` : `${Math.round(s / 86400)} days ago`;
}

/* Samples and losses where anybody tells them. */
function columnsOf(by: string[], now: number, targets: api.Target[]): Column<api.Target>[] {
	const lost = (t: api.Target) => (t.lost !== null && t.samples ? t.lost / (t.samples + t.lost) : 0);
	return [
		...by.map((label): Column<api.Target> => ({
			id: label, text: label, wide: true,
			value: (t) => t.labels[label] ?? "",
			cell: (t) => shown(t.labels[label] ?? "—", 80),
		})),
		{ id: "health", text: "Health", value: (t) => -t.lastSeen, cell: (t) => {
			const h = health(t.lastSeen, now);
			return <span class={`health ${h.class}`}>{h.text}</span>;
		} },
		{ id: "last", text: "Last profile", number: true, value: (t) => t.lastSeen,
			cell: (t) => <span title={momentText(t.lastSeen)}>{ago(now - t.lastSeen)}</span> },
		{ id: "profiles", text: "Profiles", number: true, value: (t) => t.profiles, cell: (t) => grouped(t.profiles) },
		...([
			{ id: "samples", text: "Samples", number: true, value: (t) => t.samples ?? -1,
				cell: (t) => (t.samples === null ? "—" : grouped(t.samples)) },
			{ id: "lost", text: "Lost", number: true, value: lost,
				cell: (t) => (t.lost === null ? "—" : t.lost === 0 ? "0" :
					<span class="bad">{grouped(t.lost)} ({percent(lost(t), 1)})</span>) },
		] as (Column<api.Target> & { id: "samples" | "lost" })[]).filter(({ id }) => targets.some((t) => t[id] !== null)),
	];
}

export function AgentsPage({ scope }: { scope: Scope }) {
	const { state, update, range, now } = scope;
	const labels = useLabels(scope.selector, range);
	const host = labels && HOSTS.find((h) => labels.includes(h));
	const by = [...new Set([...(host ? [host] : []), SERVICE, ...(state.group !== SERVICE ? [state.group] : [])])];
	const { data, error } = useAsk(labels && [scope.selector, range.from, range.to, ...by].join(" "), (signal) =>
		api.targets({ start: range.from, end: range.to, labelSelector: scope.selector, by }, signal));
	const columns = columnsOf(by, now, data?.targets ?? []);
	const { data: reports } = useAsk(String(Math.floor(now / 10e3)), api.agents);
	return (
		<>
			{reports && reports.agents.length > 0 && <section class="list reports" aria-label="What agents say of themselves"><AgentReports agents={reports.agents} scope={scope} /></section>}
			<div class="querybar" role="region" aria-label="Columns">
				<LabelPicker prefix="Also by" label={state.group} selector={scope.selector} range={range}
					onSet={(group) => update({ group })} />
				<span class="note">Who sent profiles in this range. Somebody who stopped is here until the range has passed.</span>
			</div>
			{!data ? error ? <Failed error={error} what="The list" /> : <Waiting />
				: data.targets.length === 0
				? <Message title="Nobody sent profiles in this range">
					<p>Start one with <code>sudo cameo agent --server {location.origin}</code>, or choose a longer range.</p>
				</Message>
				: (
					<main class="list">
						<DataTable label="Processes and agents" columns={columns} rows={data.targets}
							keyOf={(t) => by.map((l) => t.labels[l]).join("\0")}
							order={state.order} usual="-profiles" onOrder={(order) => update({ order }, "replace")}
							openText="Flame graph" onOpen={(t) => update({
								page: "flame", opened: [], zoom: "", service: t.labels[SERVICE] ?? state.service,
								where: by.filter((l) => l !== SERVICE && t.labels[l])
									.reduce((w, l) => narrowed(w, l, t.labels[l]), state.where),
							})} />
					</main>
				)}
		</>
	);
}
