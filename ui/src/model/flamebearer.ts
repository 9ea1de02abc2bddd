// SPDX-License-Identifier: Apache-2.0
//
// Pyroscope's flame graph as the page's own JSON. It has names only: a server
// that has the page's own method says more.

interface FlameGraph {
	names?: string[];
	levels?: { values?: (string | number)[] }[];
}

/** Bars of a level are {offset from the end of the one before, total, self, name}. */
export function fromFlameGraph(f: FlameGraph, unit: string, type: string): unknown {
	const strings = ["", "unknown", "native", ...(f.names ?? [])];
	const frames = (f.names ?? []).map((_, i) => [3 + i, 0, 0, 2, 0]);
	const parent: number[] = [];
	const frame: number[] = [];
	const self: number[] = [];
	let above: { x: number; total: number; node: number }[] = [];
	(f.levels ?? []).forEach((level, depth) => {
		const row: typeof above = [];
		const v = (level.values ?? []).map(Number);
		let x = 0;
		let up = 0;
		for (let i = 0; i + 3 < v.length; i += 4) {
			x += v[i];
			while (up < above.length && above[up].x + above[up].total <= x)
				up++;
			row.push({ x, total: v[i + 1], node: parent.length });
			parent.push(depth === 0 ? -1 : above[up]?.node ?? 0);
			frame.push(depth === 0 ? -1 : v[i + 3]);
			self.push(v[i + 2]);
			x += v[i + 1];
		}
		above = row;
	});
	if (parent.length === 0) {
		parent.push(-1);
		frame.push(-1);
		self.push(0);
	}
	return { version: 1, unit, type, strings, frames, nodes: { parent, frame, self } };
}
