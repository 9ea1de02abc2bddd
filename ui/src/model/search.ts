// SPDX-License-Identifier: Apache-2.0
//
// Searches functions by text or regular expression. The value of a match is
// that of all samples with at least one matching frame; recursion does not
// count twice.

import type { Functions, Tree } from "./tree";

export interface Query {
	text: string;
	regex: boolean;
}

export interface SearchResult {
	/** 1 for each matching function; empty without a query. */
	functions: Uint8Array;
	/** The value of all samples that contain a match. */
	value: number;
	/** The outermost matching nodes, largest first, in the order in which the user steps through them. */
	nodes: number[];
	/** The reason why the query is invalid, or "". */
	error: string;
}

const MAX_NAME_LENGTH = 4096;

export function emptyResult(error = ""): SearchResult {
	return { functions: new Uint8Array(0), value: 0, nodes: [], error };
}

/** Matching is case-sensitive only if the query contains a capital letter. */
function matcher(q: Query): (name: string) => boolean {
	const caseless = q.text === q.text.toLowerCase();
	if (q.regex) {
		const re = new RegExp(q.text, caseless ? "iu" : "u");
		return (name) => re.test(name.slice(0, MAX_NAME_LENGTH));
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

/** Returns the nodes whose function is in @set and that have no such ancestor, largest first. */
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

export function search(t: Tree, fns: Functions, q: Query): SearchResult {
	if (q.text === "")
		return emptyResult();
	let functions: Uint8Array;
	try {
		functions = matchFunctions(fns, q);
	} catch {
		return emptyResult("Invalid regular expression");
	}
	const nodes = outermost(t, functions);
	const value = nodes.reduce((sum, i) => sum + t.total[i], 0);
	return { functions, value, nodes, error: "" };
}
