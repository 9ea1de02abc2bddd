// SPDX-License-Identifier: Apache-2.0
//
// The difference of two profiles: a flame graph whose colours show decreases
// and increases, and a table of the functions with the largest changes.

import { useMemo } from "preact/hooks";

import { changeColour, css } from "../model/colour";
import { diffTrees, movers, type Diff } from "../model/diff";
import { isTruncatedFrame } from "../model/expand";
import { displayName, formatPercent, formatValue, type Scale } from "../model/format";
import { findPath, pathKey } from "../model/hash";
import { layOut } from "../model/layout";
import type { Profile } from "../model/profile";
import { search } from "../model/search";
import { pathOf } from "../model/tree";
import type { State } from "../model/url";
import { Breadcrumbs, DownloadMenu, FLIP, Search } from "./controls";
import { useGlobalKeys } from "./global_keys";
import { Graph, graphLabel } from "./graph";
import { imageDownloads } from "./image";
import { useMatches } from "./matches";
import { detailsText, type NodeDetails } from "./node_details";
import type { Update } from "./url_state";

const MAX_CHANGES = 200;
const LARGEST_CHANGES = "Functions with the largest changes";

/* Returns the format of a side's values: shares in relative mode, time or samples in absolute mode. */
function valueFormat(absolute: boolean, scale: Scale): (v: number) => string {
	return absolute ? (v) => formatValue(v, scale) : (v) => formatPercent(v, 1);
}

function formatChange(by: number, format: (v: number) => string): string {
	return Math.abs(by) < 1e-9 ? "0" : `${by > 0 ? "+" : "−"}${format(Math.abs(by))}`;
}

function diffDetails(d: Diff, node: number, format: (v: number) => string): NodeDetails {
	const fn = d.tree.fn[node];
	const [before, after] = [d.before[node], d.after[node]];
	return {
		name: fn < 0 ? "all" : displayName(d.functions.name[fn]),
		where: "",
		lines: [
			["before", format(before)],
			["after", format(after)],
			["change", formatChange(after - before, format)],
			...(before > 0 && after > 0
				? [["ratio", `${(after / before).toFixed(2)}×`] as [string, string]] : []),
			...(fn >= 0 && d.functions.binary[fn] !== ""
				? [["binary", displayName(d.functions.binary[fn], 200)] as [string, string]] : []),
		],
	};
}

/** The self value of a function on either side. */
export interface FunctionChange {
	name: string;
	binary: string;
	before: number;
	after: number;
	/** The change is within the sampling noise. */
	noise: boolean;
}

function largestChanges(d: Diff): FunctionChange[] {
	return movers(d).filter((m) => Math.abs(m.after - m.before) > 1e-9 && !isTruncatedFrame(d.functions, m.fn)).slice(0, MAX_CHANGES).map((m) => ({
		name: d.functions.name[m.fn], binary: d.functions.binary[m.fn], before: m.before, after: m.after, noise: false,
	}));
}

function ChangesTable({ rows, read: format, onFind }: {
	rows: FunctionChange[]; read: (v: number) => string; onFind: (name: string) => void;
}) {
	return (
		<section class="table changes" aria-label={LARGEST_CHANGES}>
			<div class="scroll" tabIndex={0} role="group" aria-label={LARGEST_CHANGES}>
				<table>
					<thead>
						<tr><th scope="col" class="total">Change</th><th scope="col" class="self">Before</th>
							<th scope="col" class="self">After</th><th scope="col" class="name">Function (self)</th></tr>
					</thead>
					<tbody>
						{rows.map((m) => (
							<tr key={`${m.binary} ${m.name}`} class={m.noise ? "noise" : ""} onClick={() => onFind(m.name)}
								title={m.noise ? "Within the sampling noise" : undefined}>
								<td class="number">{formatChange(m.after - m.before, format)}</td>
								<td class="number">{format(m.before)}</td>
								<td class="number">{format(m.after)}</td>
								<td class="function">
									<span class="dot" style={{
										background: css(changeColour((m.after - m.before) / (m.after + m.before || 1))),
									}} />
									<button class="name" title={displayName(m.name, 300)}>{displayName(m.name, 300)}</button>
									{m.noise && <small>not significant</small>}
								</td>
							</tr>
						))}
					</tbody>
				</table>
				{rows.length === 0 && <p class="empty">No changes.</p>}
			</div>
		</section>
	);
}

interface DiffViewProps {
	before: Profile;
	after: Profile;
	state: State;
	update: Update;
	/** The largest changes, if the server computed them from profiles that are not truncated. */
	changes?: FunctionChange[];
	busy?: boolean;
}

export function DiffView({ before, after, state, update, changes: moved, busy }: DiffViewProps) {
	const d = useMemo(() => diffTrees(before, after, state.absolute ? "absolute" : "relative"),
		[before, after, state.absolute]);
	const layout = useMemo(() => layOut(d.tree), [d]);
	const nodeColours = useMemo(() => Array.from(d.change, (c) => css(changeColour(c))), [d]);
	const rows = useMemo(() => moved ?? largestChanges(d), [d, moved]);
	const found = useMemo(() => search(d.tree, d.functions, { text: state.query, regex: state.regex }),
		[d, state.query, state.regex]);
	const zoom = useMemo(() => Math.max(0, state.zoom === "" ? 0 : findPath(d.tree, d.functions.key, state.zoom)),
		[d, state.zoom]);
	const [match, stepMatch] = useMatches(found, d.tree, layout, zoom, update);
	useGlobalKeys(state, update, stepMatch);
	const format = valueFormat(state.absolute, after);
	const setZoom = (node: number) => update({
		zoom: node > 0 ? pathKey(pathOf(d.tree, node).map((fn) => d.functions.key[fn])) : "",
	});
	return (
		<main aria-busy={busy}>
			<div class="controls">
				<div class="views" role="group" aria-label="Comparison mode">
					<button aria-pressed={!state.absolute} title="Compare shares of each profile's total"
						onClick={() => update({ absolute: false })}>Relative</button>
					<button aria-pressed={state.absolute} title="Compare recorded values"
						onClick={() => update({ absolute: true })}>Absolute</button>
				</div>
				<Search state={state} found={found} all={d.tree.total[0]} at={match.index} update={update} onStep={stepMatch} />
				<div class="options">
					<button aria-pressed={state.flame} title={FLIP.title} onClick={() => update({ flame: !state.flame })}>{FLIP.text}</button>
					<DownloadMenu downloads={imageDownloads({
						tree: d.tree, layout, functions: d.functions, colours: nodeColours, byNode: true, flame: state.flame, zoom,
						title: `${before.title} to ${after.title}`, rootName: "all", describe: (n) => detailsText(diffDetails(d, n, format)),
					})} />
				</div>
			</div>
			<div class="body">
				<ChangesTable rows={rows} read={format} onFind={(name) => update({ query: name, regex: false })} />
				<section class="pane" aria-label="Flame graph">
					<Breadcrumbs tree={d.tree} functions={d.functions} zoom={zoom} rootName="all" hint="" onZoom={setZoom} />
					<Graph
						label={graphLabel("Flame graph of the difference")}
						rootName="all" tree={d.tree} layout={layout} functions={d.functions} colours={nodeColours}
						nodeColours={nodeColours} scale={after} flame={state.flame} zoom={zoom}
						matched={found.functions} describe={(node) => diffDetails(d, node, format)}
						show={match.index >= 0 ? { node: found.nodes[match.index], turn: match.sequence } : undefined}
						onZoom={setZoom} onMenu={setZoom}
					/>
				</section>
			</div>
			<ul class="legend" aria-label="Colours">
				{([[-1, "decreased or gone"], [0, "unchanged"], [1, "increased or new"]] as [number, string][]).map(([c, text]) => (
					<li key={text}><span class="dot" style={{ background: css(changeColour(c)) }} />{text}</li>
				))}
			</ul>
		</main>
	);
}
