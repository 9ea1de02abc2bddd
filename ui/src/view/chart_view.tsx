// SPDX-License-Identifier: Apache-2.0
//
// The flame chart of one thread: what it did, from left to right as time went.

import { useMemo } from "preact/hooks";

import { functionColours } from "../model/colour";
import { duration, shown } from "../model/format";
import type { Profile } from "../model/profile";
import { search } from "../model/search";
import { usageOf } from "../model/table";
import { chartOf, withinSlice, type Times } from "../model/times";
import type { State } from "../model/url";
import { Crumbs, Save, Search, Views } from "./bar";
import { factsOf, sentence } from "./describe";
import { useGlobalKeys } from "./global_keys";
import { Graph } from "./graph";
import { useMatches } from "./matches";
import { pictures } from "./picture";
import type { Update } from "./state";

const MOST_THREADS = 500;

/* A place in a chart is not a path: the same one comes again and again. */
function zoomedNode(zoom: string, n: number): number {
	const m = /^@(\d{1,9})$/.exec(zoom);
	return m && Number(m[1]) < n ? Number(m[1]) : 0;
}

export function ChartView({ profile, times, state, update }: {
	profile: Profile; times: Times; state: State; update: Update;
}) {
	const { functions } = profile;
	const threads = useMemo(() => (state.sliceFrom === "" ? times
		: withinSlice(times, Number(state.sliceFrom), Number(state.sliceTo))).threads, [times, state.sliceFrom, state.sliceTo]);
	const thread = threads.find((t) => t.key === state.thread) ?? threads[0] ?? times.threads[0];
	const { tree, layout } = useMemo(() => chartOf(profile.tree, thread, profile.periodNs), [profile, thread]);
	const scale = { unit: "nanoseconds" as const, periodNs: 0 };
	const colours = useMemo(() => {
		const whole = tree.total[0] || 1;
		return functionColours(functions, state.colour, usageOf(tree, functions.n).self.map((v) => v / whole));
	}, [tree, functions, state.colour]);
	const found = useMemo(() => search(tree, functions, { text: state.query, regex: state.regex }),
		[tree, functions, state.query, state.regex]);
	const zoom = zoomedNode(state.zoom, tree.n);
	const [match, stepMatch] = useMatches(found, tree, layout, zoom, update);
	useGlobalKeys(state, update, stepMatch);
	const name = shown(thread.name, 60);
	const describe = (node: number) => {
		const facts = factsOf(tree, node, functions, scale, name, { zoom });
		return { ...facts, lines: [["begins", duration(layout.start[node])] as [string, string], ...facts.lines] };
	};
	const setZoom = (node: number) => update({ zoom: node > 0 ? `@${node}` : "" });
	return (
		<main>
			<div class="controls">
				<Views state={state} update={update} timed />
				<label class="thread">Thread{" "}
					<select value={thread.key} onChange={(e) => update({ thread: e.currentTarget.value, zoom: "" })}>
						{threads.slice(0, MOST_THREADS).map((t) =>
							<option key={t.key} value={t.key}>{shown(t.name, 60)}: {t.at.length} samples</option>)}
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
						zoom={zoom} matched={found.functions}
						describe={describe}
						show={match.at >= 0 ? { node: found.nodes[match.at], turn: match.turn } : undefined}
						onZoom={setZoom} onMenu={setZoom}
					/>
				</section>
			</div>
		</main>
	);
}
