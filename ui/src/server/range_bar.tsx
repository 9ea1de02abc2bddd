// SPDX-License-Identifier: Apache-2.0
//
// The time range: presets, absolute ranges, shifting, zooming out and live
// updates.

import { useState } from "preact/hooks";

import {
	formatRange, fromLocalInput, isLive, PRESETS, relativeStart, shiftRange, toLocalInput, zoomOut, type Range,
} from "../model/range";
import { toHash } from "../model/url";
import { copy } from "../view/save";
import type { UpdateOf } from "../view/url_state";
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
			{!good && <p class="note error">The end must be after the start.</p>}
			<button type="submit" disabled={!good}>Apply time range</button>
		</form>
	);
}

/** A button that opens a panel with presets and an absolute range. */
export function RangePicker({ from, to, range, now, label, live, onSet }: {
	from: string; to: string; range: Range; now: number; label: string; live: boolean;
	onSet: (from: string, to: string) => void;
}) {
	return (
		<Popover label={`${label}: ${formatRange(from, to, now)}`} text={formatRange(from, to, now)} class="range">
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
		<div class="rangebar" role="group" aria-label="Time range">
			<button aria-label="Earlier" title="Earlier ([)"
				onClick={() => set(shiftRange(range, -1, now))}>‹</button>
			<RangePicker label="Time range" from={state.from} to={state.to} range={range} now={now} live
				onSet={(from, to) => set({ from, to })} />
			<button aria-label="Later" title="Later (])" disabled={live}
				onClick={() => set(shiftRange(range, 1, now))}>›</button>
			<button aria-label="Zoom out" title="Zoom out: double the time range" onClick={() => set(zoomOut(range, now))}>−</button>
			<button class="live" aria-pressed={live} title={live ? "Pause live updates" : "Follow live"}
				onClick={() => set(live ? absolute : { from: relativeStart(range.to - range.from), to: "now" })}>
				<span class="pulse" aria-hidden="true" />Live</button>
			<button title="Copy a link to this view with an absolute time range"
				onClick={() => void copy(link).then(() => setCopied(link))}>
				<span aria-live="polite">{copied === link ? "Copied" : "Copy link"}</span></button>
		</div>
	);
}
