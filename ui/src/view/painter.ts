// SPDX-License-Identifier: Apache-2.0
//
// Draws one flame graph on a canvas. Only rows on the screen and bars of half
// a pixel or more are drawn; names are cut before they reach the canvas, so a
// hostile name costs no more than a short one.

import { shown } from "../model/format";
import { visibleBars, type Bar, type Layout, type Span } from "../model/layout";
import type { Tree } from "../model/tree";

export const ROW = 20;
const PAD = 4;
const LEAST_TEXT = 22;
const LONGEST_LABEL = 300;

export interface Theme {
	background: string;
	dim: string;
	dimText: string;
	text: string;
	root: string;
	outline: string;
	mark: string;
}

export interface Scene {
	tree: Tree;
	layout: Layout;
	/** What the root is called; functions' names, as shown. */
	rootName: string;
	names: string[];
	colours: string[];
	/** By node, where a function's places differ (a diff); or null. */
	nodeColours: string[] | null;
	theme: Theme;
	/** Functions to lift out, or empty for all alike. */
	matched: Uint8Array;
	flame: boolean;
}

/** What is marked over the bars. */
export interface Marks {
	hover: number;
	cursor: number;
}

export interface Pane {
	width: number;
	height: number;
	/** What part of the drawing is at the top; negative where there is room above it. */
	scroll: number;
	from: number;
	to: number;
}

/** Top of row @depth in the whole drawing. */
export function rowTop(depth: number, nRows: number, flame: boolean): number {
	return (flame ? nRows - 1 - depth : depth) * ROW;
}

export function depthAt(y: number, nRows: number, flame: boolean): number {
	const row = Math.floor(y / ROW);
	return flame ? nRows - 1 - row : row;
}

/** Names as they are drawn, cleaned once. */
export function labels(names: string[]): string[] {
	return names.map((n) => shown(n, LONGEST_LABEL));
}

interface Pen {
	ctx: CanvasRenderingContext2D;
	charWidth: number;
	fill: string;
}

function setFill(pen: Pen, colour: string): void {
	if (pen.fill !== colour) {
		pen.fill = colour;
		pen.ctx.fillStyle = colour;
	}
}

const PLAIN = /^[\x20-\x7e]*$/;

/* The font is monospaced: only names beyond ASCII have to be measured. */
function fitted(pen: Pen, name: string, width: number): string {
	const room = Math.floor(width / pen.charWidth);
	if (PLAIN.test(name))
		return name.length <= room ? name : cut(name, room);
	let n = Math.min(name.length, room);
	while (n > 0 && pen.ctx.measureText(name.slice(0, n)).width > width)
		n = Math.floor(n * 0.8);
	return n >= name.length ? name : cut(name, n);
}

function cut(name: string, n: number): string {
	return n >= 3 ? name.slice(0, n - 1) + "…" : "";
}

function colourOf(s: Scene, node: number): string {
	if (s.nodeColours)
		return s.nodeColours[node];
	const fn = s.tree.fn[node];
	return fn >= 0 ? s.colours[fn] : s.theme.root;
}

/* A needle in a run of narrow nodes must show too, but no wider than a pixel. */
function paintMatches(pen: Pen, s: Scene, row: Int32Array, bar: Bar, span: Span, y: number): void {
	const scale = span.width / (span.to - span.from);
	let drawnTo = -1;
	for (let i = bar.first; i < bar.end; i++) {
		const fn = s.tree.fn[row[i]];
		const x = (s.layout.start[row[i]] - span.from) * scale;
		if (!s.matched[fn] || x < drawnTo)
			continue;
		setFill(pen, colourOf(s, row[i]));
		pen.ctx.fillRect(x, y, 1, ROW - 1);
		drawnTo = x + 1;
	}
}

function paintRow(pen: Pen, s: Scene, row: Int32Array, span: Span, y: number): void {
	const { tree, theme } = s;
	const searching = s.matched.length > 0;
	visibleBars(tree, s.layout, row, span, (bar) => {
		const fn = tree.fn[bar.node];
		const run = bar.end - bar.first > 1;
		const dim = searching && (run || fn < 0 || !s.matched[fn]);
		const gap = bar.width > 3 ? 1 : 0;
		setFill(pen, dim ? theme.dim : colourOf(s, bar.node));
		pen.ctx.fillRect(bar.x, y, bar.width - gap, ROW - 1);
		if (run && searching)
			paintMatches(pen, s, row, bar, span, y);
		if (run || bar.width < LEAST_TEXT)
			return;
		const skipped = tree.skipped !== undefined && tree.skipped[bar.node] > 0 ? "⋯ " : "";
		const name = fitted(pen, fn >= 0 ? skipped + s.names[fn] : s.rootName, bar.width - 2 * PAD);
		if (name === "")
			return;
		setFill(pen, dim ? theme.dimText : theme.text);
		pen.ctx.fillText(name, bar.x + PAD, y + ROW / 2);
	});
}

function outline(ctx: CanvasRenderingContext2D, s: Scene, pane: Pane, node: number, colour: string,
	width: number): void {
	if (node < 0 || node >= s.tree.n)
		return;
	const scale = pane.width / (pane.to - pane.from);
	const x = Math.max(0, (s.layout.start[node] - pane.from) * scale);
	const end = (s.layout.start[node] + s.tree.total[node] - pane.from) * scale;
	const right = Math.min(pane.width, end);
	if (right < 0 || x > pane.width)
		return;
	const y = rowTop(s.tree.depth[node], s.layout.rows.length, s.flame) - pane.scroll;
	ctx.strokeStyle = colour;
	ctx.lineWidth = width;
	const half = width / 2;
	ctx.strokeRect(x + half, y + half, Math.max(2, right - x - width), ROW - 1 - width);
}

export function paint(ctx: CanvasRenderingContext2D, ratio: number, s: Scene, pane: Pane): void {
	const pen: Pen = { ctx, charWidth: 0, fill: "" };
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.font = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
	ctx.textBaseline = "middle";
	ctx.direction = "ltr";
	pen.charWidth = ctx.measureText("0").width;
	setFill(pen, s.theme.background);
	ctx.fillRect(0, 0, pane.width, pane.height);
	const rows = s.layout.rows;
	const span: Span = { from: pane.from, to: pane.to, width: pane.width };
	for (let y = -((pane.scroll % ROW) + ROW) % ROW; y < pane.height; y += ROW) {
		const depth = depthAt(y + pane.scroll + 1, rows.length, s.flame);
		if (depth >= 0 && depth < rows.length)
			paintRow(pen, s, rows[depth], span, y);
	}
}

/** The outlines, on a canvas of their own: a move of the mouse redraws no bar. */
export function paintMarks(ctx: CanvasRenderingContext2D, ratio: number, s: Scene, pane: Pane,
	m: Marks): void {
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.clearRect(0, 0, pane.width, pane.height);
	outline(ctx, s, pane, m.hover, s.theme.outline, 1);
	outline(ctx, s, pane, m.cursor, s.theme.mark, 2);
}
