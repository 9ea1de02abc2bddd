// SPDX-License-Identifier: Apache-2.0
//
// The details of one bar, for the tooltip, the status line below the graph and
// screen readers.

import { kindOf } from "../model/colour";
import {
	baseName, displayName, formatCount, formatDuration, formatPercent, formatValue, meanConcurrency,
	toNanoseconds, toSamples, type Scale,
} from "../model/format";
import type { Functions, Tree } from "../model/tree";

export interface NodeDetails {
	name: string;
	where: string;
	/** Labels and values, in display order. */
	lines: [string, string][];
}

function sourceLocation(fns: Functions, fn: number): string {
	const file = fns.file[fn];
	if (file === "")
		return "";
	const [a, b] = [fns.lineMin[fn], fns.lineMax[fn]];
	const line = a === 0 ? "" : a === b ? `:${a}` : `:${a}–${b}`;
	return displayName(file, 200) + line;
}

/** The total that the shares refer to, if it is not the total of the tree. */
export interface DetailsContext {
	/** The tree is inverted; self values are meaningless in it. */
	callers?: boolean;
	/** The node that is zoomed. */
	zoom?: number;
	/** The total of the profile, if the tree contains one function only. */
	all?: number;
}

export function nodeDetails(tree: Tree, node: number, fns: Functions, scale: Scale, rootName: string, of: DetailsContext = {}): NodeDetails {
	const fn = tree.fn[node];
	const value = tree.total[node];
	const lines: [string, string][] = [];
	if (scale.unit === "bytes")
		lines.push(["size", formatValue(value, scale)]);
	const samples = toSamples(value, scale);
	const time = toNanoseconds(value, scale);
	if (samples !== null)
		lines.push(["samples", formatCount(samples)]);
	if (time !== null)
		lines.push(["time", formatDuration(time)]);
	const mean = meanConcurrency(value, scale);
	if (mean !== null)
		lines.push(mean);
	const { zoom = 0, all = tree.total[0] } = of;
	lines.push(["of total", formatPercent(value, all)]);
	if (of.all !== undefined)
		lines.push(["of function", formatPercent(value, tree.total[0])]);
	if (zoom > 0 && value < tree.total[zoom])
		lines.push(["of zoomed", formatPercent(value, tree.total[zoom])]);
	if (node > 0)
		lines.push(["of parent", formatPercent(value, tree.total[tree.parent[node]])]);
	if (!of.callers)
		lines.push(["self", formatPercent(tree.self[node], all)]);
	if (fn < 0)
		return { name: rootName, where: "", lines };
	lines.push(["frame type", kindOf(fns.kind[fn]).label + (fns.inlined[fn] ? ", inlined" : "")]);
	const skipped = tree.skipped?.[node] ?? 0;
	if (skipped > 0)
		lines.push(["collapsed", skipped === 1 ? "1 wrapper above" : `${skipped} wrappers above`]);
	const file = sourceLocation(fns, fn);
	if (file !== "")
		lines.push(["source", file]);
	if (fns.binary[fn] !== "")
		lines.push(["binary", displayName(fns.binary[fn], 200)]);
	return { name: displayName(fns.name[fn]), where: baseName(displayName(fns.binary[fn], 80)), lines };
}

/** Returns the details as one line of text. */
export function detailsText(f: NodeDetails): string {
	return [f.name, ...f.lines.map(([label, value]) => `${label} ${value}`)].join(", ");
}

export function Tooltip({ facts, x, y }: { facts: NodeDetails; x: number; y: number }) {
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
