// SPDX-License-Identifier: Apache-2.0
//
// The frame of all pages of a server: where one can go, which profiles are
// meant, the time line; below it the page itself.

import { useEffect, useMemo, useRef } from "preact/hooks";

import { isLive, rangeOf, stepRange, whatExists } from "../model/range";
import { narrowed, selectorOf, SERVICE } from "../model/selector";
import { bestType } from "../model/types";
import { Help } from "../view/help";
import { useUrlState, type UpdateOf } from "../view/state";
import * as api from "./api";
import { useAsk, useAway } from "./ask";
import { AgentsPage } from "./agents_page";
import { BinariesPage } from "./binaries_page";
import { useNow } from "./clock";
import { Compare } from "./compare_page";
import { Filters, LabelPicker, Service, TypePicker } from "./filters";
import { Flame, splitOf } from "./flame_page";
import { GroupsPage } from "./groups_page";
import { HeatPage } from "./heat_page";
import { Failed, Message, Waiting } from "./messages";
import { RangeBar } from "./range_bar";
import type { Scope } from "./scope";
import { SERVER, SERVER_START, type PageName, type ServerState } from "./state";
import { StoragePage } from "./storage_page";
import { ThreadsPage } from "./threads_page";
import { Timeline } from "./timeline";

const PAGE_NAMES: Partial<Record<PageName, string>> = {
	flame: "Flame graph", compare: "Compare", groups: "Groups", heat: "Heat map", threads: "Threads",
	agents: "Agents", binaries: "Executables", storage: "Storage",
};
/* These have a time line of their own. */
const WITHOUT_LINE: PageName[] = ["compare", "heat"];

function Nav({ state, update }: { state: ServerState; update: UpdateOf<ServerState> }) {
	return (
		<nav class="pages" aria-label="Pages">
			{(Object.keys(PAGE_NAMES) as PageName[]).map((p) => (
				<button key={p} aria-current={state.page === p ? "page" : undefined}
					onClick={() => update({ page: p, zoom: "", query: "", order: "", opened: [] })}>{PAGE_NAMES[p]}</button>
			))}
		</nav>
	);
}

function QueryBar({ scope, types }: { scope: Scope; types: string[] }) {
	const { state, update, range } = scope;
	return (
		<div class="querybar" role="region" aria-label="What is shown">
			<Service service={state.service} range={range} onSet={(service) => update({ service, zoom: "", opened: [] })} />
			<TypePicker type={scope.type} types={types} onSet={(type) => update({ type, opened: [] })} />
			<Filters service={state.service} where={state.where} range={range}
				onSet={(where) => update({ where, opened: [] })} />
			<RangeBar state={state} range={range} now={scope.now} update={update} />
		</div>
	);
}

/* '[' and ']' step through time wherever the focus is, but in a text. */
function useTimeKeys(scope: Scope): void {
	const latest = useRef(scope);
	latest.current = scope;
	useEffect(() => {
		const onKey = (e: KeyboardEvent) => {
			const { range, now, update } = latest.current;
			if (e.target instanceof HTMLInputElement || e.ctrlKey || e.metaKey || e.altKey)
				return;
			if (e.key === "[" || e.key === "]")
				update({ ...stepRange(range, e.key === "[" ? -1 : 1, now), sliceFrom: "", sliceTo: "" });
		};
		addEventListener("keydown", onKey);
		return () => removeEventListener("keydown", onKey);
	}, []);
}

function Body({ scope }: { scope: Scope }) {
	switch (scope.state.page) {
	case "compare": return <Compare scope={scope} />;
	case "groups": return <GroupsPage scope={scope} />;
	case "heat": return <HeatPage scope={scope} />;
	case "threads": return <ThreadsPage scope={scope} />;
	case "agents": return <AgentsPage scope={scope} />;
	case "binaries": return <BinariesPage scope={scope} />;
	default: return <Flame scope={scope} query={scope.query} />;
	}
}

function Line({ scope }: { scope: Scope }) {
	const { state, update } = scope;
	const pick = (value: string) => update(state.by === SERVICE
		? { service: value, opened: [] }
		: { where: narrowed(state.where, state.by, value), opened: [] });
	return (
		<Timeline type={scope.type} selector={scope.selector} range={scope.range} live={scope.live} by={state.by}
			onRange={(from, to) => update({ from: String(from), to: String(to) })} onPick={pick}>
			<LabelPicker prefix="Stacked by" label={state.by} selector={scope.selector} range={scope.range}
				onSet={(by) => update({ by })} />
			{state.page === "flame" && <LabelPicker prefix="Split by" label={splitOf(state)} none="Nothing"
				selector={scope.selector} range={scope.range}
				onSet={(split) => update({ split, zoom: "", opened: [] })} />}
		</Timeline>
	);
}

function Empty({ state, update }: { state: ServerState; update: UpdateOf<ServerState> }) {
	const first = state.from === SERVER_START.from && state.to === SERVER_START.to;
	return (
		<Message title={first ? "No profiles yet" : "No profiles in this range"}>
			{first && <>
				<p>Profile this machine: <code>sudo cameo</code> keeps profiles and shows them here within seconds.</p>
				<p>Or send them from another one: <code>sudo cameo agent --server {location.origin}</code>. Any
					Pyroscope client can push here too.</p>
			</>}
			<p class="actions">
				<button onClick={() => update({ from: "now-24h", to: "now" })}>Last 24 hours</button>
				<button onClick={() => update({ from: "now-30d", to: "now" })}>Last 30 days</button>
			</p>
		</Message>
	);
}

export function App() {
	const [state, update] = useUrlState(SERVER);
	const live = isLive(state.to);
	const now = useNow(live);
	const away = useAway();
	const usual = state.from === SERVER_START.from && live;
	const oldest = useAsk(usual ? String(Math.floor(now / 60e3)) : null, api.oldestProfile).data ?? 0;
	const range = useMemo(() => {
		const r = rangeOf(state.from, state.to, now);
		return usual ? whatExists(r, oldest) : r;
	}, [state.from, state.to, now, usual, oldest]);
	const types = useAsk(`${range.from} ${range.to}`, (signal) => api.profileTypes(range.from, range.to, signal));
	const type = state.type !== "" ? state.type : bestType(types.data ?? []);
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
				<Nav state={state} update={update} />
			</header>
			<Help />
			{away && <p class="away" role="alert">The server does not answer. Trying again…</p>}
			{state.page !== "storage" && <QueryBar scope={scope} types={types.data ?? []} />}
			{state.page === "storage" ? <StoragePage scope={scope} />
				: type === ""
				? types.error && !types.data ? <Failed error={types.error} what="This page" />
					: types.data ? <Empty state={state} update={update} /> : <Waiting />
				: <>
					{!WITHOUT_LINE.includes(state.page) && <Line scope={scope} />}
					<Body scope={scope} />
				</>}
		</>
	);
}
