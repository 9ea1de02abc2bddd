// SPDX-License-Identifier: Apache-2.0
//
// The heat map of the time range, and the flame graph of the slice selected in
// it.

import { useMemo } from "preact/hooks";

import { formatPercent } from "../model/format";
import { buildHeatMap, mergeSparseCells } from "../model/heat_map";
import { loadProfile } from "../model/profile";
import { rateUnit } from "../model/stacked_series";
import { groupByProcess } from "../model/times";
import { HeatMap } from "../view/heat_map";
import { ProfileView } from "../view/profile_view";
import * as api from "./api";
import { FlameGraph, splitOf, titleOf } from "./flame_page";
import { Failed, LAST_HOUR, Loading, Message, NoSamples } from "./messages";
import { queryKey, type Scope } from "./scope";
import type { ServerState } from "./state";
import { useQuery } from "./use_query";

export const HOUR_MS = 3600e3;
/* The longest profile that an agent sends. The server finds profiles by their start. */
const WINDOW_MS = 15_000;

/** Returns the slice selected in the heat map, with inclusive ends; null if there is none. */
export function sliceOfState(s: ServerState): { start: number; end: number } | null {
	const [from, to] = [Number(s.sliceFrom), Number(s.sliceTo)];
	return s.sliceFrom !== "" && from > 0 && from < to ? { start: from, end: to - 1 } : null;
}

/* Returns the shortest cells that the width of the page can show. */
function cellMsFor(seconds: number): number {
	return seconds <= 301 ? 20 : 100;
}

export function NoTimestamps({ any }: { any: boolean }) {
	return (
		any ? (
			<Message title="These samples have no timestamps">
				<p>Heat maps and flame charts need the time of each sample. Recordings include it:
					{" "}<code>sudo cameo record -d 30 -o profile.html</code></p>
			</Message>
		) : <NoSamples />
	);
}

export function HeatPage({ scope }: { scope: Scope }) {
	const { state, update, range, query } = scope;
	const shortened = range.to - range.from > HOUR_MS;
	const start = Math.floor((shortened ? range.to - HOUR_MS : range.from) / 1000) * 1000;
	const end = Math.ceil(range.to / 1000) * 1000 - 1;
	const cellMs = cellMsFor((end - start) / 1000);
	const request = { ...query, start, end, cellMs };
	const { data, error } = useQuery(queryKey(request, cellMs), (signal) => api.heatMap(request, signal));
	const heat = useMemo(() => data && buildHeatMap(mergeSparseCells(data)), [data]);
	const unit = rateUnit(scope.type);
	const text = (v: number) => unit.text((v * unit.factor * 1000) / (heat?.cellMs ?? 1));
	const slice = sliceOfState(state);
	if (error instanceof api.ApiError && error.code === "unimplemented")
		return <NoTimestamps any />;
	if (!heat || !data)
		return error ? <Failed error={error} what="the heat map" /> : <Loading />;
	if (data.timed === 0)
		return <NoTimestamps any={data.total > 0} />;
	return (
		<>
			{shortened && <p class="note">{LAST_HOUR}</p>}
			{data.timed < data.total && <p class="note">Showing {formatPercent(data.timed, data.total)} of the total: the other samples have no timestamps.</p>}
			<HeatMap heat={heat} state={state} text={text}
				update={(change, how) => update({ ...change, opened: [] }, how)}>
				<button onClick={() => update({ page: "threads", zoom: "" })}>Show threads</button>
			</HeatMap>
			{slice ? <SliceGraph scope={scope} query={{ ...query, ...slice }} /> : <FlameGraph scope={scope} query={{ ...query, start, end }} />}
		</>
	);
}

/* The samples of a slice. If they are too many for the server to list, the profiles that overlap the slice are shown. */
function SliceGraph({ scope, query }: { scope: Scope; query: api.Query }) {
	const { state, update } = scope;
	const { data, error, loading } = useQuery(queryKey(query), async (signal) => loadProfile(await api.thread(query, signal)));
	const profile = useMemo(() => {
		if (!data)
			return null;
		const named = { ...data, title: titleOf(scope), durationNs: (query.end + 1 - query.start) * 1e6 };
		return { ...(splitOf(state) === "" ? named : groupByProcess(named)), times: undefined };
	}, [data, splitOf(state)]);
	if (error && !(error instanceof api.ServerUnreachable))
		return (
			<>
				<p class="note">Too many samples to list. Showing all profiles that overlap the time slice.</p>
				<FlameGraph scope={scope} query={{ ...query, start: query.start - WINDOW_MS }} />
			</>
		);
	if (!profile)
		return <Loading />;
	if (profile.tree.total[0] <= 0)
		return <p class="empty">No samples in this time slice.</p>;
	return <ProfileView profile={profile} state={state} update={update} busy={loading} />;
}
