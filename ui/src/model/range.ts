// SPDX-License-Identifier: Apache-2.0
//
// Time ranges as URLs express them. Each end is a number of milliseconds since
// 1970, "now", or relative to it, such as "now-15m". A range that ends at "now"
// is live: it advances with the clock.

export interface Range {
	/** Both ends are inclusive and in milliseconds since 1970. */
	from: number;
	to: number;
}

const UNIT_NAMES: Record<string, string> = { s: "seconds", m: "minutes", h: "hours", d: "days", w: "weeks" };
const UNITS: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3 };

export const PRESETS: [string, string][] = [
	["now-5m", "Last 5 minutes"], ["now-15m", "Last 15 minutes"], ["now-1h", "Last hour"],
	["now-3h", "Last 3 hours"], ["now-12h", "Last 12 hours"], ["now-24h", "Last 24 hours"],
	["now-2d", "Last 2 days"], ["now-7d", "Last 7 days"], ["now-30d", "Last 30 days"],
];

const MAX_RANGE_MS = 3660 * 86400e3;

/** Parses one end of a range. Returns milliseconds, or NaN if it is invalid. */
export function parseEnd(text: string, now: number): number {
	if (text === "now")
		return now;
	const back = /^now-(\d{1,6})([smhdw])$/.exec(text);
	if (back)
		return now - Number(back[1]) * UNITS[back[2]];
	return /^\d{10,14}$/.test(text) ? Number(text) : NaN;
}

export function isLive(to: string): boolean {
	return to === "now";
}

/** Parses a range; an invalid one becomes the last 15 minutes. */
export function rangeOf(from: string, to: string, now: number): Range {
	const [a, b] = [parseEnd(from, now), parseEnd(to, now)];
	if (a < b && b - a <= MAX_RANGE_MS && a > 0)
		return { from: a, to: b };
	return { from: now - 15 * 60e3, to: now };
}

/* A range that ends this close to the present becomes live, since the clock advances while the page is open. */
const NOW_TOLERANCE_MS = 30e3;

/** Shifts the range by its width. A range that would extend into the future ends now and is live. */
export function shiftRange(r: Range, by: -1 | 1, now: number): { from: string; to: string } {
	const width = r.to - r.from;
	const to = r.to + by * width;
	if (to >= now - Math.max(NOW_TOLERANCE_MS, width / 20))
		return { from: relativeStart(width), to: "now" };
	return { from: String(Math.round(to - width)), to: String(Math.round(to)) };
}

/** Returns "now-15m" for a width of 15 minutes, in the largest unit that divides the width. */
export function relativeStart(widthMs: number): string {
	const seconds = Math.max(1, Math.round(widthMs / 1000));
	for (const unit of ["d", "h", "m"])
		if ((seconds * 1000) % UNITS[unit] === 0)
			return `now-${(seconds * 1000) / UNITS[unit]}${unit}`;
	return `now-${seconds}s`;
}

const MIN_RANGE_MS = 120e3;
const LEAD_MS = 30e3;

/** Cuts off the part of @r before the @oldest profile, but keeps MIN_RANGE_MS. An @oldest of 0 means that there is none. */
export function clampToData(r: Range, oldest: number): Range {
	const from = Math.min(oldest - LEAD_MS, r.to - MIN_RANGE_MS);
	return oldest > 0 && from > r.from ? { from, to: r.to } : r;
}

/** Doubles the width of the range around its centre, not into the future. */
export function zoomOut(r: Range, now: number): { from: string; to: string } {
	const width = (r.to - r.from) * 2;
	const middle = (r.from + r.to) / 2;
	if (middle + width / 2 >= now)
		return { from: relativeStart(width), to: "now" };
	return { from: String(Math.round(middle - width / 2)), to: String(Math.round(middle + width / 2)) };
}

const STEPS_S = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/** Returns the step in seconds for a timeline of at most about @steps steps. */
export function stepSeconds(r: Range, steps: number): number {
	const minimum = (r.to - r.from) / 1000 / steps;
	return STEPS_S.find((s) => s >= minimum) ?? STEPS_S[STEPS_S.length - 1];
}

const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const DATE_YEAR = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

export function formatTime(ms: number, seconds = false): string {
	return new Date(ms).toLocaleTimeString(undefined, {
		hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}), hour12: false,
	});
}

export function formatDateTime(ms: number): string {
	return `${DATE.format(ms)}, ${formatTime(ms, true)}`;
}

/** Formats a time with milliseconds. */
export function formatPreciseTime(ms: number): string {
	return `${formatDateTime(ms)}.${String(Math.floor(ms % 1000)).padStart(3, "0")}`;
}

/** Returns the text of the button that opens the time range picker. */
export function formatRange(from: string, to: string, now: number): string {
	const preset = PRESETS.find(([back]) => back === from);
	if (to === "now" && preset)
		return preset[1];
	if (to === "now" && from.startsWith("now-"))
		return `Last ${from.slice(4).replace(/\D/, (unit) => ` ${UNIT_NAMES[unit]}`)}`;
	const r = rangeOf(from, to, now);
	const short = r.to - r.from < 10 * 60e3;
	const day = (ms: number) => DATE_YEAR.format(ms);
	const same = day(r.from) === day(r.to);
	const first = same && day(r.from) === day(now) ? "" : `${DATE.format(r.from)}, `;
	return `${first}${formatTime(r.from, short)} – ${same ? "" : `${DATE.format(r.to)}, `}${formatTime(r.to, short)}`;
}

/** Formats a time for <input type=datetime-local>, in the local time zone. */
export function toLocalInput(ms: number): string {
	const d = new Date(ms - new Date(ms).getTimezoneOffset() * 60e3);
	return d.toISOString().slice(0, 19);
}

export function fromLocalInput(text: string): number {
	return new Date(text).getTime();
}
