// SPDX-License-Identifier: Apache-2.0
//
// The flame chart of one thread: what it did, from left to right as time went.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

import { functionColours } from "../model/colour";
import { duration, shown } from "../model/format";
import { nodeAt } from "../model/layout";
import type { Profile } from "../model/profile";
import { momentText } from "../model/range";
import { search } from "../model/search";
import { usageOf } from "../model/table";
import { chartOf, type Chart, type Thread } from "../model/times";
import type { State } from "../model/url";
import { Crumbs, Save, Search } from "./bar";
import { factsOf, sentence, type Facts } from "./describe";
import { useGlobalKeys } from "./global_keys";
import { Graph } from "./graph";
import { useMatches } from "./matches";
import { pictures } from "./picture";
import type { Update } from "./state";

/** A thread that may be chosen. */
export interface Choice {
	key: string;
	text: string;
}

/*
 * A place in a chart is not a path: the same one comes again and again. It is
 * where it begins, in microseconds since 1970, and its depth.
 */
function placeKey(c: Chart, startUs: number, node: number): string {
	return node > 0 ? `@${Math.round(startUs + c.layout.start[node] / 1000)}.${c.tree.depth[node]}` : "";
}

function zoomedNode(c: Chart, startUs: number, zoom: string): number {
	const m = /^@(\d{1,17})\.(\d{1,5})$/.exec(zoom);
	const row = m && c.layout.rows[Number(m[2])];
	return row ? Math.max(0, nodeAt(c.tree, c.layout, row, (Number(m[1]) - startUs + 1) * 1000)) : 0;
}

/** @thread: one of @profile's; @startMs: when its times begin. @children stand before the other controls. */
export function ChartView({ profile, startMs, thread, choices, state, update, children }: {
	profile: Profile; startMs: number; thread: Thread; choices: Choice[]; state: State; update: Update;
	children?: ComponentChildren;
}) {
	const { functions } = profile;
	const chart = useMemo(() => chartOf(profile.tree, thread, profile.periodNs), [profile, thread]);
	const { tree, layout } = chart;
	const startUs = startMs * 1000 + chart.beginNs / 1000;
	const scale = { unit: "nanoseconds" as const, periodNs: 0 };
	const colours = useMemo(() => {
		const whole = tree.total[0] || 1;
		return functionColours(functions, state.colour, usageOf(tree, functions.n).self.map((v) => v / whole));
	}, [tree, functions, state.colour]);
	const found = useMemo(() => search(tree, functions, { text: state.query, regex: state.regex }),
		[tree, functions, state.query, state.regex]);
	const zoom = zoomedNode(chart, startUs, state.zoom);
	const [match, stepMatch] = useMatches(found, tree, layout, zoom, update);
	useGlobalKeys(state, update, stepMatch);
	const name = shown(thread.name, 60);
	const describe = (node: number): Facts => {
		const facts = factsOf(tree, node, functions, scale, name, { zoom });
		const ms = startUs / 1000 + layout.start[node] / 1e6;
		return { ...facts, lines: [
			["begins", `${duration(layout.start[node])}, ${momentText(ms)} + ${Math.floor(ms % 1000)} ms`], ...facts.lines,
		] };
	};
	const setZoom = (node: number) => update({ zoom: placeKey(chart, startUs, node) });
	return (
		<main>
			<div class="controls">
				{children}
				<label class="thread">Thread{" "}
					<select value={thread.key} onChange={(e) => update({ thread: e.currentTarget.value, zoom: "" })}>
						{choices.map((t) => <option key={t.key} value={t.key}>{t.text}</option>)}
					</select>
				</label>
				<Search state={state} found={found} all={tree.total[0]} at={match.at} update={update} onStep={stepMatch} />
				<div class="options">
					{state.sliceFrom !== "" && <button onClick={() => update({ sliceFrom: "", sliceTo: "", zoom: "" })}>All of the time</button>}
					<button aria-pressed={state.flame} title="Root at the bottom"
						onClick={() => update({ flame: !state.flame })}>Flame</button>
					<Save downloads={pictures({
						tree, layout, functions, colours, flame: state.flame, zoom, title: `${profile.title} ${thread.name}`,
						rootName: name, ruler: true, tell: (n) => sentence(describe(n)),
					})} />
				</div>
			</div>
			<div class="body">
				<section class="pane" aria-label="Flame chart">
					<Crumbs tree={tree} functions={functions} zoom={zoom} rootName={name} hint="" onZoom={setZoom} />
					<Graph
						label="Flame chart. Arrows move, Enter zooms, Escape resets." rootName={name} ruler
						tree={tree} layout={layout} functions={functions} colours={colours} scale={scale} flame={state.flame}
						zoom={zoom} matched={found.functions} describe={describe}
						show={match.at >= 0 ? { node: found.nodes[match.at], turn: match.turn } : undefined}
						onZoom={setZoom} onMenu={setZoom}
					/>
				</section>
			</div>
		</main>
	);
}
