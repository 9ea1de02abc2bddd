// SPDX-License-Identifier: Apache-2.0
//
// Draws one flame graph on a canvas. Only visible rows and bars of at least half
// a pixel are drawn. Names are truncated before they reach the canvas, so that
// the cost of an extremely long name is bounded. The bars of a row are rendered
// to one line of pixels (pixel_row.ts), which is copied down, since drawing
// rectangles on a canvas without a GPU is slower.

import { displayName, formatCount } from "../model/format";
import { visibleBars, type Bar, type Layout, type Span } from "../model/layout";
import { niceStep, secondsText } from "../model/ruler";
import { shortForms } from "../model/short_names";
import type { Functions, Tree } from "../model/tree";
import { packColour, PixelRow } from "./pixel_row";

export const ROW = 20;
const PAD = 4;
const MIN_LABEL_WIDTH = 22;
const MAX_LABEL_LENGTH = 300;

export interface Theme {
	background: string;
	dim: string;
	dimText: string;
	text: string;
	root: string;
	outline: string;
	mark: string;
	/** The factor on the brightness of bars, below 1 on a dark page. */
	shade: number;
}

export interface Scene {
	tree: Tree;
	layout: Layout;
	/** The label of the root. */
	rootName: string;
	labels: Labels;
	/** By function, or by node if @byNode, as in a diff. */
	pixelColours: Uint32Array;
	byNode: boolean;
	/** The horizontal axis is time; the root's row shows its ticks. */
	ruler: boolean;
	theme: Theme;
	/** The functions to highlight; empty to highlight none. */
	matched: Uint8Array;
	flame: boolean;
}

/** The nodes that are outlined above the bars; -1 for none. */
export interface Marks {
	hover: number;
	cursor: number;
}

export interface Pane {
	width: number;
	height: number;
	/** The vertical offset of the visible area; negative if there is space above the graph. */
	scroll: number;
	from: number;
	to: number;
}

/** Returns the top of the row of @depth in the complete drawing. */
export function rowTop(depth: number, nRows: number, flame: boolean): number {
	return (flame ? nRows - 1 - depth : depth) * ROW;
}

export function depthAt(y: number, nRows: number, flame: boolean): number {
	const row = Math.floor(y / ROW);
	return flame ? nRows - 1 - row : row;
}

/** The display names of functions, and their shorter forms, which are computed on demand. */
export class Labels {
	readonly full: string[];
	private forms: string[][] = [];

	constructor(private functions: Functions) {
		this.full = functions.name.map((n) => displayName(n, MAX_LABEL_LENGTH));
	}

	shortForms(fn: number): string[] {
		return (this.forms[fn] ??= shortForms(this.full[fn], this.functions.kind[fn]));
	}
}

/** Converts CSS colours to pixels whose brightness is multiplied by @shade. */
export function toPixelColours(colours: readonly string[], shade: number): Uint32Array {
	const known = new Map<string, number>();
	return Uint32Array.from(colours, (c) => {
		const ink = known.get(c) ?? packColour(c, shade);
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
	row: PixelRow;
	dim: number;
	root: number;
	texts: Text[];
}

const ASCII = /^[\x20-\x7e]*$/;

/* The font is monospaced, so only names with non-ASCII characters are measured. */
function fits(pen: Pen, text: string, width: number): boolean {
	return ASCII.test(text) ? text.length * pen.charWidth <= width
		: text.length < width && pen.ctx.measureText(text).width <= width;
}

function truncate(pen: Pen, text: string, width: number): string {
	let n = Math.min(text.length, Math.floor(width / pen.charWidth));
	while (n > 0 && !ASCII.test(text) && pen.ctx.measureText(text.slice(0, n)).width > width)
		n = Math.floor(n * 0.8);
	return n >= 3 ? text.slice(0, n - 1) + "…" : "";
}

/* Returns the longest form of a label that fits, or the beginning of the shortest. */
function fitLabel(pen: Pen, s: Scene, node: number, width: number): string {
	const fn = s.tree.fn[node];
	const before = s.tree.skipped !== undefined && s.tree.skipped[node] > 0 ? "⋯ " : "";
	const name = before + (fn >= 0 ? s.labels.full[fn] : s.rootName);
	if (fn < 0 || fits(pen, name, width))
		return fits(pen, name, width) ? name : truncate(pen, name, width);
	const forms = s.labels.shortForms(fn);
	const form = before + (forms.find((f) => fits(pen, before + f, width)) ?? forms[forms.length - 1] ?? s.labels.full[fn]);
	return fits(pen, form, width) ? form : truncate(pen, form, width);
}

function barColour(pen: Pen, s: Scene, node: number): number {
	if (s.byNode)
		return s.pixelColours[node];
	const fn = s.tree.fn[node];
	return fn >= 0 ? s.pixelColours[fn] : pen.root;
}

/* Draws the matches within a run of narrow nodes, each one pixel wide. */
function paintMatches(pen: Pen, s: Scene, row: Int32Array, bar: Bar, span: Span): void {
	const scale = span.width / (span.to - span.from);
	let drawnTo = -1;
	for (let i = bar.first; i < bar.end; i++) {
		const x = (s.layout.start[row[i]] - span.from) * scale;
		if (!s.matched[s.tree.fn[row[i]]] || x < drawnTo)
			continue;
		pen.row.put(x * pen.ratio, (x + 1) * pen.ratio, barColour(pen, s, row[i]), true);
		drawnTo = x + 1;
	}
}

/* A run of narrow nodes of this width or more is drawn in grey, so that it is not mistaken for one node. */
const MIN_RUN_WIDTH = 3;

function paintRow(pen: Pen, s: Scene, row: Int32Array, span: Span, y: number): void {
	const { tree, theme } = s;
	const searching = s.matched.length > 0;
	const { ratio } = pen;
	visibleBars(tree, s.layout, row, span, (bar) => {
		const fn = tree.fn[bar.node];
		const run = bar.end - bar.first > 1;
		const dim = run ? searching || bar.width >= MIN_RUN_WIDTH : searching && (fn < 0 || !s.matched[fn]);
		const gap = bar.width > 3 ? 1 : 0;
		pen.row.put(bar.x * ratio, (bar.x + bar.width - gap) * ratio, dim ? pen.dim : barColour(pen, s, bar.node), gap > 0);
		if (run && searching)
			paintMatches(pen, s, row, bar, span);
		const width = bar.width - 2 * PAD;
		if (bar.width < MIN_LABEL_WIDTH || (s.ruler && fn < 0))
			return;
		const many = run ? `${formatCount(bar.end - bar.first)} narrow frames` : "";
		const text = run ? (fits(pen, many, width) ? many : "") : fitLabel(pen, s, bar.node, width);
		if (text !== "")
			pen.texts.push({ text, x: bar.x + PAD, y: y + ROW / 2, colour: dim ? theme.dimText : theme.text });
	});
}

const TICK_SPACING = 100;

function addTicks(pen: Pen, s: Scene, pane: Pane, y: number): void {
	const scale = pane.width / (pane.to - pane.from);
	const step = niceStep(TICK_SPACING / scale);
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

/** Buffers that are reused by the next drawing. */
export interface Surface {
	image: ImageData | null;
	row: PixelRow | null;
}

function surfaceOf(kept: Surface, ctx: CanvasRenderingContext2D): { image: ImageData; line: PixelRow } {
	const { width, height } = ctx.canvas;
	if (kept.image?.width !== width || kept.image.height !== height)
		kept.image = ctx.createImageData(width, height);
	if (kept.row?.width !== width)
		kept.row = new PixelRow(width);
	return { image: kept.image, line: kept.row };
}

export function paint(ctx: CanvasRenderingContext2D, ratio: number, s: Scene, pane: Pane, kept: Surface): void {
	const { image, line } = surfaceOf(kept, ctx);
	const pixels = new Uint32Array(image.data.buffer);
	const background = packColour(s.theme.background);
	ctx.font = "12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
	const pen: Pen = {
		ctx, ratio, row: line, texts: [], charWidth: ctx.measureText("0").width,
		dim: packColour(s.theme.dim), root: packColour(s.theme.root),
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

/** Draws the outlines. They have their own canvas, so that moving the pointer redraws no bars. */
export function paintMarks(ctx: CanvasRenderingContext2D, ratio: number, s: Scene, pane: Pane,
	m: Marks): void {
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.clearRect(0, 0, pane.width, pane.height);
	outline(ctx, s, pane, m.hover, s.theme.outline, 1);
	outline(ctx, s, pane, m.cursor, s.theme.mark, 2);
}
