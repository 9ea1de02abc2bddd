// SPDX-License-Identifier: Apache-2.0
//
// What one thread did over time: its flame chart, of the last hour of the
// range at most, or of the slice that was chosen in the heat map.

import { useMemo } from "preact/hooks";

import { grouped, shown } from "../model/format";
import { readProfile } from "../model/profile";
import { threadKey, threadName } from "../model/times";
import { ChartView } from "../view/chart_view";
import * as api from "./api";
import { useAsk } from "./ask";
import { HOUR_MS, sliceOfState, Untimed } from "./heat_page";
import { Failed, Waiting } from "./messages";
import { questionOf, type Scope } from "./scope";

const MOST = 500;

export function ThreadsPage({ scope }: { scope: Scope }) {
	const { state, update, range, query } = scope;
	const slice = sliceOfState(state);
	const asked = { ...query, ...(slice ?? { start: Math.max(range.from, range.to - HOUR_MS), end: range.to }) };
	const { data: list, error } = useAsk(questionOf(asked), (signal) => api.threads({ ...asked, limit: MOST }, signal));
	const chosen = list && (list.threads.find((t) => threadKey(t) === state.thread) ?? list.threads[0]);
	const key = chosen ? threadKey(chosen) : "";
	const own = useAsk(chosen ? questionOf(asked, key) : null, async (signal) => {
		const { pid, tid } = chosen!;
		return { key, profile: readProfile(await api.thread({ ...asked, pid, tid }, signal)) };
	}, (now, before) => now.endsWith(key) && before.endsWith(key));
	const choices = useMemo(() => (list?.threads ?? []).map((t) => ({
		key: threadKey(t), text: `${shown(threadName(t), 60)}: ${grouped(t.samples)} ${t.samples === 1 ? "sample" : "samples"}`,
	})), [list]);
	if (!list)
		return error ? <Failed error={error} what="The list of threads" /> : <Waiting />;
	if (!chosen)
		return <Untimed any={!slice} />;
	const profile = own.data?.profile;
	const thread = profile?.times?.threads.find((t) => t.key === own.data!.key);
	if (!profile || !thread)
		return own.error ? <Failed error={own.error} what="The flame chart" /> : <Waiting />;
	return (
		<>
			{!slice && range.to - range.from > HOUR_MS && <p class="note">The last hour of the range: choose a shorter one to see another part.</p>}
			<ChartView profile={{ ...profile, title: state.service || "cameo" }} startMs={profile.times!.startMs} thread={thread}
				choices={choices} state={state} update={update} />
		</>
	);
}
