// SPDX-License-Identifier: Apache-2.0
//
// What a range is compared with.

import { parseEnd, type Range } from "./range";

const DAY_MS = 86400e3;

export interface BaseChoice {
	base: "before" | "day" | "week" | "same" | "custom";
	baseFrom: string;
	baseTo: string;
}

/** The range of the base; a choice that is no range is the time just before. */
export function baseRange(c: BaseChoice, r: Range, now: number): Range {
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

/** Both ranges in one, or only @r where that would leave nothing of it to be seen. */
export function rangeOfBoth(r: Range, base: Range): Range {
	const both = { from: Math.min(r.from, base.from), to: Math.max(r.to, base.to) };
	return both.to - both.from <= 8 * (r.to - r.from) ? both : r;
}
