// SPDX-License-Identifier: Apache-2.0
//
// The flame chart of one thread, of the slice selected in the heat map or of the
// last hour of the time range.

import { useMemo } from "preact/hooks";

import { displayName, formatSamples } from "../model/format";
import { loadProfile } from "../model/profile";
import { threadKey, threadName } from "../model/times";
import { ChartView } from "../view/chart_view";
import * as api from "./api";
import { HOUR_MS, NoTimestamps, sliceOfState } from "./heat_page";
import { Failed, LAST_HOUR, Loading } from "./messages";
import { queryKey, type Scope } from "./scope";
import { useQuery } from "./use_query";

const MAX_THREADS = 500;

export function ThreadsPage({ scope }: { scope: Scope }) {
	const { state, update, range, query } = scope;
	const slice = sliceOfState(state);
	const request = { ...query, ...(slice ?? { start: Math.max(range.from, range.to - HOUR_MS), end: range.to }) };
	const { data: list, error } = useQuery(queryKey(request), (signal) => api.threads({ ...request, limit: MAX_THREADS }, signal));
	const chosen = list && (list.threads.find((t) => threadKey(t) === state.thread) ?? list.threads[0]);
	const key = chosen ? threadKey(chosen) : "";
	const chart = useQuery(chosen ? queryKey(request, key) : null, async (signal) => {
		const { pid, tid } = chosen!;
		return { key, profile: await loadProfile(await api.thread({ ...request, pid, tid }, signal)) };
	}, (now, before) => now.endsWith(key) && before.endsWith(key));
	const choices = useMemo(() => (list?.threads ?? []).map((t) => ({
		key: threadKey(t), text: `${displayName(threadName(t), 60)}: ${formatSamples(t.samples)}`,
	})), [list]);
	if (!list)
		return error ? <Failed error={error} what="the threads" /> : <Loading />;
	if (!chosen)
		return <NoTimestamps any={!slice} />;
	const profile = chart.data?.profile;
	const thread = profile?.times?.threads.find((t) => t.key === chart.data!.key);
	if (!profile || !thread)
		return chart.error ? <Failed error={chart.error} what="the flame chart" /> : <Loading />;
	return (
		<>
			{!slice && range.to - range.from > HOUR_MS && <p class="note">{LAST_HOUR}</p>}
			<ChartView profile={{ ...profile, title: state.service || "cameo" }} startMs={profile.times!.startMs} thread={thread}
				choices={choices} state={state} update={update} />
		</>
	);
}
