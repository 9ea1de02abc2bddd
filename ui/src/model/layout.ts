// SPDX-License-Identifier: Apache-2.0
//
// Computes the positions of bars: for every depth the nodes from left to right,
// with their left edges in units of the profile's value. Only visibleBars()
// deals with pixels. It finds the visible part of a row by binary search, so
// its cost depends on the width of the row and not on the size of the tree.

import { ITERATIONS, runAtOnce, type Steps } from "./steps";
import { linkChildren, type Tree } from "./tree";

export interface Layout {
	/** Left edge of every node. */
	start: Float64Array;
	/** Nodes by depth, each row from left to right; rows[0] is the root. */
	rows: Int32Array[];
}

/* A layout that was computed in steps is reused. */
const layouts = new WeakMap<Tree, Layout>();

/** Lays out a tree. Siblings are sorted by value, largest first; equal ones keep their order. */
export function layOut(t: Tree): Layout {
	return layouts.get(t) ?? runAtOnce(layOutSteps(t));
}

export function* layOutSteps(t: Tree): Steps<Layout> {
	const { first, next } = linkChildren(t);
	const start = new Float64Array(t.n);
	const rows = emptyRows(t);
	const children: number[] = [];
	for (let d = 0; d + 1 < rows.length; d++) {
		let filled = 0;
		for (const p of rows[d]) {
			if (filled % ITERATIONS === 0)
				yield;
			children.length = 0;
			for (let c = first[p]; c >= 0; c = next[c])
				if (t.total[c] > 0)
					children.push(c);
			if (children.length > 1)
				children.sort((x, y) => t.total[y] - t.total[x] || x - y);
			let at = start[p];
			for (const c of children) {
				start[c] = at;
				at += t.total[c];
				rows[d + 1][filled++] = c;
			}
		}
	}
	layouts.set(t, { start, rows });
	return { start, rows };
}

/* Allocates one row per depth, with room for its nodes that have samples. The root's row always exists. */
function emptyRows(t: Tree): Int32Array[] {
	const n: number[] = [1];
	for (let i = 1; i < t.n; i++)
		if (t.total[i] > 0)
			n[t.depth[i]] = (n[t.depth[i]] ?? 0) + 1;
	return Array.from(n, (length) => new Int32Array(length));
}

/** Returns the index in @row of the first node that ends right of @value, or row.length. */
export function firstEndingAfter(t: Tree, l: Layout, row: Int32Array, value: number): number {
	let lo = 0;
	let hi = row.length;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (l.start[row[mid]] + t.total[row[mid]] > value)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/** Returns the node of @row that covers @value, or -1. */
export function nodeAt(t: Tree, l: Layout, row: Int32Array, value: number): number {
	const i = firstEndingAfter(t, l, row, value);
	return i < row.length && l.start[row[i]] <= value ? row[i] : -1;
}

export interface Bar {
	/** The node, or the first of a run of nodes that are too narrow to be drawn separately. */
	node: number;
	/** The indices of the bar's nodes in the row: [first, end). */
	first: number;
	end: number;
	x: number;
	width: number;
}

/** The range of values [from, to) that is visible, and its width in pixels. */
export interface Span {
	from: number;
	to: number;
	width: number;
}

const MIN_PX = 0.5;

/**
 * Calls @draw for every visible bar of @row, from left to right. A run of adjacent nodes
 * narrower than half a pixel becomes one bar, which is skipped if it is narrower than that,
 * too. The bar passed to @draw is reused: it is valid during the call only.
 */
export function visibleBars(t: Tree, l: Layout, row: Int32Array, span: Span,
	draw: (bar: Bar) => void): void {
	const scale = span.width / (span.to - span.from);
	const bar: Bar = { node: -1, first: 0, end: 0, x: 0, width: 0 };
	const emit = (first: number, end: number) => {
		const last = row[end - 1];
		const x = Math.max(0, (l.start[row[first]] - span.from) * scale);
		bar.node = row[first];
		bar.first = first;
		bar.end = end;
		bar.x = x;
		bar.width = Math.min(span.width, (l.start[last] + t.total[last] - span.from) * scale) - x;
		if (bar.width >= MIN_PX)
			draw(bar);
	};
	let i = firstEndingAfter(t, l, row, span.from);
	while (i < row.length && l.start[row[i]] < span.to) {
		const end = t.total[row[i]] * scale >= MIN_PX ? i + 1 : runEnd(t, l, row, i, MIN_PX / scale);
		emit(i, end);
		i = end;
	}
}

/* Returns the end of the run that starts at @at. The nodes of a run and the gaps between them are narrower than @min. */
function runEnd(t: Tree, l: Layout, row: Int32Array, at: number, min: number): number {
	let end = l.start[row[at]];
	let i = at;
	while (i < row.length && t.total[row[i]] < min && l.start[row[i]] - end < min) {
		end = l.start[row[i]] + t.total[row[i]];
		i = skipWithin(t, l, row, i + 1, end + min);
		end = l.start[row[i - 1]] + t.total[row[i - 1]];
	}
	return i;
}

/* Skips the nodes from @at that end at or before @value, by exponential search. */
function skipWithin(t: Tree, l: Layout, row: Int32Array, at: number, value: number): number {
	const ends = (i: number) => l.start[row[i]] + t.total[row[i]] <= value;
	let step = 1;
	let lo = at;
	while (lo + step < row.length && ends(lo + step)) {
		lo += step;
		step *= 2;
	}
	let hi = Math.min(row.length, lo + step);
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (ends(mid))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
