// SPDX-License-Identifier: Apache-2.0
//
// Trees made from a tree: callers, sandwich, recursion folded, functions
// hidden or focused. Each keeps the sum of all samples it speaks of.

import { outermost } from "./search";
import { TreeBuilder, type Tree } from "./tree";

/** Each sample's path turned round: under the root are the leaves, above them their callers. */
export function invert(t: Tree): Tree {
	const b = new TreeBuilder();
	b.addSelf(0, t.self[0]);
	for (let i = 1; i < t.n; i++)
		if (t.self[i] > 0)
			addCallers(b, t, i, t.self[i]);
	return b.finish();
}

function addCallers(b: TreeBuilder, t: Tree, node: number, value: number): void {
	let at = 0;
	for (let i = node; i > 0; i = t.parent[i])
		at = b.child(at, t.fn[i]);
	b.addSelf(at, value);
}

function only(fn: number, n: number): Uint8Array {
	const set = new Uint8Array(n);
	set[fn] = 1;
	return set;
}

/** What @fn was called by: the root is @fn, under it are its callers, and so on. */
export function callersOf(t: Tree, fn: number, nFunctions: number): Tree {
	const b = new TreeBuilder();
	for (const node of outermost(t, only(fn, nFunctions)))
		addCallers(b, t, t.parent[node], t.total[node]);
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
