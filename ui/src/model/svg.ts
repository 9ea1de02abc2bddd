// SPDX-License-Identifier: Apache-2.0
//
// Draws a flame graph or flame chart as a stand-alone SVG file without scripts.

import { displayName } from "./format";
import { visibleBars, type Layout } from "./layout";
import { shortForms } from "./short_names";
import type { Functions, Tree } from "./tree";

const ROW = 18;
const CHAR = 7.2;

function escaped(text: string): string {
	return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

export interface GraphImage {
	tree: Tree;
	layout: Layout;
	functions: Functions;
	/** By function, or by node if @byNode. */
	colours: string[];
	byNode?: boolean;
	ruler?: boolean;
	flame: boolean;
	zoom: number;
	rootName: string;
	title: string;
	/** Returns the tooltip of a node. */
	describe: (node: number) => string;
}

/** Draws all rows of the graph at its zoom. */
export function toSvg(p: GraphImage, width = 1200): string {
	const { tree, layout } = p;
	const from = layout.start[p.zoom];
	const span = { from, to: from + (tree.total[p.zoom] || 1), width };
	const height = (layout.rows.length + 2) * ROW;
	const out = [
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
		`font-family="monospace" font-size="12">`,
		`<rect width="100%" height="100%" fill="#fff"/>`,
		`<text x="4" y="14">${escaped(displayName(p.title, 150))}</text>`,
	];
	layout.rows.forEach((row, depth) => {
		const y = (p.flame ? layout.rows.length - depth : depth + 1) * ROW + 4;
		visibleBars(tree, layout, row, span, (bar) => {
			const fn = tree.fn[bar.node];
			const run = bar.end - bar.first > 1;
			const fill = run && bar.width > 3 ? "#e6e7ea" : p.byNode ? p.colours[bar.node] : fn >= 0 ? p.colours[fn] : "#bbb";
			const rect = `<rect x="${bar.x.toFixed(1)}" y="${y}" width="${bar.width.toFixed(1)}" ` +
				`height="${ROW - 1}" fill="${fill}"/>`;
			if (run) {
				out.push(rect);
				return;
			}
			const name = fn >= 0 ? displayName(p.functions.name[fn], 300) : p.rootName;
			const room = Math.floor((bar.width - 6) / CHAR);
			const forms = [name, ...(name.length > room && fn >= 0 ? shortForms(name, p.functions.kind[fn]) : [])];
			const form = forms.find((f) => f.length <= room) ?? forms[forms.length - 1];
			const text = form.length <= room ? form : room >= 3 ? form.slice(0, room - 1) + "…" : "";
			out.push(`<g><title>${escaped(p.describe(bar.node))}</title>${rect}` +
				(text === "" ? "" : `<text x="${(bar.x + 3).toFixed(1)}" y="${y + 13}">${escaped(text)}</text>`) +
				"</g>");
		});
	});
	out.push("</svg>\n");
	return out.join("\n");
}
