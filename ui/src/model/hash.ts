// SPDX-License-Identifier: Apache-2.0
//
// Computes short keys of functions and of nodes that are the same in other
// profiles of the same program, so that URLs can refer to them. A key is a
// pair of 32-bit hashes; those of a node derive from its parent's hashes and
// from the key of its function.

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

function formatKey(a: number, b: number): string {
	return a.toString(36) + "-" + b.toString(36);
}

export function textKey(text: string): string {
	return formatKey(hashText(text, SEEDS[0]), hashText(text, SEEDS[1]));
}

/** Returns the key of the node at @path, which lists function keys from the root. */
export function pathKey(path: string[]): string {
	const end = (seed: number) => path.reduce((h, key) => hashStep(h, hashText(key, seed)), seed);
	return formatKey(end(SEEDS[0]), end(SEEDS[1]));
}

/** Returns the node with the key @key, or -1. @keys are the keys of the functions. */
export function findPath(t: Tree, keys: string[], key: string): number {
	const [a, b] = SEEDS.map((seed) => {
		const fns = Uint32Array.from(keys, (k) => hashText(k, seed));
		const at = new Uint32Array(t.n);
		at[0] = seed;
		for (let i = 1; i < t.n; i++)
			at[i] = hashStep(at[t.parent[i]], fns[t.fn[i]]);
		return at;
	});
	const target = key.split("-").map((half) => parseInt(half, 36));
	for (let i = 1; i < t.n; i++)
		if (a[i] === target[0] && b[i] === target[1])
			return i;
	return -1;
}
