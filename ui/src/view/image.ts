// SPDX-License-Identifier: Apache-2.0
//
// Downloads of a graph as SVG or PNG image. An image shows the graph at its
// zoom, including the rows that are not visible on the screen.

import { toSvg, type GraphImage } from "../model/svg";
import type { Download } from "./controls";
import { Labels, paint, ROW, toPixelColours, type Scene } from "./painter";
import { fileName, save } from "./save";
import { readTheme } from "./theme";

const WIDTH = 1440;
const RATIO = 2;
/* Some browsers refuse larger canvases. */
const MAX_ROWS = 800;

function savePng(p: GraphImage): void {
	const theme = readTheme();
	const scene: Scene = {
		tree: p.tree, layout: p.layout, rootName: p.rootName, labels: new Labels(p.functions),
		pixelColours: toPixelColours(p.colours, theme.shade), byNode: p.byNode ?? false, ruler: p.ruler ?? false,
		theme, matched: new Uint8Array(0), flame: p.flame,
	};
	const canvas = document.createElement("canvas");
	const rows = p.layout.rows.length;
	const height = Math.min(rows, MAX_ROWS) * ROW;
	canvas.width = WIDTH * RATIO;
	canvas.height = height * RATIO;
	const from = p.layout.start[p.zoom];
	paint(canvas.getContext("2d")!, RATIO, scene, {
		width: WIDTH, height, from, to: from + (p.tree.total[p.zoom] || 1),
		scroll: p.flame ? rows * ROW - height : 0,
	}, { image: null, row: null });
	canvas.toBlob((b) => b && save(fileName(p.title, ".png"), b));
}

export function imageDownloads(p: GraphImage): Download[] {
	return [
		{ text: "SVG image", run: () => save(fileName(p.title, ".svg"), toSvg(p), "image/svg+xml") },
		{ text: "PNG image", run: () => savePng(p) },
	];
}
