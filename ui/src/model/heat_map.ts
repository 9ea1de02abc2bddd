// SPDX-License-Identifier: Apache-2.0
//
// The sub-second heat map: one column per second, and one row per cell within
// the second.

export interface HeatMapData {
	/** The start of the first column, in milliseconds since 1970. */
	start: number;
	cellMs: number;
	columns: number;
	rows: number;
	/** The cells in order of time, column after column. */
	value: Float64Array;
	max: number;
}

/** Cells of @cellMs from @start on: @at lists the indices of those that are not empty, @value their values. */
export interface SparseCells {
	start: number;
	cellMs: number;
	n: number;
	at: number[];
	value: number[];
}

const COARSE_MS = 100;

/**
 * Merges cells that are too short. Cells shorter than the sampling period show up as
 * stripes without meaning, so if half of the non-empty cells have no neighbour, the cells
 * are merged into ones of COARSE_MS.
 */
export function mergeSparseCells(c: SparseCells): SparseCells {
	const alone = c.at.filter((at, i) => c.at[i - 1] !== at - 1 && c.at[i + 1] !== at + 1).length;
	if (c.cellMs >= COARSE_MS || alone * 2 < c.at.length)
		return c;
	const start = Math.floor(c.start / COARSE_MS) * COARSE_MS;
	const sums = new Map<number, number>();
	c.at.forEach((at, i) => {
		const k = Math.floor((c.start + at * c.cellMs - start) / COARSE_MS);
		sums.set(k, (sums.get(k) ?? 0) + c.value[i]);
	});
	return {
		start, cellMs: COARSE_MS, n: Math.ceil((c.start - start + c.n * c.cellMs) / COARSE_MS),
		at: [...sums.keys()], value: [...sums.values()],
	};
}

export function buildHeatMap(c: SparseCells): HeatMapData {
	const rows = Math.max(1, Math.round(1000 / c.cellMs));
	const start = Math.floor(c.start / 1000) * 1000;
	const shift = Math.round((c.start - start) / c.cellMs);
	const columns = Math.max(1, Math.ceil((c.n + shift) / rows));
	const value = new Float64Array(columns * rows);
	c.at.forEach((at, k) => {
		if (at >= 0 && at < c.n)
			value[at + shift] += c.value[k];
	});
	return { start, cellMs: c.cellMs, columns, rows, value, max: value.reduce((a, b) => Math.max(a, b), 0) };
}

/** Returns the indices of the first and last cell between @a and @b, in either order. */
export function sliceBetween(h: HeatMapData, a: { column: number; row: number }, b: { column: number; row: number }): [number, number] {
	const [i, k] = [a.column * h.rows + a.row, b.column * h.rows + b.row];
	return i <= k ? [i, k] : [k, i];
}

type Rgb = [number, number, number];
const LIGHT: Rgb[] = [[255, 243, 214], [246, 172, 84], [201, 64, 43], [92, 12, 48]];
const DARK: Rgb[] = [[44, 32, 40], [140, 36, 62], [226, 106, 52], [255, 232, 150]];

/** Returns the colour of a share from 0 to 1. Lightness alone conveys the order, for people who see no hues. */
export function heatColour(share: number, dark: boolean): string {
	const stops = dark ? DARK : LIGHT;
	const at = Math.sqrt(Math.max(0, Math.min(1, share))) * (stops.length - 1);
	const i = Math.min(stops.length - 2, Math.floor(at));
	const c = [0, 1, 2].map((k) => Math.round(stops[i][k] + (stops[i + 1][k] - stops[i][k]) * (at - i)));
	return `rgb(${c.join()})`;
}
