// SPDX-License-Identifier: Apache-2.0
//
// One flame graph or flame chart. The canvas is as large as the visible area
// and stays in place while its container scrolls, so the cost of drawing does
// not depend on the depth of the stacks. Nothing is drawn without a change.

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { displayName, type Scale } from "../model/format";
import { findPath, pathKey } from "../model/hash";
import { nodeAt, type Layout } from "../model/layout";
import { pathOf, type Functions, type Tree } from "../model/tree";
import { nextNode } from "./graph_keys";
import { detailsText, nodeDetails, Tooltip, type NodeDetails } from "./node_details";
import { depthAt, Labels, ROW, rowTop, toPixelColours, type Scene } from "./painter";
import { useTheme } from "./theme";
import { useDrawing } from "./use_drawing";

export interface GraphProps {
	label: string;
	rootName: string;
	tree: Tree;
	layout: Layout;
	functions: Functions;
	colours: string[];
	nodeColours?: string[];
	scale: Scale;
	/** The tree is inverted: it leads from the leaf functions to their callers. */
	callers?: boolean;
	/** The total of the profile, if the tree contains one function only. */
	all?: number;
	flame: boolean;
	/** The horizontal axis is time, in nanoseconds from the left edge. */
	ruler?: boolean;
	zoom: number;
	matched: Uint8Array;
	/** Returns the details of a node; nodeDetails() by default. */
	describe?: (node: number) => NodeDetails;
	/** A node to scroll to. A new @sequence requests it again. */
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

/** The ARIA label of a graph, with its keys. */
export function graphLabel(name: string): string {
	return `${name}. Use the arrow keys to move, Enter to zoom, Escape to reset.`;
}

/* Returns the node of @to that has the path of @node in @from, or -1. */
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
	const inks = useMemo(() => toPixelColours(colours, theme.shade), [colours, theme]);
	const height = layout.rows.length * ROW;

	const scene: Scene = {
		tree, layout, labels, theme, flame, pixelColours: inks,
		byNode: props.nodeColours !== undefined,
		rootName: props.rootName,
		matched: props.matched,
		ruler: props.ruler ?? false,
	};
	const { pane, redraw } = useDrawing({ box, below: canvas, above: over }, scene, zoom,
		{ hover: pointer.node, cursor });
	/* A live page replaces the tree; the cursor stays on the node with the same path. */
	const before = useRef<{ tree: Tree; functions: Functions; flame: boolean } | null>(null);
	useLayoutEffect(() => {
		const b = before.current;
		before.current = { tree, functions, flame };
		if (b?.flame !== flame)
			box.current!.scrollTop = flame ? box.current!.scrollHeight : 0;
		if (!b || b.tree === tree)
			return;
		setCursor((at) => (at > 0 && at < b.tree.n && !props.ruler ? sameNode(b.tree, b.functions, at, tree, functions) : -1));
		/* The node under the pointer is known only after the new tree was drawn. */
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
	const nodeAtEvent = (e: MouseEvent): number => nodeUnder(e.clientX, e.clientY);
	const onKey = (e: KeyboardEvent) => {
		const at = cursor >= 0 ? cursor : zoom;
		const to = nextNode(tree, layout, at, zoom, e.key, flame);
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
	const described = pointer.node >= 0 ? pointer.node : cursor >= 0 ? cursor : zoom;
	const details = props.describe?.(described < tree.n ? described : 0)
		?? nodeDetails(tree, described < tree.n ? described : 0, functions, props.scale, props.rootName,
			{ callers: props.callers, zoom, all: props.all });
	return (
		<div class="graph">
			<div
				class="scroll" ref={box} tabIndex={0} role="application"
				aria-roledescription="flame graph" aria-label={props.label}
				onScroll={redraw}
				onKeyDown={onKey}
				onPointerMove={(e) => setPointer({
					node: nodeAtEvent(e), x: e.clientX, y: e.clientY, touch: e.pointerType === "touch",
				})}
				onPointerLeave={() => setPointer(NOWHERE)}
				onClick={(e) => {
					const node = nodeAtEvent(e);
					if (node >= 0) {
						setCursor(node);
						props.onZoom(node);
					}
				}}
				onContextMenu={(e) => {
					const node = nodeAtEvent(e);
					e.preventDefault();
					setPointer(NOWHERE);
					if (node >= 0 && tree.fn[node] >= 0)
						props.onMenu(node, e.clientX, e.clientY);
				}}
			>
				<div class="scroll-content" style={{ height: `${height}px` }}>
					<div class="stage" aria-hidden="true">
						<canvas ref={canvas} />
						<canvas ref={over} />
					</div>
				</div>
			</div>
			<div class="node-details" role="status" aria-label={detailsText(details)}>
				<b>{displayName(details.name, 200)}</b>
				{details.lines.map(([label, value]) => (
					<span key={label}><i>{label}</i> {value}</span>
				))}
			</div>
			{pointer.node >= 0 && pointer.node < tree.n && tree.fn[pointer.node] >= 0 && !pointer.touch &&
				<Tooltip facts={details} x={pointer.x} y={pointer.y} />}
		</div>
	);
}
