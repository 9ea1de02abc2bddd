// SPDX-License-Identifier: Apache-2.0
//
// Search by text or regular expression. What matches is functions; how much
// matches is the values of the samples with at least one matching frame, each
// counted once however often it recurses.

import type { Functions, Tree } from "./tree";

export interface Query {
	text: string;
	regex: boolean;
}

export interface Found {
	/** 1 for each matching function; empty when nothing is searched. */
	functions: Uint8Array;
	/** Value of all samples that pass through a match. */
	value: number;
	/** The outermost matching nodes, largest first: what next and previous go through. */
	nodes: number[];
	/** Why the expression cannot be used, or "". */
	error: string;
}

const LONGEST_NAME = 4096;

export function nothingFound(error = ""): Found {
	return { functions: new Uint8Array(0), value: 0, nodes: [], error };
}

/** Case counts only where the query has a capital. */
function matcher(q: Query): (name: string) => boolean {
	const caseless = q.text === q.text.toLowerCase();
	if (q.regex) {
		const re = new RegExp(q.text, caseless ? "iu" : "u");
		return (name) => re.test(name.slice(0, LONGEST_NAME));
	}
	if (!caseless)
		return (name) => name.includes(q.text);
	return (name) => name.toLowerCase().includes(q.text);
}

export function matchFunctions(fns: Functions, q: Query): Uint8Array {
	const out = new Uint8Array(fns.n);
	const match = matcher(q);
	for (let i = 0; i < fns.n; i++)
		out[i] = match(fns.name[i]) ? 1 : 0;
	return out;
}

/** The nodes whose function is in @set and that no ancestor of is: largest first. */
export function outermost(t: Tree, set: Uint8Array): number[] {
	const inside = new Uint8Array(t.n);
	const nodes: number[] = [];
	for (let i = 1; i < t.n; i++) {
		if (inside[t.parent[i]]) {
			inside[i] = 1;
		} else if (set[t.fn[i]]) {
			inside[i] = 1;
			nodes.push(i);
		}
	}
	return nodes.sort((a, b) => t.total[b] - t.total[a] || a - b);
}

export function search(t: Tree, fns: Functions, q: Query): Found {
	if (q.text === "")
		return nothingFound();
	let functions: Uint8Array;
	try {
		functions = matchFunctions(fns, q);
	} catch {
		return nothingFound("not a regular expression");
	}
	const nodes = outermost(t, functions);
	const value = nodes.reduce((sum, i) => sum + t.total[i], 0);
	return { functions, value, nodes, error: "" };
}
