// SPDX-License-Identifier: Apache-2.0
//
// The sub-second heat map: a column a second, a row for each part of it.

export interface Heat {
	/** Milliseconds: where the first column begins. */
	start: number;
	cellMs: number;
	columns: number;
	rows: number;
	/** Column by column; within one, in the order of time. */
	value: Float64Array;
	max: number;
}

export interface Sparse {
	start: number;
	cellMs: number;
	n: number;
	at: number[];
	value: number[];
}

const COARSE_MS = 100;

/**
 * Cells shorter than the time between two samples of a CPU are stripes that mean
 * nothing: where half of all used cells stand alone, they are put together.
 */
export function withoutStripes(c: Sparse): Sparse {
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

export function heatOf(c: Sparse): Heat {
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

/** The cells from one to the other in the order of time, whichever came first. */
export function sliceOf(h: Heat, a: { column: number; row: number }, b: { column: number; row: number }): [number, number] {
	const [i, k] = [a.column * h.rows + a.row, b.column * h.rows + b.row];
	return i <= k ? [i, k] : [k, i];
}

type Rgb = [number, number, number];
const LIGHT: Rgb[] = [[255, 243, 214], [246, 172, 84], [201, 64, 43], [92, 12, 48]];
const DARK: Rgb[] = [[44, 32, 40], [140, 36, 62], [226, 106, 52], [255, 232, 150]];

/** From little to much, told apart by lightness alone too. */
export function heatColour(share: number, dark: boolean): string {
	const stops = dark ? DARK : LIGHT;
	const at = Math.sqrt(Math.max(0, Math.min(1, share))) * (stops.length - 1);
	const i = Math.min(stops.length - 2, Math.floor(at));
	const c = [0, 1, 2].map((k) => Math.round(stops[i][k] + (stops[i + 1][k] - stops[i][k]) * (at - i)));
	return `rgb(${c.join()})`;
}
