// SPDX-License-Identifier: Apache-2.0
//
// Stacks the series of a timeline: each is drawn on top of the sum of those
// before it. The series that the server omitted are drawn together as one more
// on top.

import { formatBytes, formatNumber } from "./format";
import { isOffCpu } from "./idle";
import { unitOf } from "./profile_types";

export interface Series {
	name: string;
	points: [number, number][];
}

export interface StackedSeries {
	name: string;
	/** The series' own value at each time; null where nothing was recorded in any series. */
	value: (number | null)[];
	/** The upper edge of the series. */
	top: (number | null)[];
	sum: number;
	/** True for the sum of all series that the server omitted. */
	isRemainder: boolean;
}

export interface StackedTimeline {
	/** Milliseconds since 1970, one step apart. */
	times: number[];
	series: StackedSeries[];
}

/**
 * Stacks @lines. @total is the sum of all series, including those not in @lines. @from and
 * @to are multiples of @stepMs. All values are multiplied by @factor.
 */
export function stackSeries(lines: Series[], total: [number, number][], from: number, to: number,
	stepMs: number, factor: number): StackedTimeline {
	const n = Math.max(1, Math.round((to - from) / stepMs) + 1);
	const times = Array.from({ length: n }, (_, i) => from + i * stepMs);
	const at = (ms: number) => Math.round((ms - from) / stepMs);
	const all: (number | null)[] = new Array(n).fill(null);
	for (const [ms, v] of total)
		if (at(ms) >= 0 && at(ms) < n)
			all[at(ms)] = v * factor;
	const below: number[] = new Array(n).fill(0);
	const out: StackedSeries[] = [];
	const push = (name: string, own: number[], rest: boolean) => {
		const value = own.map((v, i) => (all[i] === null ? null : v));
		own.forEach((v, i) => (below[i] += v));
		out.push({
			name, value, isRemainder: rest,
			top: below.map((v, i) => (all[i] === null ? null : v)),
			sum: own.reduce((a, b) => a + b, 0),
		});
	};
	for (const line of lines) {
		const own: number[] = new Array(n).fill(0);
		for (const [ms, v] of line.points)
			if (at(ms) >= 0 && at(ms) < n)
				own[at(ms)] += v * factor;
		push(line.name, own, false);
	}
	const remainder = all.map((v, i) => Math.max(0, (v ?? 0) - below[i]));
	const sum = remainder.reduce((a, b) => a + b, 0);
	if (sum > 1e-6 * all.reduce<number>((a, b) => a + (b ?? 0), 0))
		push("other", remainder, true);
	return { times, series: out };
}

export const SERIES_COLOURS = [
	"#4c9be8", "#f0a040", "#3fbf94", "#e58fbc", "#d9c93a",
	"#8d7fe0", "#e06c5a", "#56c5d0", "#a3b86c", "#b98b5e",
];
export const REMAINDER_COLOUR = "#9aa0aa";

/** Returns a function that assigns colours to series. A series keeps its colour in a live graph as others come and go. */
export function createSeriesColours(): (name: string, rest: boolean) => string {
	const known = new Map<string, number>();
	return (name, rest) => {
		if (rest)
			return REMAINDER_COLOUR;
		let i = known.get(name);
		if (i === undefined) {
			i = known.size;
			known.set(name, i);
		}
		return SERIES_COLOURS[i % SERIES_COLOURS.length];
	};
}

/** Returns the factor from a profile's unit to a rate per second, and how the rate is formatted. */
export function rateUnit(type: string): { factor: number; text: (v: number) => string; axis: string } {
	const unit = unitOf(type);
	if (unit === "nanoseconds" && isOffCpu(type))
		return { factor: 1e-9, text: (v) => `${formatNumber(v)} ${v === 1 ? "thread" : "threads"} waiting`, axis: "threads waiting" };
	if (unit === "nanoseconds")
		return { factor: 1e-9, text: (v) => `${formatNumber(v)} ${v === 1 ? "core" : "cores"}`, axis: "cores" };
	if (unit === "bytes")
		return { factor: 1, text: (v) => `${formatBytes(v)}/s`, axis: "bytes/s" };
	return { factor: 1, text: (v) => `${formatNumber(v)}/s`, axis: "per second" };
}
