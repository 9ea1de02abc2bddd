// SPDX-License-Identifier: Apache-2.0
//
// The frame of all views of a server: the navigation, the query and the
// timeline, with the current view below them.

import { useEffect, useMemo, useRef } from "preact/hooks";

import { defaultType } from "../model/profile_types";
import { clampToData, isLive, rangeOf, shiftRange } from "../model/range";
import { narrowTo, selectorOf, SERVICE } from "../model/selector";
import { Help } from "../view/help";
import { useUrlState, type UpdateOf } from "../view/url_state";
import { viewOf } from "../view/view";
import * as api from "./api";
import { Filters, LabelPicker, ServicePicker, TypePicker } from "./filters";
import { Failed, Loading, Message } from "./messages";
import { RangeBar } from "./range_bar";
import type { Scope } from "./scope";
import { SERVER_START, type ServerState } from "./state";
import { Timeline } from "./timeline";
import { useNow } from "./use_now";
import { useDisconnected, useQuery } from "./use_query";
import { codecOf, VIEWS, type ServerView } from "./views";

export function Nav({ views, state, update }: {
	views: readonly ServerView[]; state: ServerState; update: UpdateOf<ServerState>;
}) {
	return (
		<nav class="pages" aria-label="Views">
			{views.map((v) => (
				<button key={v.id} title={v.help} aria-current={state.page === v.id ? "page" : undefined}
					onClick={() => update({ page: v.id, zoom: "", query: "", order: "", opened: [] })}>{v.title}</button>
			))}
		</nav>
	);
}

function SignOut() {
	const session = useQuery("session", api.session).data;
	return session?.signedIn
		? <button class="signout" title={`Signed in as ${session.user}`} onClick={() => void api.signOut()}>Sign out</button>
		: null;
}

function QueryBar({ scope, types }: { scope: Scope; types: string[] }) {
	const { state, update, range } = scope;
	return (
		<div class="querybar" role="region" aria-label="Query">
			<ServicePicker service={state.service} range={range} onSet={(service) => update({ service, zoom: "", opened: [] })} />
			<TypePicker type={scope.type} types={types} onSet={(type) => update({ type, opened: [] })} />
			<Filters service={state.service} where={state.where} range={range}
				onSet={(where) => update({ where, opened: [] })} />
			<RangeBar state={state} range={range} now={scope.now} update={update} />
		</div>
	);
}

const TIME_KEYS: [string, string][] = [["[  ]", "Earlier, later time range"]];

/* '[' and ']' shift the time range wherever the focus is, except in text fields. */
function useTimeKeys(scope: Scope): void {
	const latest = useRef(scope);
	latest.current = scope;
	useEffect(() => {
		const onKey = (e: KeyboardEvent) => {
			const { range, now, update } = latest.current;
			if (e.target instanceof HTMLInputElement || e.ctrlKey || e.metaKey || e.altKey)
				return;
			if (e.key === "[" || e.key === "]")
				update({ ...shiftRange(range, e.key === "[" ? -1 : 1, now), sliceFrom: "", sliceTo: "" });
		};
		addEventListener("keydown", onKey);
		return () => removeEventListener("keydown", onKey);
	}, []);
}

function ScopeTimeline({ scope, view }: { scope: Scope; view: ServerView }) {
	const { state, update } = scope;
	const Control = view.control;
	const pick = (value: string) => update(state.by === SERVICE
		? { service: value, opened: [] }
		: { where: narrowTo(state.where, state.by, value), opened: [] });
	return (
		<Timeline type={scope.type} selector={scope.selector} range={scope.range} live={scope.live} by={state.by}
			onRange={(from, to) => update({ from: String(from), to: String(to) })} onPick={pick}>
			<LabelPicker prefix="Stack by" label={state.by} selector={scope.selector} range={scope.range}
				onSet={(by) => update({ by })} />
			{Control && <Control scope={scope} />}
		</Timeline>
	);
}

function Empty({ state, update }: { state: ServerState; update: UpdateOf<ServerState> }) {
	const first = state.service === "" && state.from === SERVER_START.from && state.to === SERVER_START.to;
	return (
		<Message title={first ? "No profiles yet" : "No profiles in this time range"}>
			{first && <>
				<p>To profile a machine, run <code>sudo cameo agent --server {location.origin}</code> there. Profiles
					appear here within half a minute. Any Pyroscope client can push profiles, too.</p>
			</>}
			<p class="actions">
				{state.service !== "" && <button onClick={() => update({ service: "" })}>All services</button>}
				<button onClick={() => update({ from: "now-24h", to: "now" })}>Last 24 hours</button>
				<button onClick={() => update({ from: "now-30d", to: "now" })}>Last 30 days</button>
			</p>
		</Message>
	);
}

/** The page of a server. Tests pass a table with further views. */
export function App({ views = VIEWS }: { views?: readonly ServerView[] }) {
	const [state, update] = useUrlState(useMemo(() => codecOf(views), [views]));
	const view = viewOf(views, state.page);
	const Body = view.component;
	const live = isLive(state.to);
	const now = useNow(live);
	const disconnected = useDisconnected();
	const usual = state.from === SERVER_START.from && live;
	const oldest = useQuery(usual ? String(Math.floor(now / 60e3)) : null, api.oldestProfile).data ?? 0;
	const range = useMemo(() => {
		const r = rangeOf(state.from, state.to, now);
		return usual ? clampToData(r, oldest) : r;
	}, [state.from, state.to, now, usual, oldest]);
	const types = useQuery(`${state.service} ${range.from} ${range.to}`, (signal) =>
		api.profileTypes(selectorOf(state.service, []), range.from, range.to, signal));
	const type = state.type !== "" ? state.type : defaultType(types.data ?? []);
	const selector = useMemo(() => selectorOf(state.service, state.where), [state.service, state.where.join("\0")]);
	const query = useMemo(() => ({
		profileTypeID: type, labelSelector: selector, start: range.from, end: range.to,
	}), [type, selector, range]);
	const scope: Scope = { state, update, now, live, range, type, selector, query };
	useTimeKeys(scope);
	return (
		<>
			<header class="site">
				<h1><a href="#" onClick={(e) => { e.preventDefault(); update(SERVER_START); }}>Cameo</a></h1>
				<Nav views={views} state={state} update={update} />
				<SignOut />
			</header>
			<Help views={views} keys={TIME_KEYS} />
			{disconnected && <p class="disconnected" role="alert">Cannot reach the server. Retrying…</p>}
			{view.header !== "none" && <QueryBar scope={scope} types={types.data ?? []} />}
			{view.header === "none" ? <Body scope={scope} />
				: type === ""
				? types.error && !types.data ? <Failed error={types.error} what="the profile types" />
					: types.data ? <Empty state={state} update={update} /> : <Loading />
				: <>
					{view.header === "timeline" && <ScopeTimeline scope={scope} view={view} />}
					<Body scope={scope} />
				</>}
		</>
	);
}
