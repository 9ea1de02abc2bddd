// SPDX-License-Identifier: Apache-2.0
//
// Draws one flame graph on a canvas. Only rows on the screen and bars of half
// a pixel or more are drawn; names are cut before they reach the canvas, so a
// hostile name costs no more than a short one. All bars of a row are alike from
// its top to its end: they are put into one line of pixels (line.ts), which is
// copied down, since a canvas without a GPU takes longer for each rectangle.

import { grouped, shown } from "../model/format";
import { shorter } from "../model/label";
import { visibleBars, type Bar, type Layout, type Span } from "../model/layout";
import { niceStep, secondsText } from "../model/ruler";
import type { Functions, Tree } from "../model/tree";
import { Line, packed } from "./line";

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
	/** Of the bars' light: a dark page has less of it. */
	shade: number;
}

export interface Scene {
	tree: Tree;
	layout: Layout;
	/** What the root is called; functions' names, as shown. */
	rootName: string;
	labels: Labels;
	/** By function, or by node where a function's places differ (a diff). */
	inks: Uint32Array;
	byNode: boolean;
	/** The graph goes on with time: the root says when. */
	ruler: boolean;
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

/** Names as they are drawn: whole, and in ever shorter forms once these are wanted. */
export class Labels {
	readonly whole: string[];
	private forms: string[][] = [];

	constructor(private functions: Functions) {
		this.whole = functions.name.map((n) => shown(n, LONGEST_LABEL));
	}

	shorter(fn: number): string[] {
		return (this.forms[fn] ??= shorter(this.whole[fn], this.functions.kind[fn]));
	}
}

/** Colours as pixels, each part of them times @shade. */
export function inksOf(colours: readonly string[], shade: number): Uint32Array {
	const known = new Map<string, number>();
	return Uint32Array.from(colours, (c) => {
		const ink = known.get(c) ?? packed(c, shade);
		known.set(c, ink);
		return ink;
	});
}

interface Text {
	text: string;
	x: number;
	y: number;
	colour: string;
}

interface Pen {
	ctx: CanvasRenderingContext2D;
	charWidth: number;
	ratio: number;
	line: Line;
	dim: number;
	root: number;
	texts: Text[];
}

const PLAIN = /^[\x20-\x7e]*$/;

/* The font is monospaced: only names beyond ASCII have to be measured. */
function fits(pen: Pen, text: string, width: number): boolean {
	return PLAIN.test(text) ? text.length * pen.charWidth <= width
		: text.length < width && pen.ctx.measureText(text).width <= width;
}

function cut(pen: Pen, text: string, width: number): string {
	let n = Math.min(text.length, Math.floor(width / pen.charWidth));
	while (n > 0 && !PLAIN.test(text) && pen.ctx.measureText(text.slice(0, n)).width > width)
		n = Math.floor(n * 0.8);
	return n >= 3 ? text.slice(0, n - 1) + "…" : "";
}

/* The longest form that has room, or the beginning of the shortest. */
function fitted(pen: Pen, s: Scene, node: number, width: number): string {
	const fn = s.tree.fn[node];
	const before = s.tree.skipped !== undefined && s.tree.skipped[node] > 0 ? "⋯ " : "";
	const name = before + (fn >= 0 ? s.labels.whole[fn] : s.rootName);
	if (fn < 0 || fits(pen, name, width))
		return fits(pen, name, width) ? name : cut(pen, name, width);
	const forms = s.labels.shorter(fn);
	const form = before + (forms.find((f) => fits(pen, before + f, width)) ?? forms[forms.length - 1] ?? s.labels.whole[fn]);
	return fits(pen, form, width) ? form : cut(pen, form, width);
}

function inkOf(pen: Pen, s: Scene, node: number): number {
	if (s.byNode)
		return s.inks[node];
	const fn = s.tree.fn[node];
	return fn >= 0 ? s.inks[fn] : pen.root;
}

/* A needle in a run of narrow nodes must show too, but no wider than a pixel. */
function paintMatches(pen: Pen, s: Scene, row: Int32Array, bar: Bar, span: Span): void {
	const scale = span.width / (span.to - span.from);
	let drawnTo = -1;
	for (let i = bar.first; i < bar.end; i++) {
		const x = (s.layout.start[row[i]] - span.from) * scale;
		if (!s.matched[s.tree.fn[row[i]]] || x < drawnTo)
			continue;
		pen.line.put(x * pen.ratio, (x + 1) * pen.ratio, inkOf(pen, s, row[i]), true);
		drawnTo = x + 1;
	}
}

/* From this width on a run of narrow nodes is no colour of theirs, which would be taken for one node. */
const RUN = 3;

function paintRow(pen: Pen, s: Scene, row: Int32Array, span: Span, y: number): void {
	const { tree, theme } = s;
	const searching = s.matched.length > 0;
	const { ratio } = pen;
	visibleBars(tree, s.layout, row, span, (bar) => {
		const fn = tree.fn[bar.node];
		const run = bar.end - bar.first > 1;
		const dim = run ? searching || bar.width >= RUN : searching && (fn < 0 || !s.matched[fn]);
		const gap = bar.width > 3 ? 1 : 0;
		pen.line.put(bar.x * ratio, (bar.x + bar.width - gap) * ratio, dim ? pen.dim : inkOf(pen, s, bar.node), gap > 0);
		if (run && searching)
			paintMatches(pen, s, row, bar, span);
		const width = bar.width - 2 * PAD;
		if (bar.width < LEAST_TEXT || (s.ruler && fn < 0))
			return;
		const many = run ? `${grouped(bar.end - bar.first)} narrow` : "";
		const text = run ? (fits(pen, many, width) ? many : "") : fitted(pen, s, bar.node, width);
		if (text !== "")
			pen.texts.push({ text, x: bar.x + PAD, y: y + ROW / 2, colour: dim ? theme.dimText : theme.text });
	});
}

const TICK_ROOM = 100;

function addTicks(pen: Pen, s: Scene, pane: Pane, y: number): void {
	const scale = pane.width / (pane.to - pane.from);
	const step = niceStep(TICK_ROOM / scale);
	for (let v = Math.ceil(pane.from / step) * step; v < pane.to; v += step)
		pen.texts.push({
			text: `╷${secondsText(v, step)}`, x: (v - pane.from) * scale - pen.charWidth / 2, y: y + ROW / 2, colour: s.theme.text,
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

/** What is kept from one drawing to the next. */
export interface Surface {
	image: ImageData | null;
	line: Line | null;
}

function surfaceOf(kept: Surface, ctx: CanvasRenderingContext2D): { image: ImageData; line: Line } {
	const { width, height } = ctx.canvas;
	if (kept.image?.width !== width || kept.image.height !== height)
		kept.image = ctx.createImageData(width, height);
	if (kept.line?.width !== width)
		kept.line = new Line(width);
	return { image: kept.image, line: kept.line };
}

export function paint(ctx: CanvasRenderingContext2D, ratio: number, s: Scene, pane: Pane, kept: Surface): void {
	const { image, line } = surfaceOf(kept, ctx);
	const pixels = new Uint32Array(image.data.buffer);
	const background = packed(s.theme.background);
	ctx.font = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
	const pen: Pen = {
		ctx, ratio, line, texts: [], charWidth: ctx.measureText("0").width,
		dim: packed(s.theme.dim), root: packed(s.theme.root),
	};
	const rows = s.layout.rows;
	const span: Span = { from: pane.from, to: pane.to, width: pane.width };
	pixels.fill(background);
	for (let y = -((pane.scroll % ROW) + ROW) % ROW; y < pane.height; y += ROW) {
		const depth = depthAt(y + pane.scroll + 1, rows.length, s.flame);
		if (depth < 0 || depth >= rows.length)
			continue;
		paintRow(pen, s, rows[depth], span, y);
		if (s.ruler && depth === 0)
			addTicks(pen, s, pane, y);
		line.copyTo(pixels, Math.round(y * ratio), Math.round((y + ROW - 1) * ratio), image.height, background);
	}
	ctx.putImageData(image, 0, 0);
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.textBaseline = "middle";
	ctx.direction = "ltr";
	for (const t of pen.texts) {
		ctx.fillStyle = t.colour;
		ctx.fillText(t.text, t.x, t.y);
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
