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
import { useDrawing } from "./drawing";
import { step } from "./keys";
import { depthAt, labels, ROW, rowTop, type Scene } from "./painter";
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
	/** The tree leads from what ran to its callers. */
	callers?: boolean;
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
	const { pane, redraw } = useDrawing({ box, below: canvas, above: over }, scene, zoom,
		{ hover: pointer.node, cursor });
	/* A tree that takes the place of another keeps the place that is looked at. */
	const drawnFlame = useRef<boolean | null>(null);
	useLayoutEffect(() => {
		setCursor(-1);
		setPointer(NOWHERE);
		if (drawnFlame.current !== flame)
			box.current!.scrollTop = flame ? box.current!.scrollHeight : 0;
		drawnFlame.current = flame;
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
		const { width, scroll, from, to } = pane.current;
		const depth = depthAt(e.clientY - r.top + scroll, layout.rows.length, flame);
		const value = from + ((e.clientX - r.left) / width) * (to - from);
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
		?? factsOf(tree, told < tree.n ? told : 0, functions, props.scale, props.rootName, props.callers);
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
