// SPDX-License-Identifier: Apache-2.0
//
// The table of functions, with their self and total values.

import { walk, type Functions, type Tree } from "./tree";

/** Values by function id. */
export interface Usage {
	self: Float64Array;
	/** A sample that contains the function several times counts once. */
	total: Float64Array;
}

export function usageOf(t: Tree, nFunctions: number): Usage {
	const self = new Float64Array(nFunctions);
	const total = new Float64Array(nFunctions);
	const open = new Int32Array(nFunctions);
	walk(t, (i) => {
		self[t.fn[i]] += t.self[i];
		if (open[t.fn[i]]++ === 0)
			total[t.fn[i]] += t.total[i];
	}, (i) => {
		open[t.fn[i]]--;
	});
	return { self, total };
}

export const SORTS = ["self", "total", "name"] as const;
export type Sort = (typeof SORTS)[number];

/** Returns the ids of the functions that occur and whose name, file or binary contains @filter, sorted. */
export function tableRows(fns: Functions, use: Usage, sort: Sort, up: boolean, filter: string): number[] {
	const needle = filter.toLowerCase();
	const matches = (text: string) => text.toLowerCase().includes(needle);
	const rows: number[] = [];
	for (let i = 0; i < fns.n; i++)
		if (use.total[i] > 0 && (matches(fns.name[i]) || matches(fns.file[i]) || matches(fns.binary[i])))
			rows.push(i);
	const byName = (a: number, b: number) =>
		fns.name[a] < fns.name[b] ? -1 : fns.name[a] > fns.name[b] ? 1 : a - b;
	const other = sort === "self" ? use.total : use.self;
	rows.sort((a, b) => {
		if (sort === "name")
			return up ? byName(a, b) : byName(b, a);
		const by = use[sort][a] - use[sort][b];
		return (up ? by : -by) || other[b] - other[a] || byName(a, b);
	});
	return rows;
}
