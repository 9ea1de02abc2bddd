// SPDX-License-Identifier: Apache-2.0
//
// The time line: what was used over time, stacked by a label. A drag chooses
// a range; a name in the legend narrows everything to it.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";

import { round, shown } from "../model/format";
import { momentText, stepFor, type Range } from "../model/range";
import { colourer, rateUnit, stackLines, type Stacked } from "../model/stack_lines";
import * as api from "./api";
import { useAsk } from "./ask";

/* The graph below is what people come for. */
const HEIGHT = innerHeight < 1000 ? 100 : 132;
const STEPS = 180;
const MOST_LINES = 9;
/* A window is sent when it is over: the newest are on their way. */
const ON_THE_WAY_MS = 12_000;

export interface Shade {
	from: number;
	to: number;
	class: "before" | "after" | "slice";
}

interface TimelineProps {
	type: string;
	selector: string;
	range: Range;
	live: boolean;
	by: string;
	shades?: Shade[];
	onRange: (from: number, to: number) => void;
	onMoment?: (ms: number) => void;
	onPick?: (value: string) => void;
	/** What chooses the label. */
	children?: ComponentChildren;
}

function useLines(p: TimelineProps) {
	const step = Math.max(stepFor(p.range, STEPS), p.range.to - p.range.from > 6 * 60e3 ? 30 : 15);
	const stepMs = step * 1000;
	const end = p.live ? p.range.to - ON_THE_WAY_MS : p.range.to;
	const from = Math.ceil(p.range.from / stepMs) * stepMs;
	const to = Math.max(from, (p.live ? Math.floor : Math.ceil)(end / stepMs) * stepMs);
	const question = p.type === "" ? null : [p.type, p.selector, p.by, from, to, step].join(" ");
	const { data, error } = useAsk(question, async (signal) => {
		const q = { profileTypeID: p.type, labelSelector: p.selector, start: from - stepMs + 1, end: to, step };
		const [some, all] = await Promise.all([
			api.lines({ ...q, groupBy: [p.by], limit: MOST_LINES }, signal),
			api.lines({ ...q, groupBy: [], limit: 0 }, signal),
		]);
		const named = some.map((l) => ({ name: l.labels[p.by] ?? "", points: l.points }));
		const { factor } = rateUnit(p.type);
		return stackLines(named, all[0]?.points ?? [], from, to, stepMs, factor / step);
	});
	return { data, error };
}

function cssVariable(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

interface Handlers {
	onRange: (from: number, to: number) => void;
	onMoment?: (ms: number) => void;
	onCursor: (index: number | null) => void;
}

/* uPlot draws lines in their order: the highest edge first, so that the others lie on it. */
function makePlot(box: HTMLElement, s: Stacked, colours: string[], axis: string, handlers: () => Handlers): uPlot {
	const text = cssVariable("--soft");
	const grid = { stroke: cssVariable("--line"), width: 1 };
	const font = "12px system-ui, 'DejaVu Sans', sans-serif";
	const plot = new uPlot({
		width: Math.max(120, box.clientWidth),
		height: HEIGHT,
		padding: [8, 26, 0, 0],
		legend: { show: false },
		ms: 1,
		cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
		scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
		axes: [
			{ stroke: text, grid, ticks: grid, font, space: 70, size: 30,
				values: (_u, ticks, _i, _s, gap) => ticks.map((t, i) => tickText(t, ticks[i - 1], gap)) },
			{ stroke: text, grid, ticks: grid, font, size: 52, space: 28,
				values: (_u, ticks) => ticks.map((t) => (t === 0 ? "0" : trimmed(t))) },
		],
		series: [{}, ...s.lines.map((_, i) => ({
			stroke: colours[s.lines.length - 1 - i],
			fill: colours[s.lines.length - 1 - i],
			width: 0,
			paths: uPlot.paths.bars!({ size: [1, Infinity], align: -1, gap: 0 }),
			points: { show: false },
		}))],
		hooks: {
			setCursor: [(u) => handlers().onCursor(u.cursor.idx ?? null)],
			setSelect: [(u) => {
				if (u.select.width < 4)
					return;
				const [from, to] = [u.select.left, u.select.left + u.select.width].map((x) => u.posToVal(x, "x"));
				u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
				handlers().onRange(Math.round(from), Math.round(to));
			}],
		},
	}, plotData(s), box);
	plot.over.addEventListener("click", (e) => handlers().onMoment?.(Math.round(plot.posToVal(e.offsetX, "x"))));
	plot.over.setAttribute("aria-hidden", "true");
	plot.root.setAttribute("aria-hidden", "true");
	box.dataset.unit = axis;
	return plot;
}

function trimmed(t: number): string {
	return t >= 1e6 ? `${round(t / 1e6)}M` : t >= 1e4 ? `${round(t / 1e3)}k` : String(Number(t.toPrecision(3)));
}

function tickText(ms: number, before: number | undefined, gap: number): string {
	const d = new Date(ms);
	const time = d.toLocaleTimeString(undefined, {
		hour: "2-digit", minute: "2-digit", ...(gap < 60e3 ? { second: "2-digit" } : {}), hour12: false,
	});
	const day = d.toLocaleDateString(undefined, { day: "numeric", month: "short" });
	if (gap >= 86400e3)
		return day;
	return before !== undefined && new Date(before).getDate() !== d.getDate() ? day : time;
}

function plotData(s: Stacked): uPlot.AlignedData {
	return [s.times, ...s.lines.map((l) => l.top).reverse()] as uPlot.AlignedData;
}

function Plot({ stacked, colours, axis, range, shades, handlers }: {
	stacked: Stacked; colours: string[]; axis: string; range: Range; shades: Shade[]; handlers: Handlers;
}) {
	const box = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | null>(null);
	const latest = useRef(handlers);
	latest.current = handlers;
	const [at, setAt] = useState({ left: 0, width: 0 });
	const shape = `${colours.join()} ${axis}`;
	const fit = () => {
		const u = plot.current;
		if (!u)
			return;
		u.setScale("x", { min: range.from, max: range.to });
		setAt({ left: u.over.offsetLeft, width: u.over.offsetWidth });
	};
	useLayoutEffect(() => {
		const make = () => {
			plot.current?.destroy();
			plot.current = makePlot(box.current!, stacked, colours, axis, () => latest.current);
			fit();
		};
		make();
		const dark = matchMedia("(prefers-color-scheme: dark)");
		dark.addEventListener("change", make);
		const watch = new ResizeObserver(() => {
			plot.current?.setSize({ width: Math.max(120, box.current!.clientWidth), height: HEIGHT });
			fit();
		});
		watch.observe(box.current!);
		return () => {
			watch.disconnect();
			dark.removeEventListener("change", make);
			plot.current?.destroy();
			plot.current = null;
		};
	}, [shape]);
	useLayoutEffect(() => {
		plot.current?.setData(plotData(stacked), false);
		fit();
	}, [stacked, range.from, range.to]);
	const x = (ms: number) =>
		at.left + Math.max(0, Math.min(1, (ms - range.from) / (range.to - range.from))) * at.width;
	return (
		<div class="plot">
			<div ref={box} />
			{shades.filter((s) => s.to > range.from && s.from < range.to).map((s) => (
				<div key={s.class} class={`shade ${s.class}`}
					style={{ left: `${x(s.from)}px`, width: `${Math.max(2, x(s.to) - x(s.from))}px` }} />
			))}
		</div>
	);
}

export function Timeline(p: TimelineProps) {
	const { data, error } = useLines(p);
	const [cursor, setCursor] = useState<number | null>(null);
	const colourOf = useMemo(colourer, [p.by]);
	const colours = data ? data.lines.map((l) => colourOf(l.name, l.rest)) : [];
	const unit = rateUnit(p.type);
	useEffect(() => setCursor(null), [data]);
	if (error && !data)
		return <p class="timeline note bad">The time line cannot be drawn: {error.message}.</p>;
	if (!data)
		return <div class="timeline waiting" style={{ height: `${HEIGHT + 34}px` }} aria-busy="true" />;
	const n = data.times.length;
	const valueOf = (l: Stacked["lines"][number]) => (cursor !== null ? l.value[cursor] ?? 0 : l.sum / n);
	return (
		<section class="timeline" aria-label={`Time line, ${unit.axis}, by ${p.by}`}>
			<Plot stacked={data} colours={colours} axis={unit.axis} range={p.range} shades={p.shades ?? []}
				handlers={{ onRange: p.onRange, onMoment: p.onMoment, onCursor: setCursor }} />
			<div class="under">
			<ul class="lines" tabIndex={0} aria-label="Lines">
				<li class="when">{cursor !== null && cursor < n ? momentText(data.times[cursor]) : `mean, ${unit.axis}`}</li>
				{data.lines.map((l, i) => (
					<li key={l.name + String(l.rest)}>
						<button disabled={l.rest || !p.onPick} onClick={() => p.onPick?.(l.name)}
							title={l.rest ? "The rest, together" : `Only ${p.by} = ${shown(l.name, 80)}`}>
							<span class="dot" style={{ background: colours[i] }} />
							<span class="name">{l.name === "" ? "(none)" : shown(l.name, 60)}</span> <small>{round(valueOf(l))}</small>
						</button>
					</li>
				))}
			</ul>
			{p.children}
			</div>
		</section>
	);
}
