// SPDX-License-Identifier: Apache-2.0
//
// The sandwich view: the callers of a function above it, its callees below it.

import { useMemo, useState } from "preact/hooks";

import type { Scale } from "../model/format";
import { layOut } from "../model/layout";
import { calleesOf, callersOf } from "../model/transform";
import type { Functions, Tree } from "../model/tree";
import { Graph } from "./graph";

/** A node whose context menu is requested, and the position on the screen. */
export interface MenuTarget {
	node: number;
	tree: Tree;
	functions: Functions;
	x: number;
	y: number;
}

/** One half of the view. The root of the tree is the function. */
export interface SandwichHalf {
	tree: Tree;
	functions: Functions;
	colours: string[];
	matched: Uint8Array;
}

interface Common {
	scale: Scale;
	/** The total of the profile. */
	all: number;
	onMenu: (place: MenuTarget) => void;
}

/* Each pane has a zoom of its own, which is not part of the URL. */
function Pane({ tree, functions, colours, matched, label, flame, scale, all, onMenu }: SandwichHalf & Common & {
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

export function SandwichPanes({ callers, callees, ...common }: Common & { callers: SandwichHalf; callees: SandwichHalf }) {
	return (
		<div class="halves">
			<Pane {...common} {...callers} label="Callers" flame />
			<Pane {...common} {...callees} label="Callees" flame={false} />
		</div>
	);
}

export function ChooseFunction() {
	return <p class="empty">Select a function in the table to see its callers and callees.</p>;
}

/** Computes both halves from a complete tree. */
export function Sandwich({ fn, tree, ...rest }: SandwichHalf & Omit<Common, "all"> & { fn: number }) {
	const n = rest.functions.n;
	const callers = useMemo(() => (fn >= 0 ? callersOf(tree, fn, n) : null), [tree, fn]);
	const callees = useMemo(() => (fn >= 0 ? calleesOf(tree, fn) : null), [tree, fn]);
	if (!callers || !callees)
		return <ChooseFunction />;
	return <SandwichPanes scale={rest.scale} all={tree.total[0]} onMenu={rest.onMenu}
		callers={{ ...rest, tree: callers }} callees={{ ...rest, tree: callees }} />;
}
