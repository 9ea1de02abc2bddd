// SPDX-License-Identifier: Apache-2.0
//
// Where an arrow key leads from a node of the graph.

import { firstEndingAfter, type Layout } from "../model/layout";
import type { Tree } from "../model/tree";

function inside(t: Tree, l: Layout, node: number, zoom: number): boolean {
	return l.start[node] >= l.start[zoom] && l.start[node] < l.start[zoom] + t.total[zoom];
}

function beside(t: Tree, l: Layout, at: number, zoom: number, by: -1 | 1): number {
	const row = l.rows[t.depth[at]];
	const i = firstEndingAfter(t, l, row, l.start[at]) + by;
	return i >= 0 && i < row.length && inside(t, l, row[i], zoom) ? row[i] : -1;
}

/* The widest child, which is the leftmost. */
function child(t: Tree, l: Layout, at: number): number {
	const row = l.rows[t.depth[at] + 1];
	if (!row)
		return -1;
	const node = row[firstEndingAfter(t, l, row, l.start[at])];
	return node !== undefined && t.parent[node] === at ? node : -1;
}

/** The node that @key leads to, or -1 when it leads nowhere. Inside @zoom only, but for its callers. */
export function step(t: Tree, l: Layout, at: number, zoom: number, key: string, flame: boolean): number {
	const up = flame ? "ArrowDown" : "ArrowUp";
	const down = flame ? "ArrowUp" : "ArrowDown";
	if (key === down)
		return child(t, l, at);
	if (key === up)
		return t.parent[at];
	if (key === "ArrowLeft")
		return beside(t, l, at, zoom, -1);
	if (key === "ArrowRight")
		return beside(t, l, at, zoom, 1);
	if (key === "Home")
		return 0;
	return -1;
}
