// SPDX-License-Identifier: Apache-2.0
//
// Expands truncated profiles. A server truncates a profile to its largest
// nodes and replaces the dropped children of a node by one child of the frame
// type "other". A query for the stacks below that node returns more of them;
// expandNode() puts them into the profile.

import { findPath, pathKey } from "./hash";
import type { Profile } from "./profile";
import { joinFunctions, linkChildren, pathOf, TreeBuilder, type Functions, type Tree } from "./tree";

export const TRUNCATED_KIND = "other";

export function isTruncatedFrame(fns: Functions, fn: number): boolean {
	return fn >= 0 && fns.kind[fn] === TRUNCATED_KIND;
}

/** Returns the call site that queries the children of @node: the names from the root to it. */
export function callSiteOf(p: Profile, node: number): string[] {
	return pathOf(p.tree, node).map((fn) => p.functions.name[fn]);
}

/** Returns a key of @node that is stable across profiles. */
export function nodeKey(p: Profile, node: number): string {
	return node > 0 ? pathKey(pathOf(p.tree, node).map((fn) => p.functions.key[fn])) : "all";
}

/** Returns the node that has the key @key, or -1. */
export function findNode(p: Profile, key: string): number {
	return key === "all" ? 0 : findPath(p.tree, p.functions.key, key);
}

/* Returns @top and all nodes of @t below it, parents before children. */
function subtree(t: Tree, top: number): number[] {
	const { first, next } = linkChildren(t);
	const out = [top];
	for (let i = 0; i < out.length; i++)
		for (let c = first[out[i]]; c >= 0; c = next[c])
			out.push(c);
	return out;
}

/**
 * Returns @profile with everything below @node replaced by what @part has there, or
 * @profile itself if @part has no such node.
 */
export function expandNode(profile: Profile, node: number, part: Profile): Profile {
	const key = nodeKey(profile, node);
	const at = findNode(part, key);
	if (at < 0)
		return profile;
	const [functions, to] = joinFunctions(profile.functions, part.functions);
	const b = new TreeBuilder();
	const id = new Int32Array(profile.tree.n).fill(-1);
	id[0] = 0;
	const gone = new Uint8Array(profile.tree.n);
	gone[node] = 1;
	for (let i = 0; i < profile.tree.n; i++) {
		if (i > 0) {
			const p = profile.tree.parent[i];
			if (gone[p]) {
				gone[i] = 1;
				continue;
			}
			id[i] = b.child(id[p], profile.tree.fn[i]);
		}
		if (i !== node)
			b.addSelf(id[i], profile.tree.self[i]);
	}
	const place = new Int32Array(part.tree.n).fill(-1);
	for (const i of subtree(part.tree, at)) {
		place[i] = i === at ? id[node] : b.child(place[part.tree.parent[i]], to[part.tree.fn[i]]);
		b.addSelf(place[i], part.tree.self[i]);
	}
	return { ...profile, functions, tree: b.finish() };
}
