// SPDX-License-Identifier: Apache-2.0
//
// The sub-second heat map, after Netflix' FlameScope: one column per second,
// whose cells show the usage within the second, so that periodic patterns become
// visible. The user selects a time slice by dragging, or with two presses of
// Enter.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { heatColour, sliceBetween, type HeatMapData } from "../model/heat_map";
import { formatPreciseTime, formatTime } from "../model/range";
import { clockStep } from "../model/ruler";
import type { State } from "../model/url";
import type { Update } from "./url_state";

const HEIGHT = 180;
/* The height of the axis below the map. */
const AXIS_HEIGHT = 18;
const TICK_SPACING = 90;
const MIN_COLUMN_WIDTH = 2;

interface Cell {
	column: number;
	row: number;
}

function drawHeat(c: HTMLCanvasElement, h: HeatMapData, width: number, from: Cell | null, to: Cell | null): void {
	const ratio = devicePixelRatio || 1;
	c.width = Math.round(width * ratio);
	c.height = Math.round((HEIGHT + AXIS_HEIGHT) * ratio);
	c.style.width = `${width}px`;
	c.style.height = `${HEIGHT + AXIS_HEIGHT}px`;
	const ctx = c.getContext("2d")!;
	const dark = matchMedia("(prefers-color-scheme: dark)").matches;
	/* Rounded to whole pixels, so that there are no gaps between cells. */
	const x = (column: number) => Math.round((column * c.width) / h.columns);
	const y = (row: number) => Math.round((1 - row / h.rows) * HEIGHT * ratio);
	const cell = (i: number, colour: string) => {
		const [column, row] = [Math.floor(i / h.rows), i % h.rows];
		ctx.fillStyle = colour;
		ctx.fillRect(x(column), y(row + 1), x(column + 1) - x(column), y(row) - y(row + 1));
	};
	for (let i = 0; i < h.value.length; i++)
		if (h.value[i] > 0)
			cell(i, heatColour(h.value[i] / h.max, dark));
	if (from && to) {
		const [a, b] = sliceBetween(h, from, to);
		for (let i = a; i <= b; i++)
			cell(i, dark ? "rgba(140,196,255,.4)" : "rgba(11,92,173,.35)");
	}
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.font = "12px system-ui, 'DejaVu Sans', sans-serif";
	ctx.fillStyle = getComputedStyle(c).color;
	const step = clockStep((TICK_SPACING * h.columns) / width);
	for (let column = Math.ceil(h.start / 1000 / step) * step - h.start / 1000; column < h.columns; column += step) {
		ctx.fillRect((column * width) / h.columns, HEIGHT, 1, 5);
		ctx.fillText(formatTime(h.start + column * 1000, true), (column * width) / h.columns + 4, HEIGHT + 14);
	}
}

/** @text formats the value of a cell. @children are further actions for a selected slice. */
export function HeatMap({ heat, state, update, text, children }: {
	heat: HeatMapData; state: State; update: Update;
	text: (v: number) => string;
	children?: ComponentChildren;
}) {
	const box = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [width, setWidth] = useState(600);
	const [drag, setDrag] = useState<{ from: Cell; to: Cell } | null>(null);
	const [cursor, setCursor] = useState<Cell | null>(null);
	const [anchor, setAnchor] = useState<Cell | null>(null);
	const cellAt = (ms: number): Cell => {
		const i = Math.max(0, Math.min(heat.value.length - 1, Math.floor((ms - heat.start) / heat.cellMs)));
		return { column: Math.floor(i / heat.rows), row: i % heat.rows };
	};
	const chosen = state.sliceFrom !== "" && Number(state.sliceTo) > heat.start
		? { from: cellAt(Number(state.sliceFrom)), to: cellAt(Number(state.sliceTo) - 1) } : null;
	const selection = drag ?? (anchor && cursor ? { from: anchor, to: cursor } : cursor && !chosen ? { from: cursor, to: cursor } : chosen);
	useLayoutEffect(() => {
		const fit = () => setWidth(Math.max(box.current!.clientWidth, heat.columns * MIN_COLUMN_WIDTH));
		fit();
		const watch = new ResizeObserver(fit);
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, [heat.columns]);
	useLayoutEffect(() => drawHeat(canvas.current!, heat, width, selection?.from ?? null, selection?.to ?? null));
	useEffect(() => {
		box.current!.scrollLeft = box.current!.scrollWidth;
	}, [heat.start]);
	const cellAtEvent = (e: PointerEvent): Cell => {
		const r = canvas.current!.getBoundingClientRect();
		const clamp = (v: number, n: number) => Math.max(0, Math.min(n - 1, Math.floor(v)));
		return {
			column: clamp(((e.clientX - r.left) / r.width) * heat.columns, heat.columns),
			row: clamp((1 - (e.clientY - r.top) / HEIGHT) * heat.rows, heat.rows),
		};
	};
	const choose = (from: Cell, to: Cell) => {
		const [a, b] = sliceBetween(heat, from, to);
		update({
			sliceFrom: String(heat.start + a * heat.cellMs), sliceTo: String(heat.start + (b + 1) * heat.cellMs),
			zoom: "",
		});
		setDrag(null);
		setAnchor(null);
		setCursor(null);
	};
	const onKey = (e: KeyboardEvent) => {
		const at = cursor ?? { column: heat.columns - 1, row: 0 };
		const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
		if (move)
			setCursor({
				column: Math.max(0, Math.min(heat.columns - 1, at.column + move[0])),
				row: Math.max(0, Math.min(heat.rows - 1, at.row + move[1])),
			});
		else if (e.key === "Enter" && anchor)
			choose(anchor, at);
		else if (e.key === "Enter")
			setAnchor(at);
		else if (e.key === "Escape" && (anchor || cursor)) {
			setAnchor(null);
			setCursor(null);
		} else
			return;
		e.preventDefault();
		e.stopPropagation();
	};
	const described = drag?.to ?? cursor;
	const index = described ? described.column * heat.rows + described.row : -1;
	return (
		<>
			<div class="heat" ref={box} tabIndex={0} role="application" aria-roledescription="heat map"
				aria-label="Sub-second heat map. Use the arrow keys to move, Enter to start and end a time slice." onKeyDown={onKey}>
				<canvas ref={canvas} aria-hidden="true"
					onPointerDown={(e) => {
						e.currentTarget.setPointerCapture(e.pointerId);
						setDrag({ from: cellAtEvent(e), to: cellAtEvent(e) });
					}}
					onPointerMove={(e) => {
						if (drag)
							setDrag({ from: drag.from, to: cellAtEvent(e) });
						else if (!anchor)
							setCursor(cellAtEvent(e));
					}}
					onPointerLeave={() => {
						if (!drag && !anchor)
							setCursor(null);
					}}
					onPointerCancel={() => setDrag(null)}
					onPointerUp={(e) => {
						if (drag)
							choose(drag.from, cellAtEvent(e));
					}} />
			</div>
			<p class="note heat-status" role="status">
				{index >= 0 ? `${formatPreciseTime(heat.start + index * heat.cellMs)}: ${text(heat.value[index])}`
					: chosen ? `${formatPreciseTime(Number(state.sliceFrom))}, ${Number(state.sliceTo) - Number(state.sliceFrom)} ms selected`
					: "Each column is one second, from bottom to top. Drag to select a time slice and show its flame graph."}
				{chosen && <><button onClick={() => update({ sliceFrom: "", sliceTo: "", zoom: "" })}>Clear time slice</button>{children}</>}
			</p>
		</>
	);
}
