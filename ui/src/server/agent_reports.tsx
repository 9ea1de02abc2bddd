// SPDX-License-Identifier: Apache-2.0
//
// What agents say of themselves: a row each, and all that one says.

import { bytesText, duration, grouped, percent, round, shown } from "../model/format";
import * as api from "./api";
import { ago, health } from "./agents_page";
import { DataTable, type Column } from "./data_table";
import type { Scope } from "./scope";

/* What is told of every agent, in this order, where agents say it. */
const FIRST = ["samples", "lost", "completeness", "named_share", "processes", "tables_bytes", "rss_bytes", "cpu_ns_per_sample", "dropped"];
const MOST_COLUMNS = 9;

/** A value as its name's end says. */
export function valueText(name: string, v: number): string {
	if (/bytes$/.test(name))
		return bytesText(v);
	if (/_ns(_per_sample)?$/.test(name))
		return duration(v);
	if (/(completeness|share|ratio)$/.test(name))
		return percent(v, 1);
	return Number.isInteger(v) ? grouped(v) : round(v);
}

/* "cpu_ns_per_sample": its unit stands with the value. */
function words(name: string): string {
	const text = shown(name, 60).replace(/_ns(?=_|$)|_share$/, "").replaceAll("_", " ");
	return text.replace(/^(cpu|rss|bpf|.)/, (t) => t.toUpperCase());
}

function columnsOf(agents: api.AgentReport[], now: number): Column<api.AgentReport>[] {
	const said = new Set(agents.flatMap((a) => Object.keys(a.values)));
	const names = [...FIRST.filter((n) => said.has(n)), ...[...said].filter((n) => !FIRST.includes(n)).sort()].slice(0, MOST_COLUMNS);
	return [
		{ id: "agent", text: "Agent", value: (a) => a.agent, cell: (a) => <b>{shown(a.agent, 60)}</b> },
		{ id: "health", text: "Health", value: (a) => -a.receivedAt, cell: (a) => {
			const h = health(a.receivedAt, now);
			return <span class={`health ${h.class}`} title={ago(now - a.receivedAt)}>{h.text}</span>;
		} },
		...names.map((n): Column<api.AgentReport> => ({
			id: n, text: words(n), number: true, value: (a) => a.values[n] ?? -1,
			cell: (a) => (a.values[n] === undefined ? "—"
				: <span class={n === "lost" && a.values[n] > 0 ? "bad" : ""}>{valueText(n, a.values[n])}</span>),
		})),
	];
}

function All({ of }: { of: api.AgentReport }) {
	const facts = [
		...Object.entries(of.labels).map(([n, v]) => [n, shown(v, 200)]),
		...Object.entries(of.values).map(([n, v]) => [n, valueText(n, v)]),
	];
	return (
		<section class="said" tabIndex={0} aria-label={`All that ${shown(of.agent, 60)} says`}>
			<dl class="figures">{facts.map(([n, v]) => <div key={n}><dt>{words(n)}</dt><dd>{v}</dd></div>)}</dl>
		</section>
	);
}

export function AgentReports({ agents, scope }: { agents: api.AgentReport[]; scope: Scope }) {
	const { state, update, now } = scope;
	const chosen = agents.find((a) => a.agent === state.selected);
	return (
		<>
			<DataTable label="Agents" columns={columnsOf(agents, now)} rows={agents} keyOf={(a) => a.agent}
				order={state.agentOrder} usual="agent" onOrder={(agentOrder) => update({ agentOrder }, "replace")}
				openText="All it says" onOpen={(a) => update({ selected: a.agent === state.selected ? "" : a.agent })} />
			{chosen && <All of={chosen} />}
		</>
	);
}
