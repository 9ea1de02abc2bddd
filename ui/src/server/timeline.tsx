// SPDX-License-Identifier: Apache-2.0
//
// The timeline: usage over time, stacked by a label. Dragging selects a time
// range; a click on a name in the legend filters by it.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";

import { displayName, formatNumber } from "../model/format";
import { formatDateTime, stepSeconds, type Range } from "../model/range";
import { createSeriesColours, rateUnit, stackSeries, type StackedTimeline } from "../model/stacked_series";
import * as api from "./api";
import { useQuery } from "./use_query";

/* Small screens leave more room to the view below. */
const height = () => (innerHeight < 1000 ? 100 : 132);
const STEPS = 180;
const MAX_SERIES = 9;
/* Agents send a profile when it is complete, so the newest data is not there yet. */
const INGEST_DELAY_MS = 12_000;

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
	onTime?: (ms: number) => void;
	onPick?: (value: string) => void;
	/** Controls next to the legend. */
	children?: ComponentChildren;
}

function useSeries(p: TimelineProps) {
	const step = Math.max(stepSeconds(p.range, STEPS), p.range.to - p.range.from > 6 * 60e3 ? 30 : 15);
	const stepMs = step * 1000;
	const end = p.live ? p.range.to - INGEST_DELAY_MS : p.range.to;
	const from = Math.ceil(p.range.from / stepMs) * stepMs;
	const to = Math.max(from, (p.live ? Math.floor : Math.ceil)(end / stepMs) * stepMs);
	const question = p.type === "" ? null : [p.type, p.selector, p.by, from, to, step].join(" ");
	const { data, error } = useQuery(question, async (signal) => {
		const q = { profileTypeID: p.type, labelSelector: p.selector, start: from - stepMs + 1, end: to, step };
		const [some, all] = await Promise.all([
			api.series({ ...q, groupBy: [p.by], limit: MAX_SERIES }, signal),
			api.series({ ...q, groupBy: [], limit: 0 }, signal),
		]);
		const named = some.map((l) => ({ name: l.labels[p.by] ?? "", points: l.points }));
		const { factor } = rateUnit(p.type);
		return stackSeries(named, all[0]?.points ?? [], from, to, stepMs, factor / step);
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

/* uPlot draws series in order, so the highest edge comes first and the others cover it. */
function makePlot(box: HTMLElement, s: StackedTimeline, colours: string[], axis: string, handlers: () => Handlers): uPlot {
	const text = cssVariable("--soft");
	const grid = { stroke: cssVariable("--line"), width: 1 };
	const font = "12px system-ui, 'DejaVu Sans', sans-serif";
	const plot = new uPlot({
		width: Math.max(120, box.clientWidth),
		height: height(),
		padding: [8, 26, 0, 0],
		legend: { show: false },
		ms: 1,
		cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
		scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.05 : 1] } },
		axes: [
			{ stroke: text, grid, ticks: grid, font, space: 70, size: 30,
				values: (_u, ticks, _i, _s, gap) => ticks.map((t, i) => formatTimeTick(t, ticks[i - 1], gap)) },
			{ stroke: text, grid, ticks: grid, font, size: 52, space: 28,
				values: (_u, ticks) => ticks.map((t) => (t === 0 ? "0" : formatTick(t))) },
		],
		series: [{}, ...s.series.map((_, i) => ({
			stroke: colours[s.series.length - 1 - i],
			fill: colours[s.series.length - 1 - i],
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

function formatTick(t: number): string {
	return t >= 1e6 ? `${formatNumber(t / 1e6)}M` : t >= 1e4 ? `${formatNumber(t / 1e3)}k` : String(Number(t.toPrecision(3)));
}

function formatTimeTick(ms: number, before: number | undefined, gap: number): string {
	const d = new Date(ms);
	const time = d.toLocaleTimeString(undefined, {
		hour: "2-digit", minute: "2-digit", ...(gap < 60e3 ? { second: "2-digit" } : {}), hour12: false,
	});
	const day = d.toLocaleDateString(undefined, { day: "numeric", month: "short" });
	if (gap >= 86400e3)
		return day;
	return before !== undefined && new Date(before).getDate() !== d.getDate() ? day : time;
}

function plotData(s: StackedTimeline): uPlot.AlignedData {
	return [s.times, ...s.series.map((l) => l.top).reverse()] as uPlot.AlignedData;
}

function Plot({ stacked, colours, axis, range, shades, handlers }: {
	stacked: StackedTimeline; colours: string[]; axis: string; range: Range; shades: Shade[]; handlers: Handlers;
}) {
	const box = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | null>(null);
	const latest = useRef(handlers);
	latest.current = handlers;
	const [area, setArea] = useState({ left: 0, width: 0 });
	const shape = `${colours.join()} ${axis}`;
	const fit = () => {
		const u = plot.current;
		if (!u)
			return;
		u.setScale("x", { min: range.from, max: range.to });
		setArea({ left: u.over.offsetLeft, width: u.over.offsetWidth });
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
			plot.current?.setSize({ width: Math.max(120, box.current!.clientWidth), height: height() });
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
		area.left + Math.max(0, Math.min(1, (ms - range.from) / (range.to - range.from))) * area.width;
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
	const { data, error } = useSeries(p);
	const [cursor, setCursor] = useState<number | null>(null);
	const colourOf = useMemo(createSeriesColours, [p.by]);
	const colours = data ? data.series.map((l) => colourOf(l.name, l.isRemainder)) : [];
	const unit = rateUnit(p.type);
	useEffect(() => setCursor(null), [data]);
	if (error && !data)
		return <p class="timeline note error">Cannot load the timeline: {error.message}.</p>;
	if (!data)
		return <div class="timeline waiting" style={{ height: `${height() + 34}px` }} aria-busy="true" />;
	const n = data.times.length;
	const valueOf = (l: StackedTimeline["series"][number]) => (cursor !== null ? l.value[cursor] ?? 0 : l.sum / n);
	return (
		<section class="timeline" aria-label={`Timeline, ${unit.axis}, by ${p.by}`}>
			<Plot stacked={data} colours={colours} axis={unit.axis} range={p.range} shades={p.shades ?? []}
				handlers={{ onRange: p.onRange, onMoment: p.onTime, onCursor: setCursor }} />
			<div class="timeline-footer">
			<ul class="series" tabIndex={0} aria-label="Series">
				<li class="cursor-time">{cursor !== null && cursor < n ? formatDateTime(data.times[cursor]) : `Mean, ${unit.axis}`}</li>
				{data.series.map((l, i) => (
					<li key={l.name + String(l.isRemainder)}>
						<button disabled={l.isRemainder || !p.onPick} onClick={() => p.onPick?.(l.name)}
							title={l.isRemainder ? "All other series" : `Filter by ${p.by} = ${displayName(l.name, 80)}`}>
							<span class="dot" style={{ background: colours[i] }} />
							<span class="name">{l.name === "" ? "(none)" : displayName(l.name, 60)}</span> <small>{formatNumber(valueOf(l))}</small>
						</button>
					</li>
				))}
			</ul>
			{p.children}
			</div>
		</section>
	);
}
