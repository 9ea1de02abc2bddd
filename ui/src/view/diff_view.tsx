// SPDX-License-Identifier: Apache-2.0
//
// What changed between two profiles: one flame graph in blue and orange, and
// the functions that moved most.

import { useMemo } from "preact/hooks";

import { changeColour, css } from "../model/colour";
import { diffTrees, movers, type Diff } from "../model/diff";
import { amount, percent, shown, type Scale } from "../model/format";
import { isOther } from "../model/graft";
import { findPath, pathKey } from "../model/hash";
import { layOut } from "../model/layout";
import type { Profile } from "../model/profile";
import { search } from "../model/search";
import { pathOf } from "../model/tree";
import type { State } from "../model/url";
import { Crumbs, Save, Search } from "./bar";
import { sentence, type Facts } from "./describe";
import { useGlobalKeys } from "./global_keys";
import { Graph } from "./graph";
import { useMatches } from "./matches";
import { pictures } from "./picture";
import type { Update } from "./state";

const MOST_MOVERS = 200;

/* Values of either side as a person reads them: shares, or time and samples. */
function reader(absolute: boolean, scale: Scale): (v: number) => string {
	return absolute ? (v) => amount(v, scale) : (v) => percent(v, 1);
}

function signed(by: number, read: (v: number) => string): string {
	return Math.abs(by) < 1e-9 ? "0" : `${by > 0 ? "+" : "−"}${read(Math.abs(by))}`;
}

function factsOfDiff(d: Diff, node: number, read: (v: number) => string): Facts {
	const fn = d.tree.fn[node];
	const [before, after] = [d.before[node], d.after[node]];
	return {
		name: fn < 0 ? "all" : shown(d.functions.name[fn]),
		where: "",
		lines: [
			["before", read(before)],
			["after", read(after)],
			["change", signed(after - before, read)],
			...(before > 0 && after > 0
				? [["factor", `× ${(after / before).toFixed(2)}`] as [string, string]] : []),
			...(fn >= 0 && d.functions.binary[fn] !== ""
				? [["binary", shown(d.functions.binary[fn], 200)] as [string, string]] : []),
		],
	};
}

/** A function's own value on either side. */
export interface Moved {
	name: string;
	binary: string;
	before: number;
	after: number;
	/** The change is no more than chance gives. */
	noise: boolean;
}

function movedOf(d: Diff): Moved[] {
	return movers(d).filter((m) => Math.abs(m.after - m.before) > 1e-9 && !isOther(d.functions, m.fn)).slice(0, MOST_MOVERS).map((m) => ({
		name: d.functions.name[m.fn], binary: d.functions.binary[m.fn], before: m.before, after: m.after, noise: false,
	}));
}

function Movers({ rows, read, onFind }: {
	rows: Moved[]; read: (v: number) => string; onFind: (name: string) => void;
}) {
	return (
		<section class="table movers" aria-label="Functions that changed most">
			<div class="scroll" tabIndex={0} role="group" aria-label="Functions that changed most">
				<table>
					<thead>
						<tr><th scope="col" class="total">Change</th><th scope="col" class="self">Before</th>
							<th scope="col" class="self">After</th><th scope="col" class="name">Function, itself</th></tr>
					</thead>
					<tbody>
						{rows.map((m) => (
							<tr key={`${m.binary} ${m.name}`} class={m.noise ? "noise" : ""} onClick={() => onFind(m.name)}
								title={m.noise ? "No more than chance gives" : undefined}>
								<td class="number">{signed(m.after - m.before, read)}</td>
								<td class="number">{read(m.before)}</td>
								<td class="number">{read(m.after)}</td>
								<td class="function">
									<span class="dot" style={{
										background: css(changeColour((m.after - m.before) / (m.after + m.before || 1))),
									}} />
									<button class="name" title={shown(m.name, 300)}>{shown(m.name, 300)}</button>
									{m.noise && <small>maybe chance</small>}
								</td>
							</tr>
						))}
					</tbody>
				</table>
				{rows.length === 0 && <p class="empty">No function changed.</p>}
			</div>
		</section>
	);
}

interface DiffViewProps {
	before: Profile;
	after: Profile;
	state: State;
	update: Update;
	/** Who changed most, where somebody knows better than the two profiles tell. */
	moved?: Moved[];
	busy?: boolean;
}

export function DiffView({ before, after, state, update, moved, busy }: DiffViewProps) {
	const d = useMemo(() => diffTrees(before, after, state.absolute ? "absolute" : "relative"),
		[before, after, state.absolute]);
	const layout = useMemo(() => layOut(d.tree), [d]);
	const nodeColours = useMemo(() => Array.from(d.change, (c) => css(changeColour(c))), [d]);
	const rows = useMemo(() => moved ?? movedOf(d), [d, moved]);
	const found = useMemo(() => search(d.tree, d.functions, { text: state.query, regex: state.regex }),
		[d, state.query, state.regex]);
	const zoom = useMemo(() => Math.max(0, state.zoom === "" ? 0 : findPath(d.tree, d.functions.key, state.zoom)),
		[d, state.zoom]);
	const [match, stepMatch] = useMatches(found, d.tree, layout, zoom, update);
	useGlobalKeys(state, update, stepMatch);
	const read = reader(state.absolute, after);
	const setZoom = (node: number) => update({
		zoom: node > 0 ? pathKey(pathOf(d.tree, node).map((fn) => d.functions.key[fn])) : "",
	});
	return (
		<main aria-busy={busy}>
			<div class="controls">
				<div class="views" role="group" aria-label="What is compared">
					<button aria-pressed={!state.absolute} title="Each profile's shares of its own samples"
						onClick={() => update({ absolute: false })}>Relative</button>
					<button aria-pressed={state.absolute} title="Values as they were recorded"
						onClick={() => update({ absolute: true })}>Absolute</button>
				</div>
				<Search state={state} found={found} all={d.tree.total[0]} at={match.at} update={update} onStep={stepMatch} />
				<div class="options">
					<button aria-pressed={state.flame} title="Root at the bottom"
						onClick={() => update({ flame: !state.flame })}>Flame</button>
					<Save downloads={pictures({
						tree: d.tree, layout, functions: d.functions, colours: nodeColours, byNode: true, flame: state.flame, zoom,
						title: `${before.title} to ${after.title}`, rootName: "all", tell: (n) => sentence(factsOfDiff(d, n, read)),
					})} />
				</div>
			</div>
			<div class="body" data-view="both">
				<Movers rows={rows} read={read} onFind={(name) => update({ query: name, regex: false })} />
				<section class="pane" aria-label="Flame graph">
					<Crumbs tree={d.tree} functions={d.functions} zoom={zoom} rootName="all" hint="" onZoom={setZoom} />
					<Graph
						label="Flame graph of the difference. Arrows move, Enter zooms, Escape resets."
						rootName="all" tree={d.tree} layout={layout} functions={d.functions} colours={nodeColours}
						nodeColours={nodeColours} scale={after} flame={state.flame} zoom={zoom}
						matched={found.functions} describe={(node) => factsOfDiff(d, node, read)}
						show={match.at >= 0 ? { node: found.nodes[match.at], turn: match.turn } : undefined}
						onZoom={setZoom} onMenu={setZoom}
					/>
				</section>
			</div>
			<ul class="legend" aria-label="Colours">
				{([[-1, "less, or gone"], [0, "the same"], [1, "more, or new"]] as [number, string][]).map(([c, text]) => (
					<li key={text}><span class="dot" style={{ background: css(changeColour(c)) }} />{text}</li>
				))}
			</ul>
		</main>
	);
}
