// SPDX-License-Identifier: Apache-2.0
//
// Keyboard navigation between the nodes of a graph.

import { firstEndingAfter, type Layout } from "../model/layout";
import type { Tree } from "../model/tree";

function inside(t: Tree, l: Layout, node: number, zoom: number): boolean {
	return l.start[node] >= l.start[zoom] && l.start[node] < l.start[zoom] + t.total[zoom];
}

function sibling(t: Tree, l: Layout, at: number, zoom: number, by: -1 | 1): number {
	const row = l.rows[t.depth[at]];
	const i = firstEndingAfter(t, l, row, l.start[at]) + by;
	return i >= 0 && i < row.length && inside(t, l, row[i], zoom) ? row[i] : -1;
}

/* Returns the widest child, which is the leftmost, or -1. */
function child(t: Tree, l: Layout, at: number): number {
	const row = l.rows[t.depth[at] + 1];
	if (!row)
		return -1;
	const node = row[firstEndingAfter(t, l, row, l.start[at])];
	return node !== undefined && t.parent[node] === at ? node : -1;
}

/** Returns the node that @key leads to, or -1. Left and right stay inside the zoomed node @zoom. */
export function nextNode(t: Tree, l: Layout, at: number, zoom: number, key: string, flame: boolean): number {
	const up = flame ? "ArrowDown" : "ArrowUp";
	const down = flame ? "ArrowUp" : "ArrowDown";
	if (key === down)
		return child(t, l, at);
	if (key === up)
		return t.parent[at];
	if (key === "ArrowLeft")
		return sibling(t, l, at, zoom, -1);
	if (key === "ArrowRight")
		return sibling(t, l, at, zoom, 1);
	if (key === "Home")
		return 0;
	return -1;
}
