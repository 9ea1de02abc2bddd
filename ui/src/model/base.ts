// SPDX-License-Identifier: Apache-2.0
//
// The baseline of a comparison: the time range that another one is compared with.

import { parseEnd, type Range } from "./range";

const DAY_MS = 86400e3;

export interface BaseSettings {
	base: "before" | "day" | "week" | "same" | "custom";
	baseFrom: string;
	baseTo: string;
}

/** Returns the baseline of @r. A custom range that is invalid falls back to the period before @r. */
export function baseRange(c: BaseSettings, r: Range, now: number): Range {
	const back = (ms: number) => ({ from: r.from - ms, to: r.to - ms });
	if (c.base === "day")
		return back(DAY_MS);
	if (c.base === "week")
		return back(7 * DAY_MS);
	if (c.base === "same")
		return r;
	if (c.base === "custom") {
		const [from, to] = [parseEnd(c.baseFrom, now), parseEnd(c.baseTo, now)];
		if (from < to)
			return { from, to };
	}
	return { from: r.from - (r.to - r.from), to: r.from };
}

/** Returns the range that covers both, or @r alone where it would be too narrow within both to be seen. */
export function unionRange(r: Range, base: Range): Range {
	const both = { from: Math.min(r.from, base.from), to: Math.max(r.to, base.to) };
	return both.to - both.from <= 8 * (r.to - r.from) ? both : r;
}
