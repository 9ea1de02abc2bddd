// SPDX-License-Identifier: Apache-2.0
//
// A tree of calls in flat arrays. Node 0 is the root, which stands for all
// samples and has no function (but in a sandwich); every parent has a smaller index than its
// children. Every view (callers, sandwich, collapsed, hidden...) is another
// tree of this kind, so layout, search and painting know only this one.

import { textKey } from "./hash";

/** What runs in a frame; the functions of a profile, as columns. */
export interface Functions {
	n: number;
	name: string[];
	kind: string[];
	file: string[];
	binary: string[];
	/** Smallest and largest line seen, 0 when not known. */
	lineMin: Int32Array;
	lineMax: Int32Array;
	/** 1: every frame of it was inlined into its caller. */
	inlined: Uint8Array;
	/** Stable across profiles: what a URL says to name the function. */
	key: string[];
}

/** The functions of both, by key, and where those of @b are among them. */
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

/** Functions that are none: values of a label, processes. */
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
	/** How many functions were left out right above a node. */
	skipped?: Int32Array;
}

/** Adds up self values from the leaves; relies on parent < child. */
export function sumTotals(parent: Int32Array, self: Float64Array, n: number): Float64Array {
	const total = self.slice(0, n);
	for (let i = n - 1; i > 0; i--)
		total[parent[i]] += total[i];
	return total;
}

/** Builds a tree a path at a time; the same function under the same parent is one node. */
export class TreeBuilder {
	n = 1;
	private parent = new Int32Array(1024);
	private fn = new Int32Array(1024);
	private self = new Float64Array(1024);
	private depth = new Int32Array(1024);
	private slots = new Int32Array(4096); // open addressing; 0 is free, as no child is node 0

	constructor() {
		this.parent[0] = -1;
		this.fn[0] = -1;
	}

	/** The child of @parent for @fn, added if there is none. */
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
		this.parent = grown(this.parent, new Int32Array(cap));
		this.fn = grown(this.fn, new Int32Array(cap));
		this.self = grown(this.self, new Float64Array(cap));
		this.depth = grown(this.depth, new Int32Array(cap));
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

function grown<T extends Int32Array | Float64Array>(from: T, to: T): T {
	to.set(from);
	return to;
}

/** First child and next sibling of every node, -1 for none; children in index order. */
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

/** Visits every node but the root, parents first, and calls @leave on the way back. */
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

/** The functions from the root down to @node; a root that is no function is left out. */
export function pathOf(t: Tree, node: number): number[] {
	const path: number[] = [];
	for (let i = node; i >= 0 && t.fn[i] >= 0; i = t.parent[i])
		path.push(t.fn[i]);
	return path.reverse();
}

/** The nodes from the root down to @node, both included. */
export function ancestors(t: Tree, node: number): number[] {
	const path: number[] = [];
	for (let i = node; i >= 0; i = t.parent[i])
		path.push(i);
	return path.reverse();
}
