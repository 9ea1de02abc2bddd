// SPDX-License-Identifier: Apache-2.0
//
// Trees made from a tree: callers, sandwich, recursion folded, functions
// hidden or focused. Each keeps the sum of all samples it speaks of.

import { outermost } from "./search";
import { TreeBuilder, type Tree } from "./tree";

/** How much detail a tree of callers has: nodes below @floor are left out, or below @fine under @path. */
export interface Detail {
	floor: number;
	fine: number;
	/** Functions from the root to what is zoomed. */
	path: number[];
}

const ALL: Detail = { floor: 0, fine: 0, path: [] };

/** Each sample's path turned round: under the root are the leaves, above them their callers. */
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

/* A run of paths that are alike so far: @from[first..end) are where each goes on. */
interface Run {
	node: number;
	first: number;
	end: number;
	/** How many functions of the zoomed path led here; -1: it is left. */
	onPath: number;
}

/*
 * Paths are told apart a caller at a time, so one that is too narrow to be seen is
 * dropped before any of its callers are looked at: a tree of a million callers costs
 * what can be drawn of it. What is dropped stays in its parent's value.
 */
function addCallers(b: TreeBuilder, t: Tree, from: number[], value: number[], d: Detail): void {
	const at = Int32Array.from(from);
	const worth = Float64Array.from(value);
	const [atCopy, worthCopy] = [at.slice(), worth.slice()];
	const runs: Run[] = [{ node: 0, first: 0, end: at.length, onPath: 0 }];
	for (let run = runs.pop(); run; run = runs.pop()) {
		const groups = new Map<number, { sum: number; n: number; next: number }>();
		for (let i = run.first; i < run.end; i++) {
			if (at[i] <= 0) {
				b.addSelf(run.node, worth[i]);
				continue;
			}
			const g = groups.get(t.fn[at[i]]);
			if (g) {
				g.sum += worth[i];
				g.n++;
			} else {
				groups.set(t.fn[at[i]], { sum: worth[i], n: 1, next: 0 });
			}
		}
		let first = run.first;
		for (const g of groups.values()) {
			g.next = first;
			first += g.n;
		}
		for (let i = run.first; i < run.end; i++) {
			if (at[i] <= 0)
				continue;
			const g = groups.get(t.fn[at[i]])!;
			atCopy[g.next] = t.parent[at[i]];
			worthCopy[g.next++] = worth[i];
		}
		at.set(atCopy.subarray(run.first, first), run.first);
		worth.set(worthCopy.subarray(run.first, first), run.first);
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

/** No screen shows a part this small. */
export const FINEST = 20_000;

function only(fn: number, n: number): Uint8Array {
	const set = new Uint8Array(n);
	set[fn] = 1;
	return set;
}

/** What @fn was called by: the root is @fn, under it are its callers, and so on. */
export function callersOf(t: Tree, fn: number, nFunctions: number): Tree {
	const b = new TreeBuilder();
	const nodes = outermost(t, only(fn, nFunctions));
	const value = nodes.map((node) => t.total[node]);
	const floor = value.reduce((a, v) => a + v, 0) / FINEST;
	addCallers(b, t, nodes.map((node) => t.parent[node]), value, { floor, fine: floor, path: [] });
	return b.finish(fn);
}

/** What @fn, the root, called from all its places put together. */
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

/** Calls of a function by itself, direct or through others, become one: the way in is left out. */
export function collapseRecursion(t: Tree): Tree {
	const b = new TreeBuilder();
	const to = new Int32Array(t.n);
	const chain = new Int32Array(t.n); // the new tree's own parents, to find a function above
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

/** Below this share of its caller a function is more than a wrapper of what it calls. */
const WRAPPED = 0.99;

/**
 * Chains in which each calls the next and does next to nothing else become their two
 * ends; the lower one tells how many are left out.
 */
export function collapseWrappers(t: Tree): Tree {
	const b = new TreeBuilder();
	const only = new Int32Array(t.n).fill(-1); // the child that is nearly all of a node
	for (let i = 1; i < t.n; i++)
		if (t.total[i] >= WRAPPED * t.total[t.parent[i]])
			only[t.parent[i]] = i;
	const to = new Int32Array(t.n);
	const run = new Int32Array(t.n); // wrappers left out right above
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

/** Frames of the functions in @set are left out; what they called hangs under their callers. */
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

/** Only samples that do not pass through a node that is @out. */
export function leaveOut(t: Tree, out: (node: number) => boolean): Tree {
	const b = new TreeBuilder();
	const to = new Int32Array(t.n).fill(-1);
	to[0] = 0;
	b.addSelf(0, t.self[0]);
	for (let i = 1; i < t.n; i++) {
		if (to[t.parent[i]] < 0 || out(i))
			continue;
		to[i] = b.child(to[t.parent[i]], t.fn[i]);
		b.addSelf(to[i], t.self[i]);
	}
	return b.finish();
}

/** Only samples that pass through @set, with their whole paths. */
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
