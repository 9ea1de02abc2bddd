// SPDX-License-Identifier: Apache-2.0
//
// The flame graph of the current query. The server truncates large profiles; the
// user expands truncated nodes, which queries them separately.

import { useMemo, useState } from "preact/hooks";

import { functionColours, type ColourBy } from "../model/colour";
import { callSiteOf, expandNode, findNode, nodeKey } from "../model/expand";
import { dropRoot, isTruncated, withFunctionTotals } from "../model/function_totals";
import { isOffCpu } from "../model/idle";
import { loadProfile, type Profile } from "../model/profile";
import { typeName } from "../model/profile_types";
import { formatDateTime } from "../model/range";
import { SERVICE } from "../model/selector";
import type { Download } from "../view/controls";
import { ProfileView } from "../view/profile_view";
import { PROFILE_VIEWS } from "../view/profile_views";
import { ChooseFunction, SandwichPanes, type MenuTarget, type SandwichHalf } from "../view/sandwich";
import { viewOf } from "../view/view";
import * as api from "./api";
import { LabelPicker } from "./filters";
import { Failed, LOADING, Loading, Message, NO_SAMPLES } from "./messages";
import { queryKey, type Scope } from "./scope";
import type { ServerState } from "./state";
import { useQuery } from "./use_query";

export const MAX_NODES = 65536;
/* An inverted tree needs more nodes, since truncated nodes end up next to its root. */
const CALLERS_NODES = 131072;
const MAX_EXPANDED_NODES = 1 << 20;
const MAX_FUNCTIONS = 5000;

/** Expands the nodes with the keys @expanded, each with a query of its own. A node that is expanded again gets more nodes. */
async function expandNodes(profile: Profile, expanded: string[], q: api.Query & { label: string }, signal: AbortSignal): Promise<Profile> {
	const times = new Map<string, number>();
	for (const key of expanded) {
		const node = findNode(profile, key);
		if (node < 0)
			continue;
		const n = (times.get(key) ?? (node === 0 ? 1 : 0)) + 1;
		times.set(key, n);
		const maxNodes = Math.min(MAX_EXPANDED_NODES, MAX_NODES * 4 ** (n - 1));
		const part = await api.tree({ ...q, maxNodes, callSite: callSiteOf(profile, node) }, signal);
		profile = expandNode(profile, node, await loadProfile(part));
	}
	return profile;
}

/** Returns the label by which the graph is split. A single service is not split by service. */
export function splitOf(s: ServerState): string {
	return s.split === SERVICE && s.service !== "" ? "" : s.split;
}

function useProfile(query: api.Query, split: string, opened: string[], maxNodes: number) {
	const q = { ...query, label: split };
	return useQuery(queryKey(q, split, maxNodes, ...opened), async (signal) => {
		const profile = await loadProfile(await api.tree({ ...q, maxNodes }, signal));
		return expandNodes(profile, opened, q, signal);
	});
}

const FORMATS: [string, string][] = [
	["pprof (complete)", "pprof"], ["Folded stacks (complete)", "folded"], ["speedscope (complete)", "speedscope"],
	["HTML page (complete)", "html"],
];

/** Downloads of the complete profile, which the server creates. */
export function serverDownloads(q: api.Query): Download[] {
	return FORMATS.map(([text, format]) => ({
		text,
		run: () => {
			const a = document.createElement("a");
			a.href = api.downloadUrl(q, format);
			a.download = "";
			a.click();
		},
	}));
}

/** Returns the title of downloaded files. */
export function titleOf(s: Scope): string {
	return `${s.state.service || "all services"}, ${typeName(s.type)}, ${formatDateTime(s.range.from)}`;
}

const GROUP = "group";
const NO_MATCH = new Uint8Array(0);

/* The sandwich view of a function, computed by the server from the complete profile. */
function ServerSandwich({ profile, query, fn, colour, onMenu }: {
	profile: Profile; query: api.Query; fn: number; colour: ColourBy; onMenu: (place: MenuTarget) => void;
}) {
	const f = profile.functions;
	const request = fn < 0 || f.kind[fn] === GROUP ? null : { name: f.name[fn], binary: f.binary[fn], kind: f.kind[fn] };
	const { data, error } = useQuery(request && queryKey(query, ...Object.values(request)), async (signal) => {
		const rs = await api.sandwich({ ...query, function: request!, maxNodes: MAX_NODES }, signal);
		const half = async (json: unknown) => {
			const p = dropRoot(await loadProfile(json));
			return { tree: p.tree, functions: p.functions, matched: NO_MATCH };
		};
		return { all: rs.all, callers: await half(rs.callers), callees: await half(rs.callees) };
	}, () => false);
	const halves = useMemo(() => {
		const coloured = (half: Omit<SandwichHalf, "colours">): SandwichHalf =>
			({ ...half, colours: functionColours(half.functions, colour, new Float64Array(half.functions.n), isOffCpu(profile.type)) });
		return data && { all: data.all, callers: coloured(data.callers), callees: coloured(data.callees) };
	}, [data, colour]);
	if (!request)
		return fn < 0 ? <ChooseFunction />
			: <p class="empty">This is a process or service. Select one of its functions instead.</p>;
	if (!halves)
		return <p class="empty" role="status">{error ? `${error.message}.` : LOADING}</p>;
	return <SandwichPanes {...halves} scale={profile} onMenu={onMenu} />;
}

/** Chooses the label by which the graph is split. */
export function SplitPicker({ scope }: { scope: Scope }) {
	return <LabelPicker prefix="Split by" label={splitOf(scope.state)} none="None" selector={scope.selector} range={scope.range}
		onSet={(split) => scope.update({ split, zoom: "", opened: [] })} />;
}

export function FlamePage({ scope }: { scope: Scope }) {
	return <FlameGraph scope={scope} query={scope.query} />;
}

/** The flame graph of @query, which may be narrower than the query of @scope. */
export function FlameGraph({ scope, query, title }: { scope: Scope; query: api.Query; title?: string }) {
	const { state, update } = scope;
	const { data, loading, error } = useProfile(query, splitOf(state), state.opened, state.inverted ? CALLERS_NODES : MAX_NODES);
	const [expanding, setExpanding] = useState("");
	const truncated = useMemo(() => data !== null && isTruncated(data), [data]);
	const rows = useQuery(truncated && viewOf(PROFILE_VIEWS, state.view).parts.includes("table") ? queryKey(query) : null,
		(signal) => api.functions({ ...query, limit: MAX_FUNCTIONS }, signal)).data;
	const { profile, usage } = useMemo(() => {
		const named = data && { ...data, title: title ?? titleOf(scope), durationNs: (query.end - query.start) * 1e6 };
		return named && rows ? withFunctionTotals(named, rows.functions) : { profile: named, usage: null };
	}, [data, rows]);
	if (!profile)
		return error ? <Failed error={error} what="the flame graph" /> : <Loading />;
	if (profile.tree.total[0] <= 0)
		return <NoMatchingSamples scope={scope} />;
	const open = (node: number) => {
		const key = nodeKey(profile, node);
		setExpanding(key);
		update({ opened: [...state.opened, key], zoom: node > 0 ? key : "" });
	};
	return (
		<ProfileView profile={profile} state={state} update={update} downloads={serverDownloads(query)}
			usage={usage} sandwich={!truncated ? undefined : (fn, onMenu) => (
				<ServerSandwich profile={profile} query={query} fn={fn} colour={state.colour} onMenu={onMenu} />
			)}
			onOpen={open} busy={loading && (expanding !== "" || !scope.live)} />
	);
}

function NoMatchingSamples({ scope }: { scope: Scope }) {
	const { state, update } = scope;
	const narrowed = state.service !== "" || state.where.length > 0;
	return (
		<Message title={NO_SAMPLES}>
			<p>No profiles of type “{typeName(scope.type)}” were recorded
				{narrowed ? " for this service and these filters" : ""}.</p>
			<p class="actions">
				{narrowed && <button onClick={() => update({ service: "", where: [] })}>Clear service and filters</button>}
				<button onClick={() => update({ from: "now-24h", to: "now" })}>Last 24 hours</button>
			</p>
		</Message>
	);
}
