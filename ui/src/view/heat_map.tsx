// SPDX-License-Identifier: Apache-2.0
//
// FlameScope: a column a second, in it what was used in each of its parts, so
// that a pattern within a second is to be seen. A drag, or two presses of
// Enter, choose a slice of time.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { heatColour, sliceOf, type Heat } from "../model/heat";
import { momentText } from "../model/range";
import type { State } from "../model/url";
import type { Update } from "./state";

const ROOM = 220;
const LEAST_COLUMN = 2;

interface At {
	column: number;
	row: number;
}

function drawHeat(c: HTMLCanvasElement, h: Heat, width: number, from: At | null, to: At | null): void {
	const ratio = devicePixelRatio || 1;
	const [w, rowHeight] = [width / h.columns, ROOM / h.rows];
	c.width = Math.round(width * ratio);
	c.height = Math.round(ROOM * ratio);
	c.style.width = `${width}px`;
	c.style.height = `${ROOM}px`;
	const ctx = c.getContext("2d")!;
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	const dark = matchMedia("(prefers-color-scheme: dark)").matches;
	for (let i = 0; i < h.value.length; i++) {
		if (h.value[i] <= 0)
			continue;
		const [column, row] = [Math.floor(i / h.rows), i % h.rows];
		ctx.fillStyle = heatColour(h.value[i] / h.max, dark);
		ctx.fillRect(column * w, ROOM - (row + 1) * rowHeight, w + 0.3, rowHeight + 0.3);
	}
	if (!from || !to)
		return;
	const [a, b] = sliceOf(h, from, to);
	ctx.fillStyle = dark ? "rgba(140,196,255,.35)" : "rgba(11,92,173,.3)";
	for (let i = a; i <= b; i++)
		ctx.fillRect(Math.floor(i / h.rows) * w, ROOM - (i % h.rows + 1) * rowHeight, w, rowHeight);
}

/** @text: what a cell's value is worth. */
export function HeatMap({ heat, state, update, text }: {
	heat: Heat; state: State; update: Update;
	text: (v: number) => string;
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
			row: clamp((1 - (e.clientY - r.top) / r.height) * heat.rows, heat.rows),
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
				{chosen && <button onClick={() => update({ sliceFrom: "", sliceTo: "", zoom: "" })}>The whole range</button>}
			</p>
		</>
	);
}
