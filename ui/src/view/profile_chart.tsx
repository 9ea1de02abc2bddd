// SPDX-License-Identifier: Apache-2.0
//
// The flame chart of a profile that has the timestamps of all its threads.

import { useMemo } from "preact/hooks";

import { formatSamples, displayName } from "../model/format";
import { sliceTimes } from "../model/times";
import { ChartView } from "./chart_view";
import type { OwnViewProps } from "./view";

const MAX_THREADS = 500;

export function ProfileChart({ profile, state, update, switcher }: OwnViewProps) {
	const times = profile.times!;
	const threads = useMemo(() => (state.sliceFrom === "" ? times
		: sliceTimes(times, Number(state.sliceFrom), Number(state.sliceTo))).threads, [times, state.sliceFrom, state.sliceTo]);
	const thread = threads.find((t) => t.key === state.thread) ?? threads[0] ?? times.threads[0];
	return (
		<ChartView profile={profile} startMs={times.startMs} thread={thread} state={state} update={update}
			choices={threads.slice(0, MAX_THREADS).map((t) => ({ key: t.key, text: `${displayName(t.name, 60)}: ${formatSamples(t.at.length)}` }))}>
			{switcher}
		</ChartView>
	);
}
