// SPDX-License-Identifier: Apache-2.0
//
// One flame graph: a canvas that stays where it is while its container
// scrolls, so that a stack of a thousand frames costs no more than a screen.
// It draws when something changed and at no other time.

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { shown, type Scale } from "../model/format";
import { findPath, pathKey } from "../model/hash";
import { nodeAt, type Layout } from "../model/layout";
import { pathOf, type Functions, type Tree } from "../model/tree";
import { factsOf, sentence, Tooltip, type Facts } from "./describe";
import { useDrawing } from "./drawing";
import { step } from "./keys";
import { depthAt, inksOf, Labels, ROW, rowTop, type Scene } from "./painter";
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
	/** Everything, where the tree is of one function alone. */
	all?: number;
	flame: boolean;
	/** The graph goes on with time: nanoseconds from its left edge. */
	ruler?: boolean;
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

/* The node of @to with the path that @node has in @from, or -1. */
function sameNode(from: Tree, fromFns: Functions, node: number, to: Tree, toFns: Functions): number {
	return findPath(to, toFns.key, pathKey(pathOf(from, node).map((fn) => fromFns.key[fn])));
}

export function Graph(props: GraphProps) {
	const { tree, layout, functions, flame, zoom } = props;
	const box = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const over = useRef<HTMLCanvasElement>(null);
	const [pointer, setPointer] = useState(NOWHERE);
	const [cursor, setCursor] = useState(-1);
	const theme = useTheme();
	const labels = useMemo(() => new Labels(functions), [functions]);
	const colours = props.nodeColours ?? props.colours;
	const inks = useMemo(() => inksOf(colours, theme.shade), [colours, theme]);
	const height = layout.rows.length * ROW;

	const scene: Scene = {
		tree, layout, labels, theme, flame, inks,
		byNode: props.nodeColours !== undefined,
		rootName: props.rootName,
		matched: props.matched,
		ruler: props.ruler ?? false,
	};
	const { pane, redraw } = useDrawing({ box, below: canvas, above: over }, scene, zoom,
		{ hover: pointer.node, cursor });
	/* A tree that takes the place of another, as it does on a live page, keeps what is looked at. */
	const before = useRef<{ tree: Tree; functions: Functions; flame: boolean } | null>(null);
	useLayoutEffect(() => {
		const b = before.current;
		before.current = { tree, functions, flame };
		if (b?.flame !== flame)
			box.current!.scrollTop = flame ? box.current!.scrollHeight : 0;
		if (!b || b.tree === tree)
			return;
		setCursor((at) => (at > 0 && at < b.tree.n && !props.ruler ? sameNode(b.tree, b.functions, at, tree, functions) : -1));
		/* What is under the mouse now is known once it is drawn. */
		requestAnimationFrame(() => setPointer((p) => (p.node < 0 ? p : { ...p, node: nodeUnder(p.x, p.y) })));
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

	const nodeUnder = (x: number, y: number): number => {
		if (!box.current)
			return -1;
		const r = box.current.getBoundingClientRect();
		const { width, scroll, from, to } = pane.current;
		const depth = depthAt(y - r.top + scroll, layout.rows.length, flame);
		const value = from + ((x - r.left) / width) * (to - from);
		const row = layout.rows[depth];
		return row ? nodeAt(tree, layout, row, value) : -1;
	};
	const find = (e: MouseEvent): number => nodeUnder(e.clientX, e.clientY);
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
		?? factsOf(tree, told < tree.n ? told : 0, functions, props.scale, props.rootName,
			{ callers: props.callers, zoom, all: props.all });
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
