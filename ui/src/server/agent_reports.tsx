// SPDX-License-Identifier: Apache-2.0
//
// The reports of agents about themselves: one row per agent, and all figures of
// the selected one.

import { displayName, formatBytes, formatCount, formatDuration, formatNumber, formatPercent } from "../model/format";
import { formatAge, health } from "./agents_page";
import * as api from "./api";
import { DataTable, type Column } from "./data_table";
import type { Scope } from "./scope";

/* The figures that come first, in this order, if agents report them. */
const LEADING_FIGURES = ["samples", "lost", "completeness", "named_share", "processes", "tables_bytes", "rss_bytes", "cpu_ns_per_sample", "dropped"];
const MAX_COLUMNS = 9;

/** Formats a figure. The end of its name determines its unit. */
export function formatFigure(name: string, v: number): string {
	if (/bytes$/.test(name))
		return formatBytes(v);
	if (/_ns(_per_sample)?$/.test(name))
		return formatDuration(v);
	if (/(completeness|share|ratio)$/.test(name))
		return formatPercent(v, 1);
	return Number.isInteger(v) ? formatCount(v) : formatNumber(v);
}

/* Converts a name such as "cpu_ns_per_sample" to "CPU per sample"; the value has the unit. */
function formatName(name: string): string {
	const text = displayName(name, 60).replace(/_ns(?=_|$)|_(bytes|share)$/, "").replaceAll("_", " ");
	return text.replace(/^(cpu|rss|bpf|.)/, (t) => t.toUpperCase());
}

function columnsOf(agents: api.AgentReport[], now: number): Column<api.AgentReport>[] {
	const reported = new Set(agents.flatMap((a) => Object.keys(a.values)));
	const names = [...LEADING_FIGURES.filter((n) => reported.has(n)), ...[...reported].filter((n) => !LEADING_FIGURES.includes(n)).sort()].slice(0, MAX_COLUMNS);
	return [
		{ id: "agent", text: "Agent", value: (a) => a.agent, cell: (a) => <b>{displayName(a.agent, 60)}</b> },
		{ id: "health", text: "Status", value: (a) => -a.receivedAt, cell: (a) => {
			const h = health(a.receivedAt, now);
			return <span class={`health ${h.class}`} title={formatAge(now - a.receivedAt)}>{h.text}</span>;
		} },
		...names.map((n): Column<api.AgentReport> => ({
			id: n, text: formatName(n), number: true, value: (a) => a.values[n] ?? -1,
			cell: (a) => (a.values[n] === undefined ? "—"
				: <span class={n === "lost" && a.values[n] > 0 ? "error" : ""}>{formatFigure(n, a.values[n])}</span>),
		})),
	];
}

function AgentDetails({ of }: { of: api.AgentReport }) {
	const figures = [
		...Object.entries(of.labels).map(([n, v]) => [n, displayName(v, 200)]),
		...Object.entries(of.values).map(([n, v]) => [n, formatFigure(n, v)]),
	];
	return (
		<section class="agent-details" tabIndex={0} aria-label={`Details of ${displayName(of.agent, 60)}`}>
			<dl class="figures">{figures.map(([n, v]) => <div key={n}><dt>{formatName(n)}</dt><dd>{v}</dd></div>)}</dl>
		</section>
	);
}

export function AgentReports({ agents, scope }: { agents: api.AgentReport[]; scope: Scope }) {
	const { state, update, now } = scope;
	const chosen = agents.find((a) => a.agent === state.selected);
	return (
		<>
			<DataTable label="Agents" columns={columnsOf(agents, now)} rows={agents} keyOf={(a) => a.agent}
				order={state.agentOrder} defaultOrder="agent" onOrder={(agentOrder) => update({ agentOrder }, "replace")}
				openText="Details" onOpen={(a) => update({ selected: a.agent === state.selected ? "" : a.agent })} />
			{chosen && <AgentDetails of={chosen} />}
		</>
	);
}
