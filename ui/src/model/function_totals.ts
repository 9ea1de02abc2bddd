// SPDX-License-Identifier: Apache-2.0
//
// Adds the totals of all functions to a truncated profile. The tree alone
// lacks the functions in its truncated parts; the server reports them in a
// separate list.

import { TRUNCATED_KIND } from "./expand";
import { textKey } from "./hash";
import type { Profile } from "./profile";
import type { Usage } from "./table";
import { joinFunctions, type Functions } from "./tree";

export interface FunctionTotals {
	name: string;
	binary: string;
	file: string;
	kind: string;
	self: number;
	total: number;
}

export function isTruncated(p: Profile): boolean {
	return p.functions.kind.includes(TRUNCATED_KIND);
}

function functionsOf(rows: FunctionTotals[]): Functions {
	return {
		n: rows.length,
		name: rows.map((r) => r.name),
		kind: rows.map((r) => r.kind),
		file: rows.map((r) => r.file),
		binary: rows.map((r) => r.binary),
		lineMin: new Int32Array(rows.length),
		lineMax: new Int32Array(rows.length),
		inlined: new Uint8Array(rows.length),
		key: rows.map((r) => textKey([r.kind, r.binary, r.name].join("\0"))),
	};
}

/** Returns @p with all functions of @rows added, and the usage of each function. */
export function withFunctionTotals(p: Profile, rows: FunctionTotals[]): { profile: Profile; usage: Usage } {
	const [functions, to] = joinFunctions(p.functions, functionsOf(rows));
	const usage = { self: new Float64Array(functions.n), total: new Float64Array(functions.n) };
	rows.forEach((r, i) => {
		usage.self[to[i]] += r.self;
		usage.total[to[i]] += r.total;
	});
	return { profile: { ...p, functions }, usage };
}

/** Makes the only child of the root the root. The server sends each half of a sandwich view with such a root. */
export function dropRoot(p: Profile): Profile {
	const { tree } = p;
	if (tree.n < 2)
		return p;
	const shift = (a: Int32Array, by: number) => a.slice(1).map((v) => v - by);
	return {
		...p,
		tree: {
			n: tree.n - 1,
			parent: shift(tree.parent, 1),
			fn: tree.fn.slice(1),
			self: tree.self.slice(1),
			total: tree.total.slice(1),
			depth: shift(tree.depth, 1),
		},
	};
}
