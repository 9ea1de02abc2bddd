// SPDX-License-Identifier: Apache-2.0
//
// Lines of a time line put on one another: every line is drawn over the sum
// of those before it, and what the server left out is one more line on top.

import { bytesText, round } from "./format";
import { isWaiting } from "./idle";
import { unitOf } from "./types";

export interface RawLine {
	name: string;
	points: [number, number][];
}

export interface StackedLine {
	name: string;
	/** Its own value at each time; null where nothing was recorded at all. */
	value: (number | null)[];
	/** Its upper edge. */
	top: (number | null)[];
	sum: number;
	rest: boolean;
}

export interface Stacked {
	/** Milliseconds, a step apart. */
	times: number[];
	lines: StackedLine[];
}

/** @total: of all lines, also of those not in @lines. Both ends are multiples of @stepMs. */
export function stackLines(lines: RawLine[], total: [number, number][], from: number, to: number,
	stepMs: number, factor: number): Stacked {
	const n = Math.max(1, Math.round((to - from) / stepMs) + 1);
	const times = Array.from({ length: n }, (_, i) => from + i * stepMs);
	const at = (ms: number) => Math.round((ms - from) / stepMs);
	const all: (number | null)[] = new Array(n).fill(null);
	for (const [ms, v] of total)
		if (at(ms) >= 0 && at(ms) < n)
			all[at(ms)] = v * factor;
	const below: number[] = new Array(n).fill(0);
	const out: StackedLine[] = [];
	const push = (name: string, own: number[], rest: boolean) => {
		const value = own.map((v, i) => (all[i] === null ? null : v));
		own.forEach((v, i) => (below[i] += v));
		out.push({
			name, value, rest,
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
	const left = all.map((v, i) => Math.max(0, (v ?? 0) - below[i]));
	const sum = left.reduce((a, b) => a + b, 0);
	if (sum > 1e-6 * all.reduce<number>((a, b) => a + (b ?? 0), 0))
		push("all others", left, true);
	return { times, lines: out };
}

export const LINE_COLOURS = [
	"#4c9be8", "#f0a040", "#3fbf94", "#e58fbc", "#d9c93a",
	"#8d7fe0", "#e06c5a", "#56c5d0", "#a3b86c", "#b98b5e",
];
export const REST_COLOUR = "#9aa0aa";

/** Keeps a colour for a name as long as the page is open, so that a live graph does not flicker. */
export function colourer(): (name: string, rest: boolean) => string {
	const known = new Map<string, number>();
	return (name, rest) => {
		if (rest)
			return REST_COLOUR;
		let i = known.get(name);
		if (i === undefined) {
			i = known.size;
			known.set(name, i);
		}
		return LINE_COLOURS[i % LINE_COLOURS.length];
	};
}

/** What the values of a time line are worth a second, and how that is said. */
export function rateUnit(type: string): { factor: number; text: (v: number) => string; axis: string } {
	const unit = unitOf(type);
	if (unit === "nanoseconds" && isWaiting(type))
		return { factor: 1e-9, text: (v) => `${round(v)} waiting`, axis: "threads waiting" };
	if (unit === "nanoseconds")
		return { factor: 1e-9, text: (v) => `${round(v)} ${v === 1 ? "core" : "cores"}`, axis: "cores" };
	if (unit === "bytes")
		return { factor: 1, text: (v) => `${bytesText(v)}/s`, axis: "bytes a second" };
	return { factor: 1, text: (v) => `${round(v)} /s`, axis: "a second" };
}
