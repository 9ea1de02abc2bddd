// SPDX-License-Identifier: Apache-2.0
//
// A function between what called it and what it called.

import { useMemo, useState } from "preact/hooks";

import type { Scale } from "../model/format";
import { layOut } from "../model/layout";
import type { Functions, Tree } from "../model/tree";
import { calleesOf, callersOf } from "../model/views";
import { Graph } from "./graph";

/** A node of a tree, where a menu is wanted. */
export interface Place {
	node: number;
	tree: Tree;
	functions: Functions;
	x: number;
	y: number;
}

/** One half: the function is the tree's root. */
export interface Half {
	tree: Tree;
	functions: Functions;
	colours: string[];
	matched: Uint8Array;
}

interface Common {
	scale: Scale;
	/** The total of everything. */
	all: number;
	onMenu: (place: Place) => void;
}

/* It zooms by itself. */
function Pane({ tree, functions, colours, matched, label, flame, scale, all, onMenu }: Half & Common & {
	label: string; flame: boolean;
}) {
	const layout = useMemo(() => layOut(tree), [tree]);
	const [zoom, setZoom] = useState({ tree, node: 0 });
	const node = zoom.tree === tree ? zoom.node : 0;
	return (
		<section class="pane" aria-label={label}>
			<h2>{label}{node > 0 && <button onClick={() => setZoom({ tree, node: 0 })}>Reset zoom</button>}</h2>
			<Graph
				label={label} rootName="all" tree={tree} layout={layout} functions={functions} colours={colours}
				scale={scale} all={all} flame={flame} callers={flame} zoom={node} matched={matched}
				onZoom={(n) => setZoom({ tree, node: n })}
				onMenu={(n, x, y) => onMenu({ node: n, tree, functions, x, y })}
			/>
		</section>
	);
}

export function Halves({ callers, callees, ...common }: Common & { callers: Half; callees: Half }) {
	return (
		<div class="halves">
			<Pane {...common} {...callers} label="Callers" flame />
			<Pane {...common} {...callees} label="Callees" flame={false} />
		</div>
	);
}

export function NoFunction() {
	return <p class="empty">Choose a function in the table: its callers are shown above it, what it calls below.</p>;
}

/** Of a profile that is all here. */
export function Sandwich({ fn, tree, ...rest }: Half & Omit<Common, "all"> & { fn: number }) {
	const n = rest.functions.n;
	const callers = useMemo(() => (fn >= 0 ? callersOf(tree, fn, n) : null), [tree, fn]);
	const callees = useMemo(() => (fn >= 0 ? calleesOf(tree, fn) : null), [tree, fn]);
	if (!callers || !callees)
		return <NoFunction />;
	return <Halves scale={rest.scale} all={tree.total[0]} onMenu={rest.onMenu}
		callers={{ ...rest, tree: callers }} callees={{ ...rest, tree: callees }} />;
}
