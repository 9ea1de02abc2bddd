// SPDX-License-Identifier: Apache-2.0
//
// FlameScope: a column a second, in it what was used in each of its parts, so
// that a pattern within a second is to be seen. A drag, or two presses of
// Enter, choose a slice of time.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { heatColour, sliceOf, type Heat } from "../model/heat";
import { momentText, timeText } from "../model/range";
import { clockStep } from "../model/ruler";
import type { State } from "../model/url";
import type { Update } from "./state";

const ROOM = 180;
/* Below the map, for the axis. */
const AXIS = 18;
const TICK_ROOM = 90;
const LEAST_COLUMN = 2;

interface At {
	column: number;
	row: number;
}

function drawHeat(c: HTMLCanvasElement, h: Heat, width: number, from: At | null, to: At | null): void {
	const ratio = devicePixelRatio || 1;
	c.width = Math.round(width * ratio);
	c.height = Math.round((ROOM + AXIS) * ratio);
	c.style.width = `${width}px`;
	c.style.height = `${ROOM + AXIS}px`;
	const ctx = c.getContext("2d")!;
	const dark = matchMedia("(prefers-color-scheme: dark)").matches;
	/* On whole pixels: no seams between cells. */
	const x = (column: number) => Math.round((column * c.width) / h.columns);
	const y = (row: number) => Math.round((1 - row / h.rows) * ROOM * ratio);
	const cell = (i: number, colour: string) => {
		const [column, row] = [Math.floor(i / h.rows), i % h.rows];
		ctx.fillStyle = colour;
		ctx.fillRect(x(column), y(row + 1), x(column + 1) - x(column), y(row) - y(row + 1));
	};
	for (let i = 0; i < h.value.length; i++)
		if (h.value[i] > 0)
			cell(i, heatColour(h.value[i] / h.max, dark));
	if (from && to) {
		const [a, b] = sliceOf(h, from, to);
		for (let i = a; i <= b; i++)
			cell(i, dark ? "rgba(140,196,255,.4)" : "rgba(11,92,173,.35)");
	}
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.font = "12px system-ui, 'DejaVu Sans', sans-serif";
	ctx.fillStyle = getComputedStyle(c).color;
	const step = clockStep((TICK_ROOM * h.columns) / width);
	for (let column = Math.ceil(h.start / 1000 / step) * step - h.start / 1000; column < h.columns; column += step) {
		ctx.fillRect((column * width) / h.columns, ROOM, 1, 5);
		ctx.fillText(timeText(h.start + column * 1000, true), (column * width) / h.columns + 4, ROOM + 14);
	}
}

/** @text: what a cell's value is worth. @children: what else can be done with a slice. */
export function HeatMap({ heat, state, update, text, children }: {
	heat: Heat; state: State; update: Update;
	text: (v: number) => string;
	children?: ComponentChildren;
}) {
	const box = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [width, setWidth] = useState(600);
	const [drag, setDrag] = useState<{ from: At; to: At } | null>(null);
	const [cursor, setCursor] = useState<At | null>(null);
	const [mark, setMark] = useState<At | null>(null);
	const cellAt = (ms: number): At => {
		const i = Math.max(0, Math.min(heat.value.length - 1, Math.floor((ms - heat.start) / heat.cellMs)));
		return { column: Math.floor(i / heat.rows), row: i % heat.rows };
	};
	const chosen = state.sliceFrom !== "" && Number(state.sliceTo) > heat.start
		? { from: cellAt(Number(state.sliceFrom)), to: cellAt(Number(state.sliceTo) - 1) } : null;
	const marked = drag ?? (mark && cursor ? { from: mark, to: cursor } : cursor && !chosen ? { from: cursor, to: cursor } : chosen);
	useLayoutEffect(() => {
		const fit = () => setWidth(Math.max(box.current!.clientWidth, heat.columns * LEAST_COLUMN));
		fit();
		const watch = new ResizeObserver(fit);
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, [heat.columns]);
	useLayoutEffect(() => drawHeat(canvas.current!, heat, width, marked?.from ?? null, marked?.to ?? null));
	useEffect(() => {
		box.current!.scrollLeft = box.current!.scrollWidth;
	}, [heat.start]);
	const find = (e: PointerEvent): At => {
		const r = canvas.current!.getBoundingClientRect();
		const clamp = (v: number, n: number) => Math.max(0, Math.min(n - 1, Math.floor(v)));
		return {
			column: clamp(((e.clientX - r.left) / r.width) * heat.columns, heat.columns),
			row: clamp((1 - (e.clientY - r.top) / ROOM) * heat.rows, heat.rows),
		};
	};
	const choose = (from: At, to: At) => {
		const [a, b] = sliceOf(heat, from, to);
		update({
			sliceFrom: String(heat.start + a * heat.cellMs), sliceTo: String(heat.start + (b + 1) * heat.cellMs),
			zoom: "",
		});
		setDrag(null);
		setMark(null);
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
		else if (e.key === "Enter" && mark)
			choose(mark, at);
		else if (e.key === "Enter")
			setMark(at);
		else if (e.key === "Escape" && (mark || cursor)) {
			setMark(null);
			setCursor(null);
		} else
			return;
		e.preventDefault();
		e.stopPropagation();
	};
	const told = drag?.to ?? cursor;
	const index = told ? told.column * heat.rows + told.row : -1;
	return (
		<>
			<div class="heat" ref={box} tabIndex={0} role="application" aria-roledescription="heat map"
				aria-label="Sub-second heat map. Arrows move, Enter begins and ends a slice." onKeyDown={onKey}>
				<canvas ref={canvas} aria-hidden="true"
					onPointerDown={(e) => {
						e.currentTarget.setPointerCapture(e.pointerId);
						setDrag({ from: find(e), to: find(e) });
					}}
					onPointerMove={(e) => {
						if (drag)
							setDrag({ from: drag.from, to: find(e) });
						else if (!mark)
							setCursor(find(e));
					}}
					onPointerLeave={() => {
						if (!drag && !mark)
							setCursor(null);
					}}
					onPointerCancel={() => setDrag(null)}
					onPointerUp={(e) => {
						if (drag)
							choose(drag.from, find(e));
					}} />
			</div>
			<p class="note heatnote" role="status">
				{index >= 0 ? `${momentText(heat.start + index * heat.cellMs)} + ${(heat.start + index * heat.cellMs) % 1000} ms: ${text(heat.value[index])}`
					: chosen ? `${momentText(Number(state.sliceFrom))}, ${Number(state.sliceTo) - Number(state.sliceFrom)} ms chosen`
					: "A column is a second, from its start at the bottom to its end at the top. Drag over a pattern to see its flame graph."}
				{chosen && <><button onClick={() => update({ sliceFrom: "", sliceTo: "", zoom: "" })}>The whole range</button>{children}</>}
			</p>
		</>
	);
}
