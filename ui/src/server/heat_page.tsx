// SPDX-License-Identifier: Apache-2.0
//
// The heat map of a range, and the flame graph of the slice chosen in it.

import { useMemo } from "preact/hooks";

import { heatOf, withoutStripes } from "../model/heat";
import { percent } from "../model/format";
import { rateUnit } from "../model/stack_lines";
import { unitOf } from "../model/types";
import { HeatMap } from "../view/heat_map";
import * as api from "./api";
import { useAsk } from "./ask";
import { Flame } from "./flame_page";
import { Failed, Message, Waiting } from "./messages";
import { questionOf, type Scope } from "./scope";

const HOUR_MS = 3600e3;
/* An agent sends what it saw in so long at most; a window is found by its begin. */
const WINDOW_MS = 15_000;

/* The part of the range that is drawn: as many seconds as there is room for. */
function cellMsFor(seconds: number): number {
	return seconds <= 300 ? 20 : seconds <= 1200 ? 50 : 100;
}

function Untimed({ any }: { any: boolean }) {
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
	const unit = unitOf(scope.type);
	const text = (v: number) => rateUnit(unit).text((v * rateUnit(unit).factor * 1000) / (heat?.cellMs ?? 1));
	const sliced = state.sliceFrom !== "" && Number(state.sliceFrom) < Number(state.sliceTo);
	const slice = sliced ? { ...query, start: Number(state.sliceFrom) - WINDOW_MS, end: Number(state.sliceTo) - 1 }
		: { ...query, start, end };
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
				update={(change, how) => update({ ...change, opened: [] }, how)} />
			{sliced && <p class="note">A server keeps stacks in windows of some seconds: this is of those around the slice.</p>}
			<Flame scope={scope} query={slice} />
		</>
	);
}
