// SPDX-License-Identifier: Apache-2.0
//
// The heat map of a range, and the flame graph of the slice chosen in it.

import { useMemo } from "preact/hooks";

import { heatOf, withoutStripes } from "../model/heat";
import { percent } from "../model/format";
import { readProfile } from "../model/profile";
import { rateUnit } from "../model/stack_lines";
import { byProcess } from "../model/times";
import { HeatMap } from "../view/heat_map";
import { ProfileView } from "../view/profile_view";
import * as api from "./api";
import { useAsk } from "./ask";
import { Flame, splitOf, titleOf } from "./flame_page";
import { Failed, Message, Waiting } from "./messages";
import { questionOf, type Scope } from "./scope";
import type { ServerState } from "./state";

export const HOUR_MS = 3600e3;
/* An agent sends what it saw in so long at most; a window is found by its begin. */
const WINDOW_MS = 15_000;

/** What is chosen in the heat map, both ends within it; null for nothing. */
export function sliceOfState(s: ServerState): { start: number; end: number } | null {
	const [from, to] = [Number(s.sliceFrom), Number(s.sliceTo)];
	return s.sliceFrom !== "" && from > 0 && from < to ? { start: from, end: to - 1 } : null;
}

/* As fine as there is room for. */
function cellMsFor(seconds: number): number {
	return seconds <= 301 ? 20 : 100;
}

export function Untimed({ any }: { any: boolean }) {
	return (
		<Message title={any ? "These samples do not say when they were taken" : "No samples in this range"}>
			{any ? <p>A heat map needs the time of each sample. A recording has it:
				{" "}<code>sudo cameo record -d 30 -o x.html</code> shows one, and the flame chart of each thread.</p>
				: <p>Choose a longer range, or fewer filters.</p>}
		</Message>
	);
}

export function HeatPage({ scope }: { scope: Scope }) {
	const { state, update, range, query } = scope;
	const cut = range.to - range.from > HOUR_MS;
	const start = Math.floor((cut ? range.to - HOUR_MS : range.from) / 1000) * 1000;
	const end = Math.ceil(range.to / 1000) * 1000 - 1;
	const cellMs = cellMsFor((end - start) / 1000);
	const asked = { ...query, start, end, cellMs };
	const { data, error } = useAsk(questionOf(asked, cellMs), (signal) => api.cells(asked, signal));
	const heat = useMemo(() => data && heatOf(withoutStripes(data)), [data]);
	const unit = rateUnit(scope.type);
	const text = (v: number) => unit.text((v * unit.factor * 1000) / (heat?.cellMs ?? 1));
	const slice = sliceOfState(state);
	if (error instanceof api.ApiError && error.code === "unimplemented")
		return <Untimed any />;
	if (!heat || !data)
		return error ? <Failed error={error} what="The heat map" /> : <Waiting />;
	if (data.timed === 0)
		return <Untimed any={data.total > 0} />;
	return (
		<>
			{cut && <p class="note">The last hour of the range: choose a shorter one to see another part.</p>}
			{data.timed < data.total && <p class="note">{percent(data.timed, data.total)} of what was used is here: the rest has no time of its own.</p>}
			<HeatMap heat={heat} state={state} text={text}
				update={(change, how) => update({ ...change, opened: [] }, how)}>
				<button onClick={() => update({ page: "threads", zoom: "" })}>Its threads</button>
			</HeatMap>
			{slice ? <Slice scope={scope} query={{ ...query, ...slice }} /> : <Flame scope={scope} query={{ ...query, start, end }} />}
		</>
	);
}

/* The very samples of a slice; of more than the server tells one by one, the windows around it. */
function Slice({ scope, query }: { scope: Scope; query: api.Query }) {
	const { state, update } = scope;
	const { data, error, asking } = useAsk(questionOf(query), async (signal) => readProfile(await api.thread(query, signal)));
	const profile = useMemo(() => {
		if (!data)
			return null;
		const named = { ...data, title: titleOf(scope), durationNs: (query.end + 1 - query.start) * 1e6 };
		return { ...(splitOf(state) === "" ? named : byProcess(named)), times: undefined };
	}, [data, splitOf(state)]);
	if (error && !(error instanceof api.Unreachable))
		return (
			<>
				<p class="note">Too many samples to be told one by one: this is of the windows around the slice.</p>
				<Flame scope={scope} query={{ ...query, start: query.start - WINDOW_MS }} />
			</>
		);
	if (!profile)
		return <Waiting />;
	if (profile.tree.total[0] <= 0)
		return <p class="empty">No sample was taken in this slice.</p>;
	return <ProfileView profile={profile} state={state} update={update} busy={asking} />;
}
