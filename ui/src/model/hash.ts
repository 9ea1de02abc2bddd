// SPDX-License-Identifier: Apache-2.0
//
// Short stable names for functions and for places in the tree, so that a URL
// finds them again in another profile of the same program. A name is two
// hashes of 32 bits; a place's come from its parent's and its function's.

import type { Tree } from "./tree";

const SEEDS = [0x811c9dc5, 0x1b873593];

function hashText(text: string, seed: number): number {
	let h = seed;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	return Math.imul(h ^ (h >>> 16), 0x45d9f3b) >>> 0;
}

function hashStep(parent: number, fn: number): number {
	const h = Math.imul(parent ^ (parent >>> 15), 0x2c1b3c6d) ^ fn;
	return Math.imul(h ^ (h >>> 16), 0x45d9f3b) >>> 0;
}

function named(a: number, b: number): string {
	return a.toString(36) + "-" + b.toString(36);
}

export function textKey(text: string): string {
	return named(hashText(text, SEEDS[0]), hashText(text, SEEDS[1]));
}

/** The key of the place that @path (function keys from the root) leads to. */
export function pathKey(path: string[]): string {
	const end = (seed: number) => path.reduce((h, key) => hashStep(h, hashText(key, seed)), seed);
	return named(end(SEEDS[0]), end(SEEDS[1]));
}

/** The node that @key names, or -1; @keys are the functions' keys. */
export function findPath(t: Tree, keys: string[], key: string): number {
	const [a, b] = SEEDS.map((seed) => {
		const fns = Uint32Array.from(keys, (k) => hashText(k, seed));
		const at = new Uint32Array(t.n);
		at[0] = seed;
		for (let i = 1; i < t.n; i++)
			at[i] = hashStep(at[t.parent[i]], fns[t.fn[i]]);
		return at;
	});
	const wanted = key.split("-").map((half) => parseInt(half, 36));
	for (let i = 1; i < t.n; i++)
		if (a[i] === wanted[0] && b[i] === wanted[1])
			return i;
	return -1;
}
