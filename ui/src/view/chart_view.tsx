// SPDX-License-Identifier: Apache-2.0
//
// The flame chart of one thread: its calls from left to right in order of time.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

import { functionColours } from "../model/colour";
import { displayName, formatDuration } from "../model/format";
import { nodeAt } from "../model/layout";
import type { Profile } from "../model/profile";
import { formatPreciseTime } from "../model/range";
import { search } from "../model/search";
import { usageOf } from "../model/table";
import { buildChart, type Chart, type Thread } from "../model/times";
import type { State } from "../model/url";
import { Breadcrumbs, DownloadMenu, FLIP, Search } from "./controls";
import { useGlobalKeys } from "./global_keys";
import { Graph, graphLabel } from "./graph";
import { imageDownloads } from "./image";
import { useMatches } from "./matches";
import { detailsText, nodeDetails, type NodeDetails } from "./node_details";
import type { Update } from "./url_state";

/** A thread that the user can choose. */
export interface ThreadChoice {
	key: string;
	text: string;
}

/*
 * The key of a node in a chart. A path does not identify it, since the same path occurs many
 * times, so the key consists of its start, in microseconds since 1970, and its depth.
 */
function chartNodeKey(c: Chart, startUs: number, node: number): string {
	return node > 0 ? `@${Math.round(startUs + c.layout.start[node] / 1000)}.${c.tree.depth[node]}` : "";
}

function zoomedNode(c: Chart, startUs: number, zoom: string): number {
	const m = /^@(\d{1,17})\.(\d{1,5})$/.exec(zoom);
	const row = m && c.layout.rows[Number(m[2])];
	return row ? Math.max(0, nodeAt(c.tree, c.layout, row, (Number(m[1]) - startUs + 1) * 1000)) : 0;
}

/** @thread belongs to @profile, whose times begin at @startMs. @children precede the other controls. */
export function ChartView({ profile, startMs, thread, choices, state, update, children }: {
	profile: Profile; startMs: number; thread: Thread; choices: ThreadChoice[]; state: State; update: Update;
	children?: ComponentChildren;
}) {
	const { functions } = profile;
	const chart = useMemo(() => buildChart(profile.tree, thread, profile.periodNs), [profile, thread]);
	const { tree, layout } = chart;
	const startUs = startMs * 1000 + chart.beginNs / 1000;
	const scale = { unit: "nanoseconds" as const, periodNs: 0 };
	const colours = useMemo(() => {
		const total = tree.total[0] || 1;
		return functionColours(functions, state.colour, usageOf(tree, functions.n).self.map((v) => v / total));
	}, [tree, functions, state.colour]);
	const found = useMemo(() => search(tree, functions, { text: state.query, regex: state.regex }),
		[tree, functions, state.query, state.regex]);
	const zoom = zoomedNode(chart, startUs, state.zoom);
	const [match, stepMatch] = useMatches(found, tree, layout, zoom, update);
	useGlobalKeys(state, update, stepMatch);
	const name = displayName(thread.name, 60);
	const describe = (node: number): NodeDetails => {
		const facts = nodeDetails(tree, node, functions, scale, name, { zoom });
		const ms = startUs / 1000 + layout.start[node] / 1e6;
		return { ...facts, lines: [
			["start", `${formatDuration(layout.start[node])}, ${formatPreciseTime(ms)}`], ...facts.lines,
		] };
	};
	const setZoom = (node: number) => update({ zoom: chartNodeKey(chart, startUs, node) });
	return (
		<main>
			<div class="controls">
				{children}
				<label class="thread">Thread{" "}
					<select value={thread.key} onChange={(e) => update({ thread: e.currentTarget.value, zoom: "" })}>
						{choices.map((t) => <option key={t.key} value={t.key}>{t.text}</option>)}
					</select>
				</label>
				<Search state={state} found={found} all={tree.total[0]} at={match.index} update={update} onStep={stepMatch} />
				<div class="options">
					{state.sliceFrom !== "" && <button onClick={() => update({ sliceFrom: "", sliceTo: "", zoom: "" })}>Clear time slice</button>}
					<button aria-pressed={state.flame} title={FLIP.title} onClick={() => update({ flame: !state.flame })}>{FLIP.text}</button>
					<DownloadMenu downloads={imageDownloads({
						tree, layout, functions, colours, flame: state.flame, zoom, title: `${profile.title} ${thread.name}`,
						rootName: name, ruler: true, describe: (n) => detailsText(describe(n)),
					})} />
				</div>
			</div>
			<div class="body">
				<section class="pane" aria-label="Flame chart">
					<Breadcrumbs tree={tree} functions={functions} zoom={zoom} rootName={name} hint="" onZoom={setZoom} />
					<Graph
						label={graphLabel("Flame chart")} rootName={name} ruler
						tree={tree} layout={layout} functions={functions} colours={colours} scale={scale} flame={state.flame}
						zoom={zoom} matched={found.functions} describe={describe}
						show={match.index >= 0 ? { node: found.nodes[match.index], turn: match.sequence } : undefined}
						onZoom={setZoom} onMenu={setZoom}
					/>
				</section>
			</div>
		</main>
	);
}
