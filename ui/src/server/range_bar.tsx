// SPDX-License-Identifier: Apache-2.0
//
// The range of time: presets, from and to, a step back or forward, live.

import { useState } from "preact/hooks";

import {
	backFrom, fromLocalInput, isLive, PRESETS, rangeText, stepRange, toLocalInput, zoomOut, type Range,
} from "../model/range";
import { toHash } from "../model/url";
import { copy } from "../view/save";
import type { UpdateOf } from "../view/state";
import { Popover } from "./popover";
import { SERVER_START, type ServerState } from "./state";

function Absolute({ range, onSet }: { range: Range; onSet: (from: string, to: string) => void }) {
	const [from, setFrom] = useState(toLocalInput(range.from));
	const [to, setTo] = useState(toLocalInput(range.to));
	const [a, b] = [fromLocalInput(from), fromLocalInput(to)];
	const good = a < b;
	return (
		<form class="absolute" onSubmit={(e) => {
			e.preventDefault();
			if (good)
				onSet(String(a), String(b));
		}}>
			<label>From <input type="datetime-local" step="1" value={from}
				onInput={(e) => setFrom(e.currentTarget.value)} /></label>
			<label>To <input type="datetime-local" step="1" value={to}
				onInput={(e) => setTo(e.currentTarget.value)} /></label>
			{!good && <p class="note bad">The end must come after the start.</p>}
			<button type="submit" disabled={!good}>Show this range</button>
		</form>
	);
}

/** A button that opens the choice of a range. */
export function RangePicker({ from, to, range, now, label, live, onSet }: {
	from: string; to: string; range: Range; now: number; label: string; live: boolean;
	onSet: (from: string, to: string) => void;
}) {
	return (
		<Popover label={`${label}: ${rangeText(from, to, now)}`} text={rangeText(from, to, now)} class="range">
			{(close) => (
				<>
					{live && (
						<ul class="presets">
							{PRESETS.map(([back, text], i) => (
								<li key={back}>
									<button data-first={i === 0 ? true : undefined} aria-pressed={from === back && to === "now"}
										onClick={() => { onSet(back, "now"); close(); }}>{text}</button>
								</li>
							))}
						</ul>
					)}
					<Absolute range={range} onSet={(a, b) => { onSet(a, b); close(); }} />
				</>
			)}
		</Popover>
	);
}

export function RangeBar({ state, range, now, update }: {
	state: ServerState; range: Range; now: number; update: UpdateOf<ServerState>;
}) {
	const live = isLive(state.to);
	const absolute = { from: String(Math.round(range.from)), to: String(Math.round(range.to)) };
	const link = location.href.replace(/#.*/, "") + toHash({ ...state, ...absolute }, SERVER_START);
	const [copied, setCopied] = useState("");
	const set = (r: { from: string; to: string }) => update({ ...r, sliceFrom: "", sliceTo: "" });
	return (
		<div class="rangebar" role="group" aria-label="Range of time">
			<button aria-label="Earlier" title="One range earlier ( [ )"
				onClick={() => set(stepRange(range, -1, now))}>‹</button>
			<RangePicker label="Range of time" from={state.from} to={state.to} range={range} now={now} live
				onSet={(from, to) => set({ from, to })} />
			<button aria-label="Later" title="One range later ( ] )" disabled={live}
				onClick={() => set(stepRange(range, 1, now))}>›</button>
			<button aria-label="Wider" title="A range twice as wide" onClick={() => set(zoomOut(range, now))}>−</button>
			<button class="live" aria-pressed={live} title={live ? "The range moves with the time: stop it here" : "Move on with the time"}
				onClick={() => set(live ? absolute : { from: backFrom(range.to - range.from), to: "now" })}>
				<span class="pulse" aria-hidden="true" />Live</button>
			<button title="For others, who see this very range whenever they look"
				onClick={() => void copy(link).then(() => setCopied(link))}>
				<span aria-live="polite">{copied === link ? "Copied" : "Copy link"}</span></button>
		</div>
	);
}
