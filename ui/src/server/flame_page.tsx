// SPDX-License-Identifier: Apache-2.0
//
// The flame graph of what is chosen. What the server cut is asked for when it
// is opened.

import { useMemo, useState } from "preact/hooks";

import { functionColours, type ColourBy } from "../model/colour";
import { graft, keyOfPlace, placeOf, callSiteOf } from "../model/graft";
import { isWaiting } from "../model/idle";
import { halfOf, isCut, withFunctions } from "../model/known";
import { readProfile, type Profile } from "../model/profile";
import { momentText } from "../model/range";
import { SERVICE } from "../model/selector";
import { typeName } from "../model/types";
import { ProfileView } from "../view/profile_view";
import type { Download } from "../view/bar";
import { Halves, NoFunction, type Half, type Place } from "../view/sandwich";
import * as api from "./api";
import { useAsk } from "./ask";
import { Failed, Message, Waiting } from "./messages";
import { questionOf, type Scope } from "./scope";
import type { ServerState } from "./state";

export const MAX_NODES = 65536;
/* Turned round, what was cut is at the top: there is less of it. */
const CALLERS_NODES = 131072;
const MOST_NODES = 1 << 20;
const MOST_FUNCTIONS = 5000;

/** @profile with the places of @opened filled in, each asked for by itself. */
async function openPlaces(profile: Profile, opened: string[], q: api.Query & { label: string }, signal: AbortSignal): Promise<Profile> {
	const times = new Map<string, number>();
	for (const key of opened) {
		const node = placeOf(profile, key);
		if (node < 0)
			continue;
		const n = (times.get(key) ?? (node === 0 ? 1 : 0)) + 1;
		times.set(key, n);
		const maxNodes = Math.min(MOST_NODES, MAX_NODES * 4 ** (n - 1));
		const part = await api.tree({ ...q, maxNodes, callSite: callSiteOf(profile, node) }, signal);
		profile = graft(profile, node, readProfile(part));
	}
	return profile;
}

/* What is one service's has no use for a row that says so. */
export function splitOf(s: ServerState): string {
	return s.split === SERVICE && s.service !== "" ? "" : s.split;
}

function useProfile(query: api.Query, split: string, opened: string[], maxNodes: number) {
	const q = { ...query, label: split };
	return useAsk(questionOf(q, split, maxNodes, ...opened), async (signal) => {
		const profile = readProfile(await api.tree({ ...q, maxNodes }, signal));
		return openPlaces(profile, opened, q, signal);
	});
}

const FORMATS: [string, string][] = [
	["pprof (whole)", "pprof"], ["folded (whole)", "folded"], ["speedscope (whole)", "speedscope"],
	["page (whole)", "html"],
];

/** Downloads of everything chosen, which the server makes. */
export function wholeDownloads(q: api.Query): Download[] {
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

/** What a file made of the profile is called. */
export function titleOf(s: Scope): string {
	return `${s.state.service || "all services"}, ${typeName(s.type)}, ${momentText(s.range.from)}`;
}

const GROUP = "group";
const NO_MATCH = new Uint8Array(0);

/* Of the whole, which the page does not have. */
function AskedSandwich({ profile, query, fn, colour, onMenu }: {
	profile: Profile; query: api.Query; fn: number; colour: ColourBy; onMenu: (place: Place) => void;
}) {
	const f = profile.functions;
	const asked = fn < 0 || f.kind[fn] === GROUP ? null : { name: f.name[fn], binary: f.binary[fn], kind: f.kind[fn] };
	const { data, error } = useAsk(asked && questionOf(query, ...Object.values(asked)), async (signal) => {
		const rs = await api.sandwich({ ...query, function: asked!, maxNodes: MAX_NODES }, signal);
		const half = (json: unknown) => {
			const p = halfOf(readProfile(json));
			return { tree: p.tree, functions: p.functions, matched: NO_MATCH };
		};
		return { all: rs.all, callers: half(rs.callers), callees: half(rs.callees) };
	}, () => false);
	const halves = useMemo(() => {
		const coloured = (half: Omit<Half, "colours">): Half =>
			({ ...half, colours: functionColours(half.functions, colour, new Float64Array(half.functions.n), isWaiting(profile.type)) });
		return data && { all: data.all, callers: coloured(data.callers), callees: coloured(data.callees) };
	}, [data, colour]);
	if (!asked)
		return fn < 0 ? <NoFunction />
			: <p class="empty">This is no function, but a program or a service: choose one of its functions.</p>;
	if (!halves)
		return <p class="empty" role="status">{error ? `${error.message}.` : "Asking the server…"}</p>;
	return <Halves {...halves} scale={profile} onMenu={onMenu} />;
}

export function Flame({ scope, query, title }: { scope: Scope; query: api.Query; title?: string }) {
	const { state, update } = scope;
	const { data, asking, error } = useProfile(query, splitOf(state), state.opened, state.inverted ? CALLERS_NODES : MAX_NODES);
	const [opening, setOpening] = useState("");
	const cut = useMemo(() => data !== null && isCut(data), [data]);
	const rows = useAsk(cut && state.view !== "graph" ? questionOf(query) : null,
		(signal) => api.functions({ ...query, limit: MOST_FUNCTIONS }, signal)).data;
	const { profile, usage } = useMemo(() => {
		const named = data && { ...data, title: title ?? titleOf(scope), durationNs: (query.end - query.start) * 1e6 };
		return named && rows ? withFunctions(named, rows.functions) : { profile: named, usage: null };
	}, [data, rows]);
	if (!profile)
		return error ? <Failed error={error} what="The flame graph" /> : <Waiting />;
	if (profile.tree.total[0] <= 0)
		return <Nothing scope={scope} />;
	const open = (node: number) => {
		const key = keyOfPlace(profile, node);
		setOpening(key);
		update({ opened: [...state.opened, key], zoom: node > 0 ? key : "" });
	};
	return (
		<ProfileView profile={profile} state={state} update={update} downloads={wholeDownloads(query)}
			usage={usage} sandwich={!cut ? undefined : (fn, onMenu) => (
				<AskedSandwich profile={profile} query={query} fn={fn} colour={state.colour} onMenu={onMenu} />
			)}
			onOpen={open} busy={asking && (opening !== "" || !scope.live)} />
	);
}

function Nothing({ scope }: { scope: Scope }) {
	const { state, update } = scope;
	const narrowed = state.service !== "" || state.where.length > 0;
	return (
		<Message title="No samples in this range">
			<p>Nothing of the kind “{typeName(scope.type)}” was recorded then
				{narrowed ? " for what the service and the filters let through" : ""}.</p>
			<p class="actions">
				{narrowed && <button onClick={() => update({ service: "", where: [] })}>All services, no filters</button>}
				<button onClick={() => update({ from: "now-24h", to: "now" })}>Last 24 hours</button>
			</p>
		</Message>
	);
}
