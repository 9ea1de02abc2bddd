// SPDX-License-Identifier: Apache-2.0
//
// Schedules the drawing of a graph. Bars are redrawn when their data changes,
// the marks above them when the pointer or the cursor moves; each at most once
// per animation frame.

import { useCallback, useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";

import type { Layout } from "../model/layout";
import type { Tree } from "../model/tree";
import { paint, paintMarks, ROW, type Marks, type Pane, type Scene, type Surface } from "./painter";

export interface Stage {
	box: RefObject<HTMLDivElement | null>;
	below: RefObject<HTMLCanvasElement | null>;
	above: RefObject<HTMLCanvasElement | null>;
}

const ZOOM_MS = 160;

/* Returns the visible span of values. It moves to the zoomed node in an animation, unless the user prefers reduced motion. */
function useVisibleSpan(layout: Layout, tree: Tree, zoom: number, redraw: () => void) {
	const visible = useRef({ from: 0, to: tree.total[0] || 1, tree });
	useLayoutEffect(() => {
		const to = { from: layout.start[zoom], to: layout.start[zoom] + (tree.total[zoom] || 1), tree };
		const from = visible.current;
		const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
		if (from.tree !== tree || still || (from.from === to.from && from.to === to.to)) {
			visible.current = to;
			redraw();
			return;
		}
		const begin = performance.now();
		let frame = requestAnimationFrame(function glide(now) {
			const share = Math.max(0, Math.min(1, (now - begin) / ZOOM_MS));
			const ease = 1 - (1 - share) ** 3;
			visible.current = share >= 1 ? to : {
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
	return visible;
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

/** Keeps the stage up to date. The returned pane is the one that was drawn last. */
export function useDrawing(stage: Stage, scene: Scene, zoom: number, marks: Marks) {
	const latest = useRef({ scene, marks });
	latest.current = { scene, marks };
	const pane = useRef<Pane>({ width: 1, height: 1, scroll: 0, from: 0, to: 1 });
	const frame = useRef({ id: 0, bars: false });
	const kept = useRef<Surface>({ image: null, row: null });

	const draw = useCallback(() => {
		const { bars } = frame.current;
		frame.current = { id: 0, bars: false };
		const below = stage.below.current?.getContext("2d");
		const above = stage.above.current?.getContext("2d");
		if (!stage.box.current || !below || !above)
			return;
		const { scene: s, marks: m } = latest.current;
		if (bars) {
			const p = paneOf(stage.box.current, s, span.current);
			pane.current = p;
			fitCanvas(above.canvas, p.width, p.height);
			paint(below, fitCanvas(below.canvas, p.width, p.height), s, p, kept.current);
		}
		paintMarks(above, devicePixelRatio || 1, s, pane.current, m);
	}, []);
	const schedule = useCallback((bars: boolean) => {
		frame.current.bars ||= bars;
		if (frame.current.id === 0)
			frame.current.id = requestAnimationFrame(draw);
	}, []);
	const redraw = useCallback(() => schedule(true), []);
	const span = useVisibleSpan(scene.layout, scene.tree, zoom, redraw);

	useLayoutEffect(redraw, [scene.tree, scene.layout, scene.labels, scene.theme, scene.flame,
		scene.rootName, scene.pixelColours, scene.matched]);
	useLayoutEffect(() => schedule(false), [marks.hover, marks.cursor]);
	useEffect(() => {
		const watch = new ResizeObserver(redraw);
		watch.observe(stage.box.current!);
		return () => watch.disconnect();
	}, []);
	return { pane, redraw };
}
