// SPDX-License-Identifier: Apache-2.0
//
// What is known of one bar, for the tooltip, the line under the graph and
// the screen reader.

import { kindOf } from "../model/colour";
import { amount, baseName, duration, grouped, meanOf, percent, samplesOf, shown, timeOf, type Scale } from "../model/format";
import type { Functions, Tree } from "../model/tree";

export interface Facts {
	name: string;
	where: string;
	/** Label and value, in the order to be read. */
	lines: [string, string][];
}

function place(fns: Functions, fn: number): string {
	const file = fns.file[fn];
	if (file === "")
		return "";
	const [a, b] = [fns.lineMin[fn], fns.lineMax[fn]];
	const line = a === 0 ? "" : a === b ? `:${a}` : `:${a}–${b}`;
	return shown(file, 200) + line;
}

/** What shares are of, where it is not all of the tree. */
export interface Of {
	/** The tree is of callers, where what a node used itself says nothing. */
	callers?: boolean;
	/** The node that fills the graph. */
	zoom?: number;
	/** Everything, where the tree is of one function alone. */
	all?: number;
}

export function factsOf(tree: Tree, node: number, fns: Functions, scale: Scale, rootName: string, of: Of = {}): Facts {
	const fn = tree.fn[node];
	const value = tree.total[node];
	const lines: [string, string][] = [];
	if (scale.unit === "bytes")
		lines.push(["size", amount(value, scale)]);
	const samples = samplesOf(value, scale);
	const time = timeOf(value, scale);
	if (samples !== null)
		lines.push(["samples", grouped(samples)]);
	if (time !== null)
		lines.push(["time", duration(time)]);
	const mean = meanOf(value, scale);
	if (mean !== null)
		lines.push(mean);
	const { zoom = 0, all = tree.total[0] } = of;
	lines.push(["of all", percent(value, all)]);
	if (of.all !== undefined)
		lines.push(["of function", percent(value, tree.total[0])]);
	if (zoom > 0 && value < tree.total[zoom])
		lines.push(["of zoomed", percent(value, tree.total[zoom])]);
	if (node > 0)
		lines.push(["of parent", percent(value, tree.total[tree.parent[node]])]);
	if (!of.callers)
		lines.push(["itself", percent(tree.self[node], all)]);
	if (fn < 0)
		return { name: rootName, where: "", lines };
	lines.push(["kind", kindOf(fns.kind[fn]).label + (fns.inlined[fn] ? ", inlined" : "")]);
	const skipped = tree.skipped?.[node] ?? 0;
	if (skipped > 0)
		lines.push(["folded", skipped === 1 ? "1 wrapper above" : `${skipped} wrappers above`]);
	const file = place(fns, fn);
	if (file !== "")
		lines.push(["source", file]);
	if (fns.binary[fn] !== "")
		lines.push(["binary", shown(fns.binary[fn], 200)]);
	return { name: shown(fns.name[fn]), where: baseName(shown(fns.binary[fn], 80)), lines };
}

/** One line of it. */
export function sentence(f: Facts): string {
	return [f.name, ...f.lines.map(([label, value]) => `${label} ${value}`)].join(", ");
}

export function Tooltip({ facts, x, y }: { facts: Facts; x: number; y: number }) {
	const right = x > innerWidth / 2;
	const below = y < innerHeight / 2;
	const style = {
		left: right ? "auto" : `${x + 14}px`,
		right: right ? `${innerWidth - x + 14}px` : "auto",
		top: below ? `${y + 16}px` : "auto",
		bottom: below ? "auto" : `${innerHeight - y + 12}px`,
	};
	return (
		<div class="tooltip" role="tooltip" style={style}>
			<div class="name">{facts.name}</div>
			<dl>
				{facts.lines.map(([label, value]) => (
					<div key={label}>
						<dt>{label}</dt>
						<dd>{value}</dd>
					</div>
				))}
			</dl>
		</div>
	);
}
