// SPDX-License-Identifier: Apache-2.0
//
// All views of one profile, with their controls. The origin of the profile is
// irrelevant here. The state of the view, @state, belongs to the caller.

import type { ComponentChildren } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";

import { functionColours, hasKinds } from "../model/colour";
import { isTruncatedFrame } from "../model/expand";
import { toFolded } from "../model/export";
import { displayName, formatPercent, type Scale } from "../model/format";
import { findPath, pathKey } from "../model/hash";
import { buildHeatMap, mergeSparseCells } from "../model/heat_map";
import { idleNodes, isOffCpu } from "../model/idle";
import { layOut } from "../model/layout";
import type { Profile } from "../model/profile";
import { search } from "../model/search";
import { usageOf, type Usage } from "../model/table";
import { countCells, sliceTree, type Times } from "../model/times";
import { collapseRecursion, collapseWrappers, exclude, focus, hide, invert, MAX_DETAIL } from "../model/transform";
import { pathOf, type Functions, type Tree } from "../model/tree";
import type { State } from "../model/url";
import { Breadcrumbs, Legend, Search, ViewOptions, ViewSwitcher, type Download } from "./controls";
import { useGlobalKeys } from "./global_keys";
import { Graph, graphLabel } from "./graph";
import { HeatMap } from "./heat_map";
import { imageDownloads } from "./image";
import { useMatches } from "./matches";
import { Menu, type Item } from "./menu";
import { detailsText, nodeDetails } from "./node_details";
import { PROFILE_VIEWS, type Part } from "./profile_views";
import { Sandwich, type MenuTarget } from "./sandwich";
import { copy, fileName, openSource, save } from "./save";
import { Table } from "./table";
import type { Update } from "./url_state";
import { viewOf } from "./view";

function setOf(functions: Functions, ids: number[]): Uint8Array {
	const set = new Uint8Array(functions.n);
	ids.forEach((i) => (set[i] = 1));
	return set;
}

/* Returns the inverted tree with all visible detail, and with more detail below the zoomed node. */
function callersTree(kept: Tree, keys: string[], zoom: string): Tree {
	const floor = kept.total[0] / MAX_DETAIL;
	const tree = invert(kept, { floor, fine: floor, path: [] });
	const node = zoom === "" ? 0 : findPath(tree, keys, zoom);
	return node <= 0 ? tree
		: invert(kept, { floor, fine: tree.total[node] / MAX_DETAIL, path: pathOf(tree, node) });
}

/* Returns the tree after the filters of the state (kept), and after inversion and collapsing (drawn). */
function useTrees(profile: Profile, state: State, idOf: Map<string, number>) {
	const { functions } = profile;
	const hidden = state.hidden.join(" ");
	const kept = useMemo(() => {
		const known = (keys: string[]) =>
			keys.map((k) => idOf.get(k)).filter((i): i is number => i !== undefined);
		const hiddenIds = known(state.hidden);
		const focusedIds = known([state.focused]);
		let t = hiddenIds.length > 0 ? hide(profile.tree, setOf(functions, hiddenIds)) : profile.tree;
		if (focusedIds.length > 0)
			t = focus(t, setOf(functions, focusedIds));
		if (state.busy && isOffCpu(profile.type))
			t = exclude(t, idleNodes(t, functions));
		return state.folded ? collapseRecursion(t) : t;
	}, [profile, hidden, state.focused, state.folded, state.busy]);
	const drawn = useMemo(() => {
		const t = state.inverted ? callersTree(kept, functions.key, state.zoom) : kept;
		return state.unwrapped ? collapseWrappers(t) : t;
	}, [kept, state.inverted, state.unwrapped, state.inverted ? state.zoom : ""]);
	const layout = useMemo(() => layOut(drawn), [drawn]);
	return { kept, drawn, layout };
}

function ActiveFilters({ profile, kept, state, update, idOf }: {
	profile: Profile; kept: Tree; state: State; update: Update; idOf: Map<string, number>;
}) {
	const name = (key: string) => {
		const id = idOf.get(key);
		return id === undefined ? "a function not in this profile" : displayName(profile.functions.name[id], 40);
	};
	const sliced = profile.times !== undefined && state.sliceFrom !== "";
	const busy = state.busy && isOffCpu(profile.type);
	const all = profile.tree.total[0];
	if (state.focused === "" && state.hidden.length === 0 && !sliced && !busy)
		return null;
	return (
		<ul class="chips" aria-label="Active filters">
			{sliced && (
				<li>Time slice: <b>{Number(state.sliceTo) - Number(state.sliceFrom)} ms</b>
					<button aria-label="Clear time slice" onClick={() => update({ sliceFrom: "", sliceTo: "", zoom: "" })}>×</button></li>
			)}
			{busy && (
				<li><b>Idle waits</b> hidden: {formatPercent(kept.total[0], all)} of total shown
					<button aria-label="Show idle waits" onClick={() => update({ busy: false, zoom: "" })}>×</button></li>
			)}
			{state.focused !== "" && (
				<li>Focus: <b>{name(state.focused)}</b>
					<button aria-label="Clear focus" onClick={() => update({ focused: "", zoom: "" })}>×</button></li>
			)}
			{state.hidden.map((key) => (
				<li key={key}>Hidden: <b>{name(key)}</b>
					<button aria-label={`Show ${name(key)}`} onClick={() => update({
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
	/** Downloads in addition to those that the page creates itself. */
	downloads?: Download[];
	/** Expands the truncated children of a node of @profile. */
	onOpen?: (node: number) => void;
	/** A newer profile is being loaded. */
	busy?: boolean;
	/** The usage of functions, if the profile is truncated and lacks some. */
	usage?: Usage | null;
	/** The sandwich view of a function, if the profile is truncated. */
	sandwich?: (fn: number, onMenu: (place: MenuTarget) => void) => ComponentChildren;
}

/* Returns the profile of the time slice selected in the heat map, or @profile. */
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

function ProfileHeatMap({ profile, times, state, update }: { profile: Profile; times: Times; state: State; update: Update }) {
	const heat = useMemo(() => buildHeatMap(mergeSparseCells(countCells(times, CELL_MS))), [times]);
	const cpus = (v: number) => (profile.periodNs > 0
		? `${(v * profile.periodNs / heat.cellMs / 1e6).toFixed(2)} cores` : `${v} samples`);
	return <HeatMap heat={heat} state={state} update={update} text={cpus} />;
}

function hasTimes(profile: Profile): boolean {
	return profile.times !== undefined && profile.times.threads.length > 0;
}

export function ProfileView(props: ProfileViewProps) {
	const { profile, state, update } = props;
	const sliced = useSlice(profile, state);
	const views = PROFILE_VIEWS.filter((v) => hasTimes(profile) || !v.timed);
	const view = viewOf(views, state.view);
	const switcher = (
		<ViewSwitcher views={views} current={view} onChoose={(id) =>
			update({ view: id, ...(view.component || viewOf(views, id).component ? { zoom: "" } : {}) })} />
	);
	const Own = view.component;
	return Own ? <Own profile={profile} state={state} update={update} switcher={switcher} />
		: <FlameView {...props} profile={sliced} parts={view.parts} switcher={switcher} />;
}

function FlameView({
	profile, state, update, downloads: extraDownloads = [], onOpen, busy, usage: serverUsage, sandwich, parts, switcher,
}: ProfileViewProps & { parts: readonly Part[]; switcher: ComponentChildren }) {
	const { functions } = profile;
	const scale: Scale = profile;
	const idOf = useMemo(() => new Map(functions.key.map((k, i) => [k, i])), [functions]);
	const { kept, drawn, layout } = useTrees(profile, state, idOf);
	const offCpu = isOffCpu(profile.type);
	const unfiltered = state.focused === "" && state.hidden.length === 0 && !(offCpu && state.busy);
	const usage = useMemo(() => (unfiltered && serverUsage ? serverUsage : usageOf(kept, functions.n)), [kept, serverUsage, unfiltered]);
	const colours = useMemo(() => {
		const share = usage.self.map((v) => v / (kept.total[0] || 1));
		return functionColours(functions, state.colour, share, offCpu);
	}, [functions, usage, state.colour]);
	const found = useMemo(() => {
		const query = { text: state.query, regex: state.regex };
		const places = search(drawn, functions, query);
		/* Pruned nodes are not drawn, but count as matches. */
		return drawn === kept ? places : { ...places, value: search(kept, functions, query).value };
	}, [drawn, kept, state.query, state.regex]);
	const zoom = useMemo(() => Math.max(0, state.zoom === "" ? 0 : findPath(drawn, functions.key, state.zoom)),
		[drawn, state.zoom]);
	const [menu, setMenu] = useState<MenuTarget | null>(null);

	const keyOf = (t: Tree, node: number) =>
		node > 0 ? pathKey(pathOf(t, node).map((fn) => functions.key[fn])) : "";
	const setZoom = (node: number) => {
		if (onOpen && isTruncatedFrame(functions, drawn.fn[node]))
			return open(drawn.parent[node]);
		update({
			zoom: keyOf(drawn, node),
			selected: node > 0 ? functions.key[drawn.fn[node]] : state.selected,
		});
	};
	/* Expands a node of the profile. A node of an inverted or collapsed tree may not exist there; the root is expanded then. */
	const open = (node: number) => {
		const place = node > 0 ? findPath(profile.tree, functions.key, keyOf(drawn, node)) : 0;
		onOpen?.(Math.max(0, place));
	};
	const selected = idOf.get(state.selected) ?? -1;
	const [match, stepMatch] = useMatches(found, drawn, layout, zoom, update);
	useGlobalKeys(state, update, stepMatch, menu !== null);

	const closeMenu = useCallback(() => setMenu(null), []);
	const items = (m: MenuTarget): Item[] => {
		const { functions: fns } = m;
		const fn = m.tree.fn[m.node];
		const key = fns.key[fn];
		const names = pathOf(m.tree, m.node).map((f) => fns.name[f]);
		return [
			...(m.tree === drawn ? [{ text: "Zoom in", run: () => setZoom(m.node) }] : []),
			{ text: "Show callers and callees", run: () => update({ view: "sandwich", selected: key }) },
			{ text: "Focus on this function", run: () => update({ focused: key, zoom: "" }) },
			{ text: "Hide this function", run: () => update({ hidden: [...state.hidden, key], zoom: "" }) },
			{ text: "Search for this function", run: () => update({ query: fns.name[fn], regex: false }) },
			{ text: "Copy function name", run: () => void copy(fns.name[fn]) },
			{ text: "Copy stack trace", run: () => void copy(names.join("\n")) },
			...(fns.file[fn] !== ""
				? [
					{ text: "Copy source path", run: () => void copy(fns.file[fn]) },
					{ text: "Open source in editor", run: () => openSource(fns.file[fn], fns.lineMin[fn]) },
				] : []),
		];
	};
	const describe = (node: number) => detailsText(nodeDetails(drawn, node, functions, scale, "all", { callers: state.inverted, zoom }));
	const rootName = state.inverted ? "all, by leaf function" : "all";
	const downloads = [
		...extraDownloads,
		{ text: "Folded stacks", run: () => save(fileName(profile.title, ".folded"), toFolded(kept, functions)) },
		...imageDownloads({
			tree: drawn, layout, functions, colours, flame: state.flame, zoom, title: profile.title, rootName, describe: describe,
		}),
	];
	const [table, graph] = [parts.includes("table"), parts.includes("graph")];
	return (
		<main aria-busy={busy}>
			<div class="controls">
				{switcher}
				<Search state={state} found={found} all={drawn.total[0]} at={match.index} update={update} onStep={stepMatch} />
				<ViewOptions state={state} update={update} downloads={downloads} offCpu={offCpu} />
			</div>
			<ActiveFilters profile={profile} kept={kept} state={state} update={update} idOf={idOf} />
			{parts.includes("heat") && hasTimes(profile) && <ProfileHeatMap profile={profile} times={profile.times!} state={state} update={update} />}
			<div class="body">
				{table && (
					<Table
						functions={functions} usage={usage} all={kept.total[0]} scale={scale}
						sort={state.sort} up={state.up} filter={state.filter} selected={selected}
						matched={found.functions} cold={offCpu}
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
						<Breadcrumbs tree={drawn} functions={functions} zoom={zoom} rootName="all" onZoom={setZoom} />
						<Graph
							label={`${graphLabel("Flame graph")} Press M to open the menu.`}
							rootName={rootName}
							tree={drawn} layout={layout} functions={functions} colours={colours} scale={scale}
							flame={state.flame} callers={state.inverted} zoom={zoom}
							matched={found.functions.length > 0 ? found.functions
								: table && selected >= 0 && zoom === 0
									? setOf(functions, [selected]) : found.functions}
							show={match.index >= 0 ? { node: found.nodes[match.index], turn: match.sequence } : undefined}
							onZoom={setZoom}
							onMenu={(node, x, y) => setMenu({ node, tree: drawn, functions, x, y })}
						/>
					</section>
				)}
				{parts.includes("sandwich") && (unfiltered && sandwich ? sandwich(selected, setMenu)
					: <Sandwich tree={kept} functions={functions} fn={selected} colours={colours}
						matched={found.functions} scale={scale} onMenu={setMenu} />)}
			</div>
			{(graph || parts.includes("sandwich")) && state.colour === "kind" && hasKinds(functions) &&
				<Legend functions={functions} usage={usage} tree={kept} cold={offCpu} />}
			{menu && menu.tree.fn[menu.node] >= 0 && (
				<Menu title={displayName(menu.functions.name[menu.tree.fn[menu.node]], 60)} x={menu.x} y={menu.y}
					items={items(menu)} onClose={closeMenu} />
			)}
		</main>
	);
}
