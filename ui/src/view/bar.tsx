// SPDX-License-Identifier: Apache-2.0
//
// The row of controls over the graph, the path of the zoom, and the legend.

import { COLOUR_BY, css, kindColour, KINDS, kindOf, type ColourBy } from "../model/colour";
import { grouped, percent, shown } from "../model/format";
import { outermost, type Found } from "../model/search";
import type { Usage } from "../model/table";
import { ancestors, type Functions, type Tree } from "../model/tree";
import { VIEWS, type State, type ViewName } from "../model/url";
import type { Update } from "./state";

const VIEW_NAMES: Record<ViewName, string> = {
	graph: "Flame graph", both: "Both", table: "Table", sandwich: "Sandwich", heat: "Heat map", chart: "Chart",
};
const COLOUR_NAMES: Record<ColourBy, string> = {
	kind: "kind", package: "package", binary: "binary", self: "self time",
};

/* These need to know when samples were taken. */
const TIMED: ViewName[] = ["heat", "chart"];

export function Views({ state, update, timed }: { state: State; update: Update; timed: boolean }) {
	return (
		<div class="views" role="group" aria-label="View">
			{VIEWS.filter((v) => timed || !TIMED.includes(v)).map((v) => (
				<button key={v} aria-pressed={state.view === v} onClick={() => update({
					view: v, ...(v === "chart" || state.view === "chart" ? { zoom: "" } : {}),
				})}>
					{VIEW_NAMES[v]}
				</button>
			))}
		</div>
	);
}

interface SearchProps {
	state: State;
	found: Found;
	all: number;
	at: number;
	update: Update;
	onStep: (by: 1 | -1) => void;
}

function places(n: number): string {
	return n === 1 ? "1 place" : `${grouped(n)} places`;
}

export function Search({ state, found, all, at, update, onStep }: SearchProps) {
	const some = found.nodes.length > 0;
	return (
		<div class="search" role="search">
			<input
				id="search" type="search" placeholder="Search  ( / )" aria-label="Search functions"
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
			<button disabled={!some} aria-label="Previous match" title="Previous match (N)"
				onClick={() => onStep(-1)}>‹</button>
			<button disabled={!some} aria-label="Next match" title="Next match (n)"
				onClick={() => onStep(1)}>›</button>
			{state.query !== "" && (
				<output class={found.error !== "" ? "bad" : ""} aria-live="polite">
					{found.error || (some
						? `${percent(found.value, all)} matched · ${at >= 0 ? `${at + 1} of ` : ""}${places(found.nodes.length)}`
						: "no match")}
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

/** @waits: the profile is of time that was waited. */
export function Options({ state, update, downloads, waits }: {
	state: State; update: Update; downloads: Download[]; waits: boolean;
}) {
	return (
		<div class="options">
			<Toggle on={state.flame} text="Flame" title="Root at the bottom"
				set={(flame) => update({ flame })} />
			<Toggle on={state.inverted} text="Callers"
				title="Turn the stacks round: from the functions that ran to their callers"
				set={(inverted) => update({ inverted, zoom: "" })} />
			{waits && <Toggle on={state.busy} text="Hide idle"
				title="Leave out waits of threads that have nothing to do: pools, event loops, timers"
				set={(busy) => update({ busy, zoom: "" })} />}
			<Toggle on={state.folded} text="Fold recursion" title="Calls of a function by itself become one"
				set={(folded) => update({ folded, zoom: "" })} />
			<Toggle on={state.unwrapped} text="Fold wrappers"
				title="Of functions that only call the next one, the first and the last of a chain are left"
				set={(unwrapped) => update({ unwrapped, zoom: "" })} />
			<select class="colour" aria-label="Colour" value={state.colour}
				onChange={(e) => update({ colour: e.currentTarget.value as ColourBy })}>
				{COLOUR_BY.map((c) => <option key={c} value={c}>Colour: {COLOUR_NAMES[c]}</option>)}
			</select>
			<Save downloads={downloads} />
		</div>
	);
}

export function Save({ downloads }: { downloads: Download[] }) {
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

const CRUMBS = 6;

interface CrumbProps {
	/** What else the bars answer to, where nothing is zoomed. */
	hint?: string;
	tree: Tree;
	functions: Functions;
	zoom: number;
	rootName: string;
	onZoom: (node: number) => void;
}

export function Crumbs({ tree, functions, zoom, rootName, hint = "right-click for more, ", onZoom }: CrumbProps) {
	const path = ancestors(tree, zoom);
	const cut = path.length > CRUMBS + 2;
	const nodes = cut ? [path[0], ...path.slice(-CRUMBS)] : path;
	return (
		<nav class="crumbs" aria-label="Zoomed path">
			<ol>
				{nodes.map((node, i) => (
					<li key={node}>
						{cut && i === 1 && <span class="cut">… {path.length - nodes.length} more </span>}
						<button aria-current={node === zoom ? "location" : undefined} onClick={() => onZoom(node)}
							title={node > 0 ? shown(functions.name[tree.fn[node]], 300) : undefined}>
							{node === 0 ? rootName : shown(functions.name[tree.fn[node]], 40)}
						</button>
					</li>
				))}
			</ol>
			{zoom === 0 && <span class="hint">Click a bar to zoom in, {hint}/ to search</span>}
			{zoom > 0 && <button class="reset" onClick={() => onZoom(0)}>Reset zoom</button>}
		</nav>
	);
}

/* Kinds that are told of only where samples end in them. */
const SILENT = ["unknown", "group"];

/* A stack that was cut short has its error where its root would be, not at its end. */
function cutShort(tree: Tree, functions: Functions): number {
	const set = Uint8Array.from(functions.kind, (k) => (k === "error" ? 1 : 0));
	return outermost(tree, set).reduce((sum, i) => sum + tree.total[i], 0);
}

/** The kinds that occur, with the share of samples whose last frame is of it. */
export function Legend({ functions, usage, tree, cold }: { functions: Functions; usage: Usage; tree: Tree; cold: boolean }) {
	const share: Record<string, number> = {};
	for (let i = 0; i < functions.n; i++) {
		const kind = Object.hasOwn(KINDS, functions.kind[i]) ? functions.kind[i] : "unknown";
		if (usage.total[i] > 0)
			share[kind] = (share[kind] ?? 0) + usage.self[i];
	}
	if (share.error !== undefined)
		share.error = cutShort(tree, functions);
	return (
		<ul class="legend" aria-label="Kinds of frames, with the share of samples that end in them">
			{Object.keys(KINDS).filter((k) => share[k] !== undefined && (!SILENT.includes(k) || share[k] > 0)).map((k) => (
				<li key={k}>
					<span class="dot" style={{ background: css(kindColour(k, cold)) }} />
					{kindOf(k).label} <small>{percent(share[k], tree.total[0])}</small>
				</li>
			))}
		</ul>
	);
}
