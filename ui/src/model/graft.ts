// SPDX-License-Identifier: Apache-2.0
//
// A profile from a server is cut to its largest nodes: what was cut from a
// node is one child of it, of kind "other". Asked for the node's stacks alone,
// the server has room for more of them, and they are put in place here.

import { findPath, pathKey } from "./hash";
import type { Profile } from "./profile";
import { joinFunctions, linkChildren, pathOf, TreeBuilder, type Functions, type Tree } from "./tree";

export const OTHER = "other";

export function isOther(fns: Functions, fn: number): boolean {
	return fn >= 0 && fns.kind[fn] === OTHER;
}

/** What is asked for to open @node's cut children: the names from the root to it. */
export function callSiteOf(p: Profile, node: number): string[] {
	return pathOf(p.tree, node).map((fn) => p.functions.name[fn]);
}

export function keyOfPlace(p: Profile, node: number): string {
	return node > 0 ? pathKey(pathOf(p.tree, node).map((fn) => p.functions.key[fn])) : "all";
}

/** The node that keyOfPlace() named, or -1. */
export function placeOf(p: Profile, key: string): number {
	return key === "all" ? 0 : findPath(p.tree, p.functions.key, key);
}

/* The nodes of @t under @top, itself first; a parent stays before its children. */
function below(t: Tree, top: number): number[] {
	const { first, next } = linkChildren(t);
	const out = [top];
	for (let i = 0; i < out.length; i++)
		for (let c = first[out[i]]; c >= 0; c = next[c])
			out.push(c);
	return out;
}

/**
 * @whole with what it has under @node replaced by what @part has there. Returns
 * @whole itself if @part has no such place.
 */
export function graft(whole: Profile, node: number, part: Profile): Profile {
	const key = keyOfPlace(whole, node);
	const at = placeOf(part, key);
	if (at < 0)
		return whole;
	const [functions, to] = joinFunctions(whole.functions, part.functions);
	const b = new TreeBuilder();
	const id = new Int32Array(whole.tree.n).fill(-1);
	id[0] = 0;
	const gone = new Uint8Array(whole.tree.n);
	gone[node] = 1;
	for (let i = 0; i < whole.tree.n; i++) {
		if (i > 0) {
			const p = whole.tree.parent[i];
			if (gone[p]) {
				gone[i] = 1;
				continue;
			}
			id[i] = b.child(id[p], whole.tree.fn[i]);
		}
		if (i !== node)
			b.addSelf(id[i], whole.tree.self[i]);
	}
	const place = new Int32Array(part.tree.n).fill(-1);
	for (const i of below(part.tree, at)) {
		place[i] = i === at ? id[node] : b.child(place[part.tree.parent[i]], to[part.tree.fn[i]]);
		b.addSelf(place[i], part.tree.self[i]);
	}
	return { ...whole, functions, tree: b.finish() };
}
