// SPDX-License-Identifier: Apache-2.0
//
// One flame graph: a canvas that stays where it is while its container
// scrolls, so that a stack of a thousand frames costs no more than a screen.
// It draws when something changed and at no other time.

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { shown, type Scale } from "../model/format";
import { nodeAt, type Layout } from "../model/layout";
import type { Functions, Tree } from "../model/tree";
import { factsOf, sentence, Tooltip, type Facts } from "./describe";
import { step } from "./keys";
import { depthAt, labels, paint, paintMarks, ROW, rowTop, type Pane, type Scene } from "./painter";
import { useTheme } from "./theme";

export interface GraphProps {
	label: string;
	rootName: string;
	tree: Tree;
	layout: Layout;
	functions: Functions;
	colours: string[];
	nodeColours?: string[];
	scale: Scale;
	flame: boolean;
	zoom: number;
	matched: Uint8Array;
	/** What is told of a node, where it is not what factsOf() says. */
	describe?: (node: number) => Facts;
	/** A node to bring into sight, with a number that changes for each wish. */
	show?: { node: number; turn: number };
	onZoom: (node: number) => void;
	onMenu: (node: number, x: number, y: number) => void;
}

interface Pointer {
	node: number;
	x: number;
	y: number;
	touch: boolean;
}

const NOWHERE: Pointer = { node: -1, x: 0, y: 0, touch: false };
const GLIDE_MS = 160;

/* The window of values on screen; glides to the zoomed node unless motion is unwanted. */
function useWindow(layout: Layout, tree: Tree, zoom: number, redraw: () => void) {
	const shownNow = useRef({ from: 0, to: tree.total[0] || 1, tree });
	useLayoutEffect(() => {
		const to = { from: layout.start[zoom], to: layout.start[zoom] + (tree.total[zoom] || 1), tree };
		const from = shownNow.current;
		const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
		if (from.tree !== tree || still || (from.from === to.from && from.to === to.to)) {
			shownNow.current = to;
			redraw();
			return;
		}
		const begin = performance.now();
		let frame = requestAnimationFrame(function glide(now) {
			const share = Math.max(0, Math.min(1, (now - begin) / GLIDE_MS));
			const ease = 1 - (1 - share) ** 3;
			shownNow.current = share >= 1 ? to : {
				from: from.from + (to.from - from.from) * ease,
				to: from.to + (to.to - from.to) * ease,
				tree,
			};
			redraw();
			if (share < 1)
				frame = requestAnimationFrame(glide);
		});
		return () => cancelAnimationFrame(frame);
	}, [tree, layout, zoom, redraw]);
	return shownNow;
}

function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): number {
	const ratio = devicePixelRatio || 1;
	const w = Math.round(width * ratio);
	const h = Math.round(height * ratio);
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	return ratio;
}

function paneOf(box: HTMLElement, s: Scene, span: { from: number; to: number }): Pane {
	const width = Math.max(1, box.clientWidth);
	const height = Math.max(1, box.clientHeight);
	const above = s.flame ? Math.max(0, height - s.layout.rows.length * ROW) : 0;
	return { width, height, scroll: box.scrollTop - above, from: span.from, to: span.to };
}

export function Graph(props: GraphProps) {
	const { tree, layout, functions, flame, zoom } = props;
	const box = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const over = useRef<HTMLCanvasElement>(null);
	const [pointer, setPointer] = useState(NOWHERE);
	const [cursor, setCursor] = useState(-1);
	const theme = useTheme();
	const names = useMemo(() => labels(functions.name), [functions]);
	const height = layout.rows.length * ROW;

	const scene: Scene = {
		tree, layout, names, theme, flame,
		rootName: props.rootName,
		colours: props.colours,
		nodeColours: props.nodeColours ?? null,
		matched: props.matched,
	};
	const latest = useRef({ scene, marks: { hover: pointer.node, cursor } });
	latest.current = { scene, marks: { hover: pointer.node, cursor } };
	const view = useRef<Pane>({ width: 1, height: 1, scroll: 0, from: 0, to: 1 });
	const frame = useRef({ id: 0, bars: false });

	const draw = useCallback(() => {
		const { bars } = frame.current;
		frame.current = { id: 0, bars: false };
		const below = canvas.current?.getContext("2d");
		const above = over.current?.getContext("2d");
		if (!box.current || !below || !above)
			return;
		const { scene: s, marks } = latest.current;
		if (bars) {
			const pane = paneOf(box.current, s, spanNow.current);
			view.current = pane;
			fitCanvas(above.canvas, pane.width, pane.height);
			paint(below, fitCanvas(below.canvas, pane.width, pane.height), s, pane);
		}
		paintMarks(above, devicePixelRatio || 1, s, view.current, marks);
	}, []);
	const schedule = useCallback((bars: boolean) => {
		frame.current.bars ||= bars;
		if (frame.current.id === 0)
			frame.current.id = requestAnimationFrame(draw);
	}, []);
	const redraw = useCallback(() => schedule(true), []);
	const spanNow = useWindow(layout, tree, zoom, redraw);

	useLayoutEffect(redraw, [tree, layout, names, theme, flame, props.rootName, props.colours, props.nodeColours, props.matched]);
	useLayoutEffect(() => schedule(false), [pointer.node, cursor]);
	useEffect(() => {
		const watch = new ResizeObserver(redraw);
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, [redraw]);
	useLayoutEffect(() => {
		setCursor(-1);
		setPointer(NOWHERE);
		box.current!.scrollTop = flame ? box.current!.scrollHeight : 0;
	}, [tree, flame]);

	const bringIntoSight = useCallback((node: number) => {
		const b = box.current!;
		const y = rowTop(tree.depth[node], layout.rows.length, flame);
		if (y < b.scrollTop || y + ROW > b.scrollTop + b.clientHeight)
			b.scrollTop = y - b.clientHeight / 2;
	}, [tree, layout, flame]);
	useEffect(() => {
		if (props.show && props.show.node >= 0 && props.show.node < tree.n) {
			setCursor(props.show.node);
			bringIntoSight(props.show.node);
		}
	}, [props.show]);

	const find = (e: MouseEvent): number => {
		const r = box.current!.getBoundingClientRect();
		const pane = view.current;
		const depth = depthAt(e.clientY - r.top + pane.scroll, layout.rows.length, flame);
		const value = pane.from + ((e.clientX - r.left) / pane.width) * (pane.to - pane.from);
		const row = layout.rows[depth];
		return row ? nodeAt(tree, layout, row, value) : -1;
	};
	const onKey = (e: KeyboardEvent) => {
		const at = cursor >= 0 ? cursor : zoom;
		const to = step(tree, layout, at, zoom, e.key, flame);
		if (to >= 0) {
			setCursor(to);
			bringIntoSight(to);
		} else if (e.key === "Enter" || e.key === " ") {
			props.onZoom(at);
		} else if (e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey) || e.key === "m") {
			const r = box.current!.getBoundingClientRect();
			props.onMenu(at, r.left + 40, r.top + 40);
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	};
	const told = pointer.node >= 0 ? pointer.node : cursor >= 0 ? cursor : zoom;
	const facts = props.describe?.(told < tree.n ? told : 0)
		?? factsOf(tree, told < tree.n ? told : 0, functions, props.scale, props.rootName);
	return (
		<div class="graph">
			<div
				class="scroll" ref={box} tabIndex={0} role="application"
				aria-roledescription="flame graph" aria-label={props.label}
				onScroll={redraw}
				onKeyDown={onKey}
				onPointerMove={(e) => setPointer({
					node: find(e), x: e.clientX, y: e.clientY, touch: e.pointerType === "touch",
				})}
				onPointerLeave={() => setPointer(NOWHERE)}
				onClick={(e) => {
					const node = find(e);
					if (node >= 0) {
						setCursor(node);
						props.onZoom(node);
					}
				}}
				onContextMenu={(e) => {
					const node = find(e);
					e.preventDefault();
					setPointer(NOWHERE);
					if (node >= 0 && tree.fn[node] >= 0)
						props.onMenu(node, e.clientX, e.clientY);
				}}
			>
				<div class="tall" style={{ height: `${height}px` }}>
					<div class="stage" aria-hidden="true">
						<canvas ref={canvas} />
						<canvas ref={over} />
					</div>
				</div>
			</div>
			<div class="facts" role="status" aria-label={sentence(facts)}>
				<b>{shown(facts.name, 200)}</b>
				{facts.lines.map(([label, value]) => (
					<span key={label}><i>{label}</i> {value}</span>
				))}
			</div>
			{pointer.node >= 0 && pointer.node < tree.n && tree.fn[pointer.node] >= 0 && !pointer.touch &&
				<Tooltip facts={facts} x={pointer.x} y={pointer.y} />}
		</div>
	);
}
