// SPDX-License-Identifier: Apache-2.0
//
// Short stable names for functions and for places in the tree, so that a URL
// finds them again in another profile of the same program.

import type { Tree } from "./tree";

const SEED_A = 0x811c9dc5;
const SEED_B = 0x1b873593;

function fold(text: string, from: number): number {
	let h = from;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	return h >>> 0;
}

function name(a: number, b: number): string {
	const mix = (h: number) => Math.imul(h ^ (h >>> 16), 0x45d9f3b) >>> 0;
	return mix(a).toString(36) + "-" + mix(b).toString(36);
}

/** 64 bits of @text in base 36. */
export function textKey(text: string): string {
	return name(fold(text, SEED_A), fold(text, SEED_B));
}

/** The key of the place that @path (function keys from the root) leads to. */
export function pathKey(path: string[]): string {
	return textKey(path.join("/"));
}

/** The node that @key names, or -1; @keys are the functions' keys. */
export function findPath(t: Tree, keys: string[], key: string): number {
	const a = new Uint32Array(t.n);
	const b = new Uint32Array(t.n);
	a[0] = SEED_A;
	b[0] = SEED_B;
	for (let i = 1; i < t.n; i++) {
		const p = t.parent[i];
		const text = (p === 0 ? "" : "/") + keys[t.fn[i]];
		a[i] = fold(text, a[p]);
		b[i] = fold(text, b[p]);
		if (name(a[i], b[i]) === key)
			return i;
	}
	return -1;
}
