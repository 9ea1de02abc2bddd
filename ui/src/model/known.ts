// SPDX-License-Identifier: Apache-2.0
//
// A tree that was cut knows too little of the functions in what was cut: here
// come the sums of all functions, as the server has them, beside the tree.

import { textKey } from "./hash";
import { OTHER } from "./graft";
import type { Profile } from "./profile";
import type { Usage } from "./table";
import { joinFunctions, type Functions } from "./tree";

export interface KnownFunction {
	name: string;
	binary: string;
	file: string;
	kind: string;
	self: number;
	total: number;
}

export function isCut(p: Profile): boolean {
	return p.functions.kind.includes(OTHER);
}

function functionsOf(rows: KnownFunction[]): Functions {
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

/** @p with all functions of @rows, and what each uses. */
export function withFunctions(p: Profile, rows: KnownFunction[]): { profile: Profile; usage: Usage } {
	const [functions, to] = joinFunctions(p.functions, functionsOf(rows));
	const usage = { self: new Float64Array(functions.n), total: new Float64Array(functions.n) };
	rows.forEach((r, i) => {
		usage.self[to[i]] += r.self;
		usage.total[to[i]] += r.total;
	});
	return { profile: { ...p, functions }, usage };
}

/** What is under the only child of the root, which becomes the root: one half of a sandwich. */
export function halfOf(p: Profile): Profile {
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
