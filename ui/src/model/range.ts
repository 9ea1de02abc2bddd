// SPDX-License-Identifier: Apache-2.0
//
// Ranges of time as a URL says them: either end is milliseconds since 1970,
// or "now", or "now-15m". A range that ends now is live: it goes on.

export interface Range {
	/** Milliseconds, both within the range. */
	from: number;
	to: number;
}

const UNITS: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3 };

export const PRESETS: [string, string][] = [
	["now-5m", "Last 5 minutes"], ["now-15m", "Last 15 minutes"], ["now-1h", "Last hour"],
	["now-3h", "Last 3 hours"], ["now-12h", "Last 12 hours"], ["now-24h", "Last 24 hours"],
	["now-2d", "Last 2 days"], ["now-7d", "Last 7 days"], ["now-30d", "Last 30 days"],
];

const LONGEST_MS = 3660 * 86400e3;

/** One end, or NaN. */
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

/** What a URL says, or the last 15 minutes if that is no range. */
export function rangeOf(from: string, to: string, now: number): Range {
	const [a, b] = [parseEnd(from, now), parseEnd(to, now)];
	if (a < b && b - a <= LONGEST_MS && a > 0)
		return { from: a, to: b };
	return { from: now - 15 * 60e3, to: now };
}

/* The present moves on while somebody looks: a range that nearly ends now means now. */
const NEARLY_MS = 30e3;

/** The range one width earlier or later; what would reach beyond now ends now and is live. */
export function stepRange(r: Range, by: -1 | 1, now: number): { from: string; to: string } {
	const width = r.to - r.from;
	const to = r.to + by * width;
	if (to >= now - Math.max(NEARLY_MS, width / 20))
		return { from: backFrom(width), to: "now" };
	return { from: String(Math.round(to - width)), to: String(Math.round(to)) };
}

/** "now-15m" for a width, in the largest unit that says it whole. */
export function backFrom(widthMs: number): string {
	const seconds = Math.max(1, Math.round(widthMs / 1000));
	for (const unit of ["d", "h", "m"])
		if ((seconds * 1000) % UNITS[unit] === 0)
			return `now-${(seconds * 1000) / UNITS[unit]}${unit}`;
	return `now-${seconds}s`;
}

const LEAST_MS = 120e3;
const EARLIER_MS = 30e3;

/** What there is of @r, where the first profile is from @oldest: a new server has nothing before. */
export function whatExists(r: Range, oldest: number): Range {
	const from = Math.min(oldest - EARLIER_MS, r.to - LEAST_MS);
	return oldest > 0 && from > r.from ? { from, to: r.to } : r;
}

export function zoomOut(r: Range, now: number): { from: string; to: string } {
	const width = (r.to - r.from) * 2;
	const middle = (r.from + r.to) / 2;
	if (middle + width / 2 >= now)
		return { from: backFrom(width), to: "now" };
	return { from: String(Math.round(middle - width / 2)), to: String(Math.round(middle + width / 2)) };
}

const STEPS_S = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/** Seconds for one step of a time line with about @wanted of them. */
export function stepFor(r: Range, wanted: number): number {
	const least = (r.to - r.from) / 1000 / wanted;
	return STEPS_S.find((s) => s >= least) ?? STEPS_S[STEPS_S.length - 1];
}

const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const DATE_YEAR = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

export function timeText(ms: number, seconds = false): string {
	return new Date(ms).toLocaleTimeString(undefined, {
		hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}), hour12: false,
	});
}

export function momentText(ms: number): string {
	return `${DATE.format(ms)}, ${timeText(ms, true)}`;
}

/** What stands on the button that chooses the range. */
export function rangeText(from: string, to: string, now: number): string {
	const preset = PRESETS.find(([back]) => back === from);
	if (to === "now" && preset)
		return preset[1];
	if (to === "now" && from.startsWith("now-"))
		return `Last ${from.slice(4)}`;
	const r = rangeOf(from, to, now);
	const short = r.to - r.from < 10 * 60e3;
	const day = (ms: number) => DATE_YEAR.format(ms);
	const same = day(r.from) === day(r.to);
	const first = same && day(r.from) === day(now) ? "" : `${DATE.format(r.from)}, `;
	return `${first}${timeText(r.from, short)} – ${same ? "" : `${DATE.format(r.to)}, `}${timeText(r.to, short)}`;
}

/** For <input type=datetime-local>, in the reader's own time zone. */
export function toLocalInput(ms: number): string {
	const d = new Date(ms - new Date(ms).getTimezoneOffset() * 60e3);
	return d.toISOString().slice(0, 19);
}

export function fromLocalInput(text: string): number {
	return new Date(text).getTime();
}
