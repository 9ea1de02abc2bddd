// SPDX-License-Identifier: Apache-2.0
//
// The controls above the graph: view switcher, search, options, downloads,
// breadcrumbs of the zoom; and the legend below it.

import { COLOUR_BY, css, kindColour, kindOf, KINDS, type ColourBy } from "../model/colour";
import { displayName, formatCount, formatPercent } from "../model/format";
import { outermost, type SearchResult } from "../model/search";
import type { Usage } from "../model/table";
import { ancestors, type Functions, type Tree } from "../model/tree";
import type { State } from "../model/url";
import type { Update } from "./url_state";
import type { View } from "./view";

const COLOUR_NAMES: Record<ColourBy, string> = {
	kind: "frame type", package: "package", binary: "binary", self: "self value",
};

/** @onChoose gets the id of a view. */
export function ViewSwitcher({ views, current, onChoose }: {
	views: readonly View[]; current: View; onChoose: (id: string) => void;
}) {
	return (
		<div class="views" role="group" aria-label="View">
			{views.map((v) => (
				<button key={v.id} aria-pressed={v === current} title={v.help} onClick={() => onChoose(v.id)}>{v.title}</button>
			))}
		</div>
	);
}

/** The toggle that all graphs have. */
export const FLIP = { text: "Flip", title: "Draw the root at the bottom" };

interface SearchProps {
	state: State;
	found: SearchResult;
	all: number;
	at: number;
	update: Update;
	onStep: (by: 1 | -1) => void;
}

/* @at is the index of the current match, -1 for none. */
function formatMatches(n: number, at: number): string {
	if (at >= 0)
		return `${at + 1} of ${formatCount(n)}`;
	return n === 1 ? "1 match" : `${formatCount(n)} matches`;
}

export function Search({ state, found, all, at, update, onStep }: SearchProps) {
	const hasMatches = found.nodes.length > 0;
	return (
		<div class="search" role="search">
			<input
				id="search" type="search" placeholder="Search (press /)" aria-label="Search functions"
				aria-invalid={found.error !== ""} spellcheck={false} autocomplete="off"
				value={state.query}
				onInput={(e) => update({ query: e.currentTarget.value }, "replace")}
				onKeyDown={(e) => {
					if (e.key === "Enter")
						onStep(e.shiftKey ? -1 : 1);
				}}
			/>
			<button aria-pressed={state.regex} title="Regular expression"
				aria-label="Regular expression" onClick={() => update({ regex: !state.regex })}>.*</button>
			<button disabled={!hasMatches} aria-label="Previous match" title="Previous match (N)"
				onClick={() => onStep(-1)}>‹</button>
			<button disabled={!hasMatches} aria-label="Next match" title="Next match (n)"
				onClick={() => onStep(1)}>›</button>
			{state.query !== "" && (
				<output class={found.error !== "" ? "error" : ""} aria-live="polite">
					{found.error || (hasMatches
						? `${formatPercent(found.value, all)} · ${formatMatches(found.nodes.length, at)}`
						: "No matches")}
				</output>
			)}
		</div>
	);
}

function Toggle({ on, text, title, set }: {
	on: boolean; text: string; title: string; set: (on: boolean) => void;
}) {
	return <button aria-pressed={on} title={title} onClick={() => set(!on)}>{text}</button>;
}

export interface Download {
	text: string;
	run: () => void;
}

/** @offCpu: the profile is one of off-CPU time, so idle waits can be hidden. */
export function ViewOptions({ state, update, downloads, offCpu }: {
	state: State; update: Update; downloads: Download[]; offCpu: boolean;
}) {
	return (
		<div class="options">
			<Toggle on={state.flame} {...FLIP}
				set={(flame) => update({ flame })} />
			<Toggle on={state.inverted} text="Invert"
				title="Invert the call stacks: start at the leaf functions and show their callers"
				set={(inverted) => update({ inverted, zoom: "" })} />
			{offCpu && <Toggle on={state.busy} text="Hide idle"
				title="Hide waits of idle threads: thread pools, event loops, timers"
				set={(busy) => update({ busy, zoom: "" })} />}
			<Toggle on={state.folded} text="Collapse recursion" title="Merge recursive calls of a function into one frame"
				set={(folded) => update({ folded, zoom: "" })} />
			<Toggle on={state.unwrapped} text="Collapse wrappers"
				title="Show only the first and the last frame of a chain of functions that only call the next one"
				set={(unwrapped) => update({ unwrapped, zoom: "" })} />
			<select class="colour" aria-label="Colour by" value={state.colour}
				onChange={(e) => update({ colour: e.currentTarget.value as ColourBy })}>
				{COLOUR_BY.map((c) => <option key={c} value={c}>Colour: {COLOUR_NAMES[c]}</option>)}
			</select>
			<DownloadMenu downloads={downloads} />
		</div>
	);
}

export function DownloadMenu({ downloads }: { downloads: Download[] }) {
	return (
		<select class="save" value="" aria-label="Download" onChange={(e) => {
			downloads.find((d) => d.text === e.currentTarget.value)?.run();
			e.currentTarget.value = "";
		}}>
			<option value="" disabled>Download…</option>
			{downloads.map((d) => <option key={d.text} value={d.text}>{d.text}</option>)}
		</select>
	);
}

const MAX_CRUMBS = 6;

interface BreadcrumbsProps {
	/** Further actions on a bar; shown while nothing is zoomed. */
	hint?: string;
	tree: Tree;
	functions: Functions;
	zoom: number;
	rootName: string;
	onZoom: (node: number) => void;
}

export function Breadcrumbs({ tree, functions, zoom, rootName, hint = "right-click for actions, ", onZoom }: BreadcrumbsProps) {
	const path = ancestors(tree, zoom);
	const truncated = path.length > MAX_CRUMBS + 2;
	const nodes = truncated ? [path[0], ...path.slice(-MAX_CRUMBS)] : path;
	return (
		<nav class="crumbs" aria-label="Zoomed path">
			<ol>
				{nodes.map((node, i) => (
					<li key={node}>
						{truncated && i === 1 && <span class="elided">… {path.length - nodes.length} more </span>}
						<button aria-current={node === zoom ? "location" : undefined} onClick={() => onZoom(node)}
							title={node > 0 ? displayName(functions.name[tree.fn[node]], 300) : undefined}>
							{node === 0 ? rootName : displayName(functions.name[tree.fn[node]], 40)}
						</button>
					</li>
				))}
			</ol>
			{zoom === 0 && <span class="hint">Click to zoom in, {hint}/ to search</span>}
			{zoom > 0 && <button class="reset" onClick={() => onZoom(0)}>Reset zoom</button>}
		</nav>
	);
}

/* The legend lists these frame types only if samples end in them. */
const OPTIONAL_KINDS = ["unknown", "group"];

/* Returns the value of truncated stacks. Their error frame is the outermost frame, not the leaf. */
function truncatedValue(tree: Tree, functions: Functions): number {
	const set = Uint8Array.from(functions.kind, (k) => (k === "error" ? 1 : 0));
	return outermost(tree, set).reduce((sum, i) => sum + tree.total[i], 0);
}

/** Lists the frame types that occur, with the share of samples that end in each. */
export function Legend({ functions, usage, tree, cold }: { functions: Functions; usage: Usage; tree: Tree; cold: boolean }) {
	const share: Record<string, number> = {};
	for (let i = 0; i < functions.n; i++) {
		const kind = Object.hasOwn(KINDS, functions.kind[i]) ? functions.kind[i] : "unknown";
		if (usage.total[i] > 0)
			share[kind] = (share[kind] ?? 0) + usage.self[i];
	}
	if (share.error !== undefined)
		share.error = truncatedValue(tree, functions);
	return (
		<ul class="legend" aria-label="Frame types, with the share of samples that end in each">
			{Object.keys(KINDS).filter((k) => share[k] !== undefined && (!OPTIONAL_KINDS.includes(k) || share[k] > 0)).map((k) => (
				<li key={k}>
					<span class="dot" style={{ background: css(kindColour(k, cold)) }} />
					{kindOf(k).label} <small>{formatPercent(share[k], tree.total[0])}</small>
				</li>
			))}
		</ul>
	);
}
