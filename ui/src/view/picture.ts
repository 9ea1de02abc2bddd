// SPDX-License-Identifier: Apache-2.0
//
// The whole of a graph as a picture to take away: what the screen shows of it
// at its zoom, and the rows below the screen too.

import { toSvg, type Picture } from "../model/download";
import type { Download } from "./bar";
import { inksOf, Labels, paint, ROW, type Scene } from "./painter";
import { fileName, save } from "./save";
import { readTheme } from "./theme";

const WIDTH = 1440;
const RATIO = 2;
/* A canvas of more is none in some browsers. */
const MOST_ROWS = 800;

function savePng(p: Picture): void {
	const theme = readTheme();
	const scene: Scene = {
		tree: p.tree, layout: p.layout, rootName: p.rootName, labels: new Labels(p.functions),
		inks: inksOf(p.colours, theme.shade), byNode: p.byNode ?? false, ruler: p.ruler ?? false,
		theme, matched: new Uint8Array(0), flame: p.flame,
	};
	const canvas = document.createElement("canvas");
	const rows = p.layout.rows.length;
	const height = Math.min(rows, MOST_ROWS) * ROW;
	canvas.width = WIDTH * RATIO;
	canvas.height = height * RATIO;
	const from = p.layout.start[p.zoom];
	paint(canvas.getContext("2d")!, RATIO, scene, {
		width: WIDTH, height, from, to: from + (p.tree.total[p.zoom] || 1),
		scroll: p.flame ? rows * ROW - height : 0,
	}, { image: null, line: null });
	canvas.toBlob((b) => b && save(fileName(p.title, ".png"), b));
}

export function pictures(p: Picture): Download[] {
	return [
		{ text: "SVG picture", run: () => save(fileName(p.title, ".svg"), toSvg(p), "image/svg+xml") },
		{ text: "PNG picture", run: () => savePng(p) },
	];
}
