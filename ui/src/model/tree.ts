// SPDX-License-Identifier: Apache-2.0
//
// A call tree in flat arrays. Node 0 is the root, which represents all samples
// and has no function, except in the sandwich view. The index of a parent is
// smaller than those of its children. Every transformation (inverted, sandwich,
// collapsed, hidden) yields another tree of this type, so that layout, search
// and painting handle one type only.

import { textKey } from "./hash";

/** The functions of a profile, as columns; a function's id is its index. */
export interface Functions {
	n: number;
	name: string[];
	kind: string[];
	file: string[];
	binary: string[];
	/** The smallest and largest line that occurs; 0 if unknown. */
	lineMin: Int32Array;
	lineMax: Int32Array;
	/** 1 if every frame of the function was inlined into its caller. */
	inlined: Uint8Array;
	/** A key that is stable across profiles, by which URLs refer to the function. */
	key: string[];
}

/** Merges two lists of functions by key. Also returns the new id of each function of @b; those of @a keep theirs. */
export function joinFunctions(a: Functions, b: Functions): [Functions, Int32Array] {
	const ids = new Map(a.key.map((k, i) => [k, i]));
	const added: number[] = [];
	const to = Int32Array.from(b.key, (k, i) => {
		const id = ids.get(k);
		if (id !== undefined)
			return id;
		added.push(i);
		return a.n + added.length - 1;
	});
	const text = (of: "name" | "kind" | "file" | "binary" | "key") => [...a[of], ...added.map((i) => b[of][i])];
	return [{
		n: a.n + added.length,
		name: text("name"),
		kind: text("kind"),
		file: text("file"),
		binary: text("binary"),
		key: text("key"),
		lineMin: Int32Array.from([...a.lineMin, ...added.map((i) => b.lineMin[i])]),
		lineMax: Int32Array.from([...a.lineMax, ...added.map((i) => b.lineMax[i])]),
		inlined: Uint8Array.from([...a.inlined, ...added.map((i) => b.inlined[i])]),
	}, to];
}

/** Returns pseudo-functions, of frame type "group", for label values or processes. */
export function groupFunctions(names: string[]): Functions {
	const n = names.length;
	const alike = (text: string) => new Array<string>(n).fill(text);
	return {
		n, name: names, kind: alike("group"), file: alike(""), binary: alike(""),
		lineMin: new Int32Array(n), lineMax: new Int32Array(n), inlined: new Uint8Array(n),
		key: names.map((name) => textKey(`group\0\0${name}`)),
	};
}

export interface Tree {
	n: number;
	parent: Int32Array;
	fn: Int32Array;
	self: Float64Array;
	total: Float64Array;
	depth: Int32Array;
	/** How many frames were collapsed directly above each node. */
	skipped?: Int32Array;
}

/** Computes totals from self values. Parents must precede their children. */
export function sumTotals(parent: Int32Array, self: Float64Array, n: number): Float64Array {
	const total = self.slice(0, n);
	for (let i = n - 1; i > 0; i--)
		total[parent[i]] += total[i];
	return total;
}

/** Builds a tree path by path. The same function under the same parent becomes one node. */
export class TreeBuilder {
	n = 1;
	private parent = new Int32Array(1024);
	private fn = new Int32Array(1024);
	private self = new Float64Array(1024);
	private depth = new Int32Array(1024);
	private slots = new Int32Array(4096); // hash table with open addressing; 0 marks a free slot, since node 0 is not a child of any node

	constructor() {
		this.parent[0] = -1;
		this.fn[0] = -1;
	}

	/** Returns the child of @parent for @fn, which is added if it does not exist. */
	child(parent: number, fn: number): number {
		const mask = this.slots.length - 1;
		let at = hashPair(parent, fn) & mask;
		for (;;) {
			const id = this.slots[at];
			if (id === 0)
				break;
			if (this.parent[id] === parent && this.fn[id] === fn)
				return id;
			at = (at + 1) & mask;
		}
		return this.add(parent, fn, at);
	}

	addSelf(node: number, value: number): void {
		this.self[node] += value;
	}

	/** @rootFn: the function that the root is, where all of the tree is one function's. */
	finish(rootFn = -1): Tree {
		const n = this.n;
		this.fn[0] = rootFn;
		const parent = this.parent.slice(0, n);
		const self = this.self.slice(0, n);
		return {
			n,
			parent,
			fn: this.fn.slice(0, n),
			self,
			total: sumTotals(parent, self, n),
			depth: this.depth.slice(0, n),
		};
	}

	private add(parent: number, fn: number, at: number): number {
		const id = this.n++;
		if (id >= this.parent.length)
			this.grow();
		this.parent[id] = parent;
		this.fn[id] = fn;
		this.depth[id] = this.depth[parent] + 1;
		this.slots[at] = id;
		if (this.n * 2 > this.slots.length)
			this.rehash();
		return id;
	}

	private grow(): void {
		const cap = this.parent.length * 2;
		this.parent = copyInto(this.parent, new Int32Array(cap));
		this.fn = copyInto(this.fn, new Int32Array(cap));
		this.self = copyInto(this.self, new Float64Array(cap));
		this.depth = copyInto(this.depth, new Int32Array(cap));
	}

	private rehash(): void {
		const slots = new Int32Array(this.slots.length * 2);
		const mask = slots.length - 1;
		for (let id = 1; id < this.n; id++) {
			let at = hashPair(this.parent[id], this.fn[id]) & mask;
			while (slots[at] !== 0)
				at = (at + 1) & mask;
			slots[at] = id;
		}
		this.slots = slots;
	}
}

function hashPair(a: number, b: number): number {
	let h = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b);
	h ^= h >>> 15;
	h = Math.imul(h, 0x2c1b3c6d);
	return (h ^ (h >>> 13)) >>> 0;
}

function copyInto<T extends Int32Array | Float64Array>(from: T, to: T): T {
	to.set(from);
	return to;
}

/** The first child and the next sibling of every node, or -1. Children are in index order. */
export interface Links {
	first: Int32Array;
	next: Int32Array;
}

export function linkChildren(t: Tree): Links {
	const first = new Int32Array(t.n).fill(-1);
	const next = new Int32Array(t.n).fill(-1);
	for (let i = t.n - 1; i > 0; i--) {
		next[i] = first[t.parent[i]];
		first[t.parent[i]] = i;
	}
	return { first, next };
}

/** Traverses all nodes except the root: @enter is called before a node's children, @leave after them. */
export function walk(t: Tree, enter: (node: number) => void, leave: (node: number) => void): void {
	const { first, next } = linkChildren(t);
	let node = first[0];
	while (node > 0) {
		enter(node);
		if (first[node] >= 0) {
			node = first[node];
			continue;
		}
		while (node > 0 && next[node] < 0) {
			leave(node);
			node = t.parent[node];
		}
		if (node <= 0)
			return;
		leave(node);
		node = next[node];
	}
}

/** Returns the functions from the root to @node, without a root that has none. */
export function pathOf(t: Tree, node: number): number[] {
	const path: number[] = [];
	for (let i = node; i >= 0 && t.fn[i] >= 0; i = t.parent[i])
		path.push(t.fn[i]);
	return path.reverse();
}

/** Returns the nodes from the root to @node, both included. */
export function ancestors(t: Tree, node: number): number[] {
	const path: number[] = [];
	for (let i = node; i >= 0; i = t.parent[i])
		path.push(i);
	return path.reverse();
}
