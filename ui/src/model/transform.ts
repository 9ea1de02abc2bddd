// SPDX-License-Identifier: Apache-2.0
//
// Transforms call trees: inversion, sandwich view, collapsing, hiding and
// focusing. Every transformation preserves the value of the samples it keeps.

import { outermost } from "./search";
import { TreeBuilder, type Tree } from "./tree";

/** The detail of an inverted tree: nodes with a value below @floor, or below @fine under @path, are pruned. */
export interface Detail {
	floor: number;
	fine: number;
	/** The functions from the root to the zoomed node. */
	path: number[];
}

const ALL: Detail = { floor: 0, fine: 0, path: [] };

/** Inverts the stacks: the children of the root are the leaf functions, their children the callers. */
export function invert(t: Tree, detail: Detail = ALL): Tree {
	const b = new TreeBuilder();
	const from: number[] = [];
	const value: number[] = [];
	b.addSelf(0, t.self[0]);
	for (let i = 1; i < t.n; i++)
		if (t.self[i] > 0) {
			from.push(i);
			value.push(t.self[i]);
		}
	addCallers(b, t, from, value, detail);
	return b.finish();
}

/* Stacks with equal callers so far; @from[first..end) are the nodes at which each continues. */
interface CallerGroup {
	node: number;
	first: number;
	end: number;
	/** How many functions of the zoomed path were matched; -1 if the stacks left it. */
	onPath: number;
}

/*
 * Stacks are split one caller at a time, and a group that is too narrow to be visible is
 * pruned before its callers are examined. The cost of inverting a tree with a million callers
 * therefore depends on what can be drawn of it. The value of pruned stacks stays in their
 * parent's value.
 */
function addCallers(b: TreeBuilder, t: Tree, from: number[], value: number[], d: Detail): void {
	const node = Int32Array.from(from);
	const weight = Float64Array.from(value);
	const [nodeCopy, weightCopy] = [node.slice(), weight.slice()];
	const runs: CallerGroup[] = [{ node: 0, first: 0, end: node.length, onPath: 0 }];
	for (let run = runs.pop(); run; run = runs.pop()) {
		const groups = new Map<number, { sum: number; n: number; next: number }>();
		for (let i = run.first; i < run.end; i++) {
			if (node[i] <= 0) {
				b.addSelf(run.node, weight[i]);
				continue;
			}
			const g = groups.get(t.fn[node[i]]);
			if (g) {
				g.sum += weight[i];
				g.n++;
			} else {
				groups.set(t.fn[node[i]], { sum: weight[i], n: 1, next: 0 });
			}
		}
		let first = run.first;
		for (const g of groups.values()) {
			g.next = first;
			first += g.n;
		}
		for (let i = run.first; i < run.end; i++) {
			if (node[i] <= 0)
				continue;
			const g = groups.get(t.fn[node[i]])!;
			nodeCopy[g.next] = t.parent[node[i]];
			weightCopy[g.next++] = weight[i];
		}
		node.set(nodeCopy.subarray(run.first, first), run.first);
		weight.set(weightCopy.subarray(run.first, first), run.first);
		for (const [fn, g] of groups) {
			const inside = run.onPath >= d.path.length;
			const onPath = run.onPath >= 0 && (inside || d.path[run.onPath] === fn) ? run.onPath + 1 : -1;
			const floor = onPath < 0 ? d.floor : inside ? d.fine : 0;
			if (g.sum < floor) {
				b.addSelf(run.node, g.sum);
				continue;
			}
			runs.push({ node: b.child(run.node, fn), first: g.next - g.n, end: g.next, onPath });
		}
	}
}

/** Nodes below 1/MAX_DETAIL of the total are too narrow for any screen. */
export const MAX_DETAIL = 20_000;

function singleton(fn: number, n: number): Uint8Array {
	const set = new Uint8Array(n);
	set[fn] = 1;
	return set;
}

/** Returns the tree of the callers of @fn. The root is @fn. */
export function callersOf(t: Tree, fn: number, nFunctions: number): Tree {
	const b = new TreeBuilder();
	const nodes = outermost(t, singleton(fn, nFunctions));
	const value = nodes.map((node) => t.total[node]);
	const floor = value.reduce((a, v) => a + v, 0) / MAX_DETAIL;
	addCallers(b, t, nodes.map((node) => t.parent[node]), value, { floor, fine: floor, path: [] });
	return b.finish(fn);
}

/** Returns the tree of the callees of @fn, merged from all nodes of @fn. The root is @fn. */
export function calleesOf(t: Tree, fn: number): Tree {
	const b = new TreeBuilder();
	const to = new Int32Array(t.n).fill(-1);
	for (let i = 1; i < t.n; i++) {
		if (to[t.parent[i]] >= 0)
			to[i] = b.child(to[t.parent[i]], t.fn[i]);
		else if (t.fn[i] === fn)
			to[i] = 0;
		if (to[i] >= 0)
			b.addSelf(to[i], t.self[i]);
	}
	return b.finish(fn);
}

/** Merges direct and indirect recursive calls of a function into one node; the frames between them are dropped. */
export function collapseRecursion(t: Tree): Tree {
	const b = new TreeBuilder();
	const to = new Int32Array(t.n);
	const chain = new Int32Array(t.n); // parents in the new tree, to look for the function among them
	const fns = [-1];
	b.addSelf(0, t.self[0]);
	for (let i = 1; i < t.n; i++) {
		let at = to[t.parent[i]];
		while (at > 0 && fns[at] !== t.fn[i])
			at = chain[at];
		if (at === 0) {
			at = b.child(to[t.parent[i]], t.fn[i]);
			chain[at] = to[t.parent[i]];
			fns[at] = t.fn[i];
		}
		to[i] = at;
		b.addSelf(at, t.self[i]);
	}
	return b.finish();
}

/** A caller is a wrapper if at least this share of its value is in one callee. */
const WRAPPED = 0.99;

/**
 * Collapses chains of wrappers, that is functions that only call the next one, to the first
 * and the last. The last has the number of collapsed frames in @skipped.
 */
export function collapseWrappers(t: Tree): Tree {
	const b = new TreeBuilder();
	const only = new Int32Array(t.n).fill(-1); // the child that has nearly all of a node's value
	for (let i = 1; i < t.n; i++)
		if (t.total[i] >= WRAPPED * t.total[t.parent[i]])
			only[t.parent[i]] = i;
	const to = new Int32Array(t.n);
	const run = new Int32Array(t.n); // wrappers collapsed directly above
	const skipped: number[] = [0];
	b.addSelf(0, t.self[0]);
	for (let i = 1; i < t.n; i++) {
		const p = t.parent[i];
		if (p > 0 && only[p] === i && only[i] >= 0) {
			run[i] = run[p] + 1;
			to[i] = to[p];
		} else {
			to[i] = b.child(to[p], t.fn[i]);
			skipped[to[i]] = Math.max(skipped[to[i]] ?? 0, only[p] === i ? run[p] : 0);
		}
		b.addSelf(to[i], t.self[i]);
	}
	const out = b.finish();
	return { ...out, skipped: Int32Array.from(skipped) };
}

/** Removes the frames of the functions in @set; their callees become children of their callers. */
export function hide(t: Tree, set: Uint8Array): Tree {
	const b = new TreeBuilder();
	const to = new Int32Array(t.n);
	b.addSelf(0, t.self[0]);
	for (let i = 1; i < t.n; i++) {
		const p = to[t.parent[i]];
		to[i] = set[t.fn[i]] ? p : b.child(p, t.fn[i]);
		b.addSelf(to[i], t.self[i]);
	}
	return b.finish();
}

/** Keeps only samples whose stacks contain no excluded node. */
export function exclude(t: Tree, isExcluded: (node: number) => boolean): Tree {
	const b = new TreeBuilder();
	const to = new Int32Array(t.n).fill(-1);
	to[0] = 0;
	b.addSelf(0, t.self[0]);
	for (let i = 1; i < t.n; i++) {
		if (to[t.parent[i]] < 0 || isExcluded(i))
			continue;
		to[i] = b.child(to[t.parent[i]], t.fn[i]);
		b.addSelf(to[i], t.self[i]);
	}
	return b.finish();
}

/** Keeps only samples that contain a function of @set, with their complete stacks. */
export function focus(t: Tree, set: Uint8Array): Tree {
	const b = new TreeBuilder();
	const passes = new Uint8Array(t.n);
	const leads = new Uint8Array(t.n);
	for (let i = 1; i < t.n; i++)
		passes[i] = passes[t.parent[i]] || set[t.fn[i]] ? 1 : 0;
	for (let i = t.n - 1; i > 0; i--)
		if (passes[i] || leads[i])
			leads[i] = leads[t.parent[i]] = 1;
	const to = new Int32Array(t.n);
	for (let i = 1; i < t.n; i++) {
		if (!leads[i])
			continue;
		to[i] = b.child(to[t.parent[i]], t.fn[i]);
		if (passes[i])
			b.addSelf(to[i], t.self[i]);
	}
	return b.finish();
}
