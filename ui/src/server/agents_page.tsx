// SPDX-License-Identifier: Apache-2.0
//
// The agents and processes that send profiles: when each sent its last profile,
// and how many samples it lost.

import { displayName, formatCount, formatPercent } from "../model/format";
import { formatDateTime } from "../model/range";
import { narrowTo, SERVICE } from "../model/selector";
import { AgentReports } from "./agent_reports";
import * as api from "./api";
import { DataTable, type Column } from "./data_table";
import { LabelPicker, useLabels } from "./filters";
import { Failed, Loading, Message } from "./messages";
import type { Scope } from "./scope";
import { useQuery } from "./use_query";

const HOSTS = ["host.name", "host", "hostname", "node", "instance"];
const LATE_MS = 60e3;
const GONE_MS = 300e3;

/** Returns the status of a sender whose last profile or report is from @lastSeen. */
export function health(lastSeen: number, now: number): { text: string; class: string; rank: number } {
	const age = now - lastSeen;
	if (age < LATE_MS)
		return { text: "active", class: "good", rank: 0 };
	if (age < GONE_MS)
		return { text: "delayed", class: "warning", rank: 1 };
	return { text: "silent", class: "critical", rank: 2 };
}

export function formatAge(ms: number): string {
	const s = Math.max(0, Math.round(ms / 1000));
	if (s < 90)
		return `${s} s ago`;
	if (s < 5400)
		return `${Math.round(s / 60)} min ago`;
	return s < 129600 ? `${Math.round(s / 3600)} h ago` : `${Math.round(s / 86400)} days ago`;
}

/* The columns of samples and losses exist only if any sender reports them. */
function columnsOf(by: string[], now: number, targets: api.Target[]): Column<api.Target>[] {
	const lost = (t: api.Target) => (t.lost !== null && t.samples ? t.lost / (t.samples + t.lost) : 0);
	return [
		...by.map((label): Column<api.Target> => ({
			id: label, text: label, wide: true,
			value: (t) => t.labels[label] ?? "",
			cell: (t) => displayName(t.labels[label] ?? "—", 80),
		})),
		{ id: "health", text: "Status", value: (t) => -t.lastSeen, cell: (t) => {
			const h = health(t.lastSeen, now);
			return <span class={`health ${h.class}`}>{h.text}</span>;
		} },
		{ id: "last", text: "Last profile", number: true, value: (t) => t.lastSeen,
			cell: (t) => <span title={formatDateTime(t.lastSeen)}>{formatAge(now - t.lastSeen)}</span> },
		{ id: "profiles", text: "Profiles", number: true, value: (t) => t.profiles, cell: (t) => formatCount(t.profiles) },
		...([
			{ id: "samples", text: "Samples", number: true, value: (t) => t.samples ?? -1,
				cell: (t) => (t.samples === null ? "—" : formatCount(t.samples)) },
			{ id: "lost", text: "Lost", number: true, value: lost,
				cell: (t) => (t.lost === null ? "—" : t.lost === 0 ? "0" :
					<span class="error">{formatCount(t.lost)} ({formatPercent(lost(t), 1)})</span>) },
		] as (Column<api.Target> & { id: "samples" | "lost" })[]).filter(({ id }) => targets.some((t) => t[id] !== null)),
	];
}

export function AgentsPage({ scope }: { scope: Scope }) {
	const { state, update, range, now } = scope;
	const labels = useLabels(scope.selector, range);
	const host = labels && HOSTS.find((h) => labels.includes(h));
	const by = [...new Set([...(host ? [host] : []), SERVICE, ...(state.group !== SERVICE ? [state.group] : [])])];
	const { data, error } = useQuery(labels && [scope.selector, range.from, range.to, ...by].join(" "), (signal) =>
		api.targets({ start: range.from, end: range.to, labelSelector: scope.selector, by }, signal));
	const columns = columnsOf(by, now, data?.targets ?? []);
	const { data: reports } = useQuery(String(Math.floor(now / 10e3)), api.agents);
	return (
		<>
			{reports && reports.agents.length > 0 && <section class="list reports" aria-label="Agent reports"><AgentReports agents={reports.agents} scope={scope} /></section>}
			<div class="querybar" role="region" aria-label="Columns">
				<LabelPicker prefix="Group by" label={state.group} selector={scope.selector} range={range}
					onSet={(group) => update({ group })} />
				<span class="note">Agents and processes that sent profiles in this time range.</span>
			</div>
			{!data ? error ? <Failed error={error} what="the agents" /> : <Loading />
				: data.targets.length === 0
				? <Message title="No agent reported in this time range">
					<p>Start an agent with <code>sudo cameo agent --server {location.origin}</code>, or choose a longer range.</p>
				</Message>
				: (
					<main class="list">
						<DataTable label="Processes and agents" columns={columns} rows={data.targets}
							keyOf={(t) => by.map((l) => t.labels[l]).join("\0")}
							order={state.order} defaultOrder="-profiles" onOrder={(order) => update({ order }, "replace")}
							openText="Flame graph" onOpen={(t) => update({
								page: "flame", opened: [], zoom: "", service: t.labels[SERVICE] ?? state.service,
								where: by.filter((l) => l !== SERVICE && t.labels[l])
									.reduce((w, l) => narrowTo(w, l, t.labels[l]), state.where),
							})} />
					</main>
				)}
		</>
	);
}
