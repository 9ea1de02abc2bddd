// SPDX-License-Identifier: Apache-2.0
//
// Merges two profiles into one tree. The width of a node is the sum of its
// values in both profiles, so that frames which disappeared stay visible; its
// change ranges from -1 (present only before) to 1 (present only after). In
// relative mode each profile is scaled to a total of 1, so that recordings of
// different lengths can be compared; absolute mode compares recorded values.

import { joinFunctions, sumTotals, TreeBuilder, type Functions, type Tree } from "./tree";

export interface Side {
	tree: Tree;
	functions: Functions;
}

export interface Diff {
	tree: Tree;
	functions: Functions;
	/** The total of each node, including its callees. */
	before: Float64Array;
	after: Float64Array;
	change: Float64Array;
}

/** See the head of this file. */
export type DiffMode = "relative" | "absolute";

/* Adds the nodes of @t to @b. Returns the new index of each node; @fn maps its function ids. */
function mapNodes(b: TreeBuilder, t: Tree, fn: (id: number) => number): Int32Array {
	const at = new Int32Array(t.n);
	for (let i = 1; i < t.n; i++)
		at[i] = b.child(at[t.parent[i]], fn(t.fn[i]));
	return at;
}

function totals(parent: Int32Array, n: number, t: Tree, at: Int32Array, scale: number): Float64Array {
	const self = new Float64Array(n);
	for (let i = 0; i < t.n; i++)
		self[at[i]] += t.self[i] * scale;
	return sumTotals(parent, self, n);
}

export function diffTrees(a: Side, b: Side, mode: DiffMode): Diff {
	const [functions, to] = joinFunctions(a.functions, b.functions);
	const builder = new TreeBuilder();
	const atA = mapNodes(builder, a.tree, (fn) => fn);
	const atB = mapNodes(builder, b.tree, (fn) => to[fn]);
	const tree = builder.finish();
	const unit = (t: Tree) => (mode === "relative" && t.total[0] > 0 ? 1 / t.total[0] : 1);
	const before = totals(tree.parent, tree.n, a.tree, atA, unit(a.tree));
	const after = totals(tree.parent, tree.n, b.tree, atB, unit(b.tree));
	const change = new Float64Array(tree.n);
	for (let i = 0; i < tree.n; i++) {
		const both = before[i] + after[i];
		tree.total[i] = both;
		change[i] = both > 0 ? (after[i] - before[i]) / both : 0;
	}
	for (let i = 0; i < tree.n; i++)
		tree.self[i] = tree.total[i];
	for (let i = 1; i < tree.n; i++)
		tree.self[tree.parent[i]] -= tree.total[i];
	return { tree, functions, before, after, change };
}

export interface Mover {
	fn: number;
	before: number;
	after: number;
}

/** Returns the functions with their self values, the largest change first. */
export function movers(d: Diff): Mover[] {
	const before = new Float64Array(d.functions.n);
	const after = new Float64Array(d.functions.n);
	for (let i = 1; i < d.tree.n; i++) {
		before[d.tree.fn[i]] += d.before[i];
		after[d.tree.fn[i]] += d.after[i];
		const up = d.tree.fn[d.tree.parent[i]];
		if (up >= 0) {
			before[up] -= d.before[i];
			after[up] -= d.after[i];
		}
	}
	return Array.from(before, (_, fn) => ({ fn, before: before[fn], after: after[fn] }))
		.sort((x, y) => Math.abs(y.after - y.before) - Math.abs(x.after - x.before) || x.fn - y.fn);
}
