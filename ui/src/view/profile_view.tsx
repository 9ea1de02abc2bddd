// SPDX-License-Identifier: Apache-2.0
//
// Everything that is shown of one profile: controls, graph, table, sandwich.
// It knows nothing of where the profile comes from; what is on the screen is
// its @state, which the caller keeps.

import type { ComponentChildren } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";

import { functionColours, hasKinds } from "../model/colour";
import { toFolded } from "../model/download";
import { percent, shown, type Scale } from "../model/format";
import { isOther } from "../model/graft";
import { findPath, pathKey } from "../model/hash";
import { heatOf, withoutStripes } from "../model/heat";
import { idleNodes, isWaiting } from "../model/idle";
import { layOut } from "../model/layout";
import type { Profile } from "../model/profile";
import { search } from "../model/search";
import { usageOf, type Usage } from "../model/table";
import { pathOf, type Functions, type Tree } from "../model/tree";
import { cellsOf, sliceTree, withinSlice, type Times } from "../model/times";
import type { State } from "../model/url";
import { collapseRecursion, collapseWrappers, FINEST, focus, hide, invert, leaveOut } from "../model/views";
import { Crumbs, Legend, Options, Search, Views, type Download } from "./bar";
import { ChartView } from "./chart_view";
import { factsOf, sentence } from "./describe";
import { useGlobalKeys } from "./global_keys";
import { Graph } from "./graph";
import { HeatMap } from "./heat_map";
import { useMatches } from "./matches";
import { Menu, type Item } from "./menu";
import { pictures } from "./picture";
import { Sandwich, type Place } from "./sandwich";
import { copy, fileName, openSource, save } from "./save";
import type { Update } from "./state";
import { Table } from "./table";

function setOf(functions: Functions, ids: number[]): Uint8Array {
	const set = new Uint8Array(functions.n);
	ids.forEach((i) => (set[i] = 1));
	return set;
}

/* Callers in as much detail as can be seen, and in more below the zoomed place. */
function callersTree(kept: Tree, keys: string[], zoom: string): Tree {
	const floor = kept.total[0] / FINEST;
	const whole = invert(kept, { floor, fine: floor, path: [] });
	const node = zoom === "" ? 0 : findPath(whole, keys, zoom);
	return node <= 0 ? whole
		: invert(kept, { floor, fine: whole.total[node] / FINEST, path: pathOf(whole, node) });
}

/* The profile's tree after what the state leaves out or turns round. */
function useTrees(profile: Profile, state: State, idOf: Map<string, number>) {
	const { functions } = profile;
	const hidden = state.hidden.join(" ");
	const kept = useMemo(() => {
		const known = (keys: string[]) =>
			keys.map((k) => idOf.get(k)).filter((i): i is number => i !== undefined);
		const out = known(state.hidden);
		const into = known([state.focused]);
		let t = out.length > 0 ? hide(profile.tree, setOf(functions, out)) : profile.tree;
		if (into.length > 0)
			t = focus(t, setOf(functions, into));
		if (state.busy && isWaiting(profile.type))
			t = leaveOut(t, idleNodes(t, functions));
		return state.folded ? collapseRecursion(t) : t;
	}, [profile, hidden, state.focused, state.folded, state.busy]);
	const drawn = useMemo(() => {
		const t = state.inverted ? callersTree(kept, functions.key, state.zoom) : kept;
		return state.unwrapped ? collapseWrappers(t) : t;
	}, [kept, state.inverted, state.unwrapped, state.inverted ? state.zoom : ""]);
	const layout = useMemo(() => layOut(drawn), [drawn]);
	return { kept, drawn, layout };
}

function Chips({ profile, kept, state, update, idOf }: {
	profile: Profile; kept: Tree; state: State; update: Update; idOf: Map<string, number>;
}) {
	const name = (key: string) => {
		const id = idOf.get(key);
		return id === undefined ? "a function that is not in this profile" : shown(profile.functions.name[id], 40);
	};
	const sliced = profile.times !== undefined && state.sliceFrom !== "";
	const busy = state.busy && isWaiting(profile.type);
	const all = profile.tree.total[0];
	if (state.focused === "" && state.hidden.length === 0 && !sliced && !busy)
		return null;
	return (
		<ul class="chips" aria-label="Left out">
			{sliced && (
				<li>only <b>{Number(state.sliceTo) - Number(state.sliceFrom)} ms</b> of the time
					<button aria-label="All of the time" onClick={() => update({ sliceFrom: "", sliceTo: "", zoom: "" })}>×</button></li>
			)}
			{busy && (
				<li>without waits of what is <b>idle</b>: {percent(kept.total[0], all)} of all is shown
					<button aria-label="Show idle waits again" onClick={() => update({ busy: false, zoom: "" })}>×</button></li>
			)}
			{state.focused !== "" && (
				<li>only through <b>{name(state.focused)}</b>
					<button aria-label="End the focus" onClick={() => update({ focused: "", zoom: "" })}>×</button></li>
			)}
			{state.hidden.map((key) => (
				<li key={key}>without <b>{name(key)}</b>
					<button aria-label={`Show ${name(key)} again`} onClick={() => update({
						hidden: state.hidden.filter((k) => k !== key), zoom: "",
					})}>×</button></li>
			))}
		</ul>
	);
}

interface ProfileViewProps {
	profile: Profile;
	state: State;
	update: Update;
	/** What can be had beside what the page makes itself. */
	downloads?: Download[];
	/** Opens what was cut from a node of @profile. */
	onOpen?: (node: number) => void;
	/** Something newer was asked for. */
	busy?: boolean;
	/** What functions use, where the profile is cut and knows too little of them. */
	usage?: Usage | null;
	/** The sandwich of a function, likewise. */
	sandwich?: (fn: number, onMenu: (place: Place) => void) => ComponentChildren;
}

/* The samples of the slice that is chosen in the heat map, or all. */
function useSlice(profile: Profile, state: State): Profile {
	const { times } = profile;
	const [from, to] = [Number(state.sliceFrom), Number(state.sliceTo)];
	return useMemo(() => {
		if (!times || state.sliceFrom === "" || !(from < to))
			return profile;
		const n = times.threads.reduce((sum, t) => sum + t.at.length, 0);
		return { ...profile, tree: sliceTree(profile.tree, times, from, to, profile.tree.total[0] / n) };
	}, [profile, state.sliceFrom, state.sliceTo]);
}

const CELL_MS = 20;

function Heat({ profile, times, state, update }: { profile: Profile; times: Times; state: State; update: Update }) {
	const heat = useMemo(() => heatOf(withoutStripes(cellsOf(times, CELL_MS))), [times]);
	const cpus = (v: number) => (profile.periodNs > 0
		? `${(v * profile.periodNs / heat.cellMs / 1e6).toFixed(2)} cores` : `${v} samples`);
	return <HeatMap heat={heat} state={state} update={update} text={cpus} />;
}

export function ProfileView(props: ProfileViewProps) {
	const { profile, state, update } = props;
	const sliced = useSlice(profile, state);
	if (profile.times && profile.times.threads.length > 0 && state.view === "chart")
		return <OwnChart profile={profile} times={profile.times} state={state} update={update} />;
	return <StacksView {...props} profile={sliced} />;
}

const MOST_THREADS = 500;

/* The flame chart of a profile that has all its threads. */
function OwnChart({ profile, times, state, update }: { profile: Profile; times: Times; state: State; update: Update }) {
	const threads = useMemo(() => (state.sliceFrom === "" ? times
		: withinSlice(times, Number(state.sliceFrom), Number(state.sliceTo))).threads, [times, state.sliceFrom, state.sliceTo]);
	const thread = threads.find((t) => t.key === state.thread) ?? threads[0] ?? times.threads[0];
	return (
		<ChartView profile={profile} startMs={times.startMs} thread={thread} state={state} update={update}
			choices={threads.slice(0, MOST_THREADS).map((t) => ({ key: t.key, text: `${shown(t.name, 60)}: ${t.at.length} samples` }))}>
			<Views state={state} update={update} timed />
		</ChartView>
	);
}

function StacksView({
	profile, state, update, downloads: more = [], onOpen, busy, usage: known, sandwich,
}: ProfileViewProps) {
	const { functions } = profile;
	const scale: Scale = profile;
	const idOf = useMemo(() => new Map(functions.key.map((k, i) => [k, i])), [functions]);
	const { kept, drawn, layout } = useTrees(profile, state, idOf);
	const waits = isWaiting(profile.type);
	const plain = state.focused === "" && state.hidden.length === 0 && !(waits && state.busy);
	const usage = useMemo(() => (plain && known ? known : usageOf(kept, functions.n)), [kept, known, plain]);
	const colours = useMemo(() => {
		const share = usage.self.map((v) => v / (kept.total[0] || 1));
		return functionColours(functions, state.colour, share, waits);
	}, [functions, usage, state.colour]);
	const found = useMemo(() => {
		const query = { text: state.query, regex: state.regex };
		const places = search(drawn, functions, query);
		/* What is left out of the drawing counts all the same. */
		return drawn === kept ? places : { ...places, value: search(kept, functions, query).value };
	}, [drawn, kept, state.query, state.regex]);
	const zoom = useMemo(() => Math.max(0, state.zoom === "" ? 0 : findPath(drawn, functions.key, state.zoom)),
		[drawn, state.zoom]);
	const [menu, setMenu] = useState<Place | null>(null);

	const keyOf = (t: Tree, node: number) =>
		node > 0 ? pathKey(pathOf(t, node).map((fn) => functions.key[fn])) : "";
	const setZoom = (node: number) => {
		if (onOpen && isOther(functions, drawn.fn[node]))
			return open(drawn.parent[node]);
		update({
			zoom: keyOf(drawn, node),
			selected: node > 0 ? functions.key[drawn.fn[node]] : state.selected,
		});
	};
	/* The place in the whole profile; in a tree that was turned round or thinned it may be none. */
	const open = (node: number) => {
		const place = node > 0 ? findPath(profile.tree, functions.key, keyOf(drawn, node)) : 0;
		onOpen?.(Math.max(0, place));
	};
	const selected = idOf.get(state.selected) ?? -1;
	const [match, stepMatch] = useMatches(found, drawn, layout, zoom, update);
	useGlobalKeys(state, update, stepMatch, menu !== null);

	const closeMenu = useCallback(() => setMenu(null), []);
	const items = (m: Place): Item[] => {
		const { functions: fns } = m;
		const fn = m.tree.fn[m.node];
		const key = fns.key[fn];
		const names = pathOf(m.tree, m.node).map((f) => fns.name[f]);
		return [
			...(m.tree === drawn ? [{ text: "Zoom here", run: () => setZoom(m.node) }] : []),
			{ text: "Sandwich: callers and callees", run: () => update({ view: "sandwich", selected: key }) },
			{ text: "Focus: only samples through it", run: () => update({ focused: key, zoom: "" }) },
			{ text: "Hide this function", run: () => update({ hidden: [...state.hidden, key], zoom: "" }) },
			{ text: "Search for it", run: () => update({ query: fns.name[fn], regex: false }) },
			{ text: "Copy name", run: () => void copy(fns.name[fn]) },
			{ text: "Copy stack", run: () => void copy(names.join("\n")) },
			...(fns.file[fn] !== ""
				? [
					{ text: "Copy source path", run: () => void copy(fns.file[fn]) },
					{ text: "Open source in the editor", run: () => openSource(fns.file[fn], fns.lineMin[fn]) },
				] : []),
		];
	};
	const tell = (node: number) => sentence(factsOf(drawn, node, functions, scale, "all", { callers: state.inverted, zoom }));
	const rootName = state.inverted ? "all, by the function that ran" : "all";
	const downloads = [
		...more,
		{ text: "folded stacks", run: () => save(fileName(profile.title, ".folded"), toFolded(kept, functions)) },
		...pictures({
			tree: drawn, layout, functions, colours, flame: state.flame, zoom, title: profile.title, rootName, tell,
		}),
	];
	const timed = profile.times !== undefined && profile.times.threads.length > 0;
	const table = ["both", "table", "sandwich"].includes(state.view);
	const graph = !["table", "sandwich"].includes(state.view);
	return (
		<main aria-busy={busy}>
			<div class="controls">
				<Views state={state} update={update} timed={timed} />
				<Search state={state} found={found} all={drawn.total[0]} at={match.at} update={update} onStep={stepMatch} />
				<Options state={state} update={update} downloads={downloads} waits={waits} />
			</div>
			<Chips profile={profile} kept={kept} state={state} update={update} idOf={idOf} />
			{timed && state.view === "heat" && <Heat profile={profile} times={profile.times!} state={state} update={update} />}
			<div class="body" data-view={state.view}>
				{table && (
					<Table
						functions={functions} usage={usage} all={kept.total[0]} scale={scale}
						sort={state.sort} up={state.up} filter={state.filter} selected={selected}
						matched={found.functions} cold={waits}
						onSort={(sort) => update({
							sort, up: state.sort === sort ? !state.up : sort === "name",
						}, "replace")}
						onFilter={(filter) => update({ filter }, "replace")}
						onSelect={(fn) => update({ selected: functions.key[fn] }, "replace")}
						onOpen={(fn) => update({ view: "sandwich", selected: functions.key[fn] })}
					/>
				)}
				{graph && (
					<section class="pane" aria-label="Flame graph">
						<Crumbs tree={drawn} functions={functions} zoom={zoom} rootName="all" onZoom={setZoom} />
						<Graph
							label="Flame graph. Arrows move, Enter zooms, Escape resets, M opens the menu."
							rootName={rootName}
							tree={drawn} layout={layout} functions={functions} colours={colours} scale={scale}
							flame={state.flame} callers={state.inverted} zoom={zoom}
							matched={found.functions.length > 0 ? found.functions
								: state.view === "both" && selected >= 0 && zoom === 0
									? setOf(functions, [selected]) : found.functions}
							show={match.at >= 0 ? { node: found.nodes[match.at], turn: match.turn } : undefined}
							onZoom={setZoom}
							onMenu={(node, x, y) => setMenu({ node, tree: drawn, functions, x, y })}
						/>
					</section>
				)}
				{state.view === "sandwich" && (plain && sandwich ? sandwich(selected, setMenu)
					: <Sandwich tree={kept} functions={functions} fn={selected} colours={colours}
						matched={found.functions} scale={scale} onMenu={setMenu} />)}
			</div>
			{state.view !== "table" && state.colour === "kind" && hasKinds(functions) &&
				<Legend functions={functions} usage={usage} tree={kept} cold={waits} />}
			{menu && menu.tree.fn[menu.node] >= 0 && (
				<Menu title={shown(menu.functions.name[menu.tree.fn[menu.node]], 60)} x={menu.x} y={menu.y}
					items={items(menu)} onClose={closeMenu} />
			)}
		</main>
	);
}
