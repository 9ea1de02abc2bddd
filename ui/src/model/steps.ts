// SPDX-License-Identifier: Apache-2.0
//
// Long computations in steps. A computation is a generator that yields between
// steps of a few milliseconds. It runs either at once, or in slices between
// which the browser handles input and draws.

export type Steps<T> = Generator<void, T>;

/** A loop yields once in this many iterations. */
export const ITERATIONS = 4096;
const SLICE_MS = 25;

export function runAtOnce<T>(steps: Steps<T>): T {
	for (;;) {
		const r = steps.next();
		if (r.done)
			return r.value;
	}
}

export async function runInSlices<T>(steps: Steps<T>): Promise<T> {
	for (let end = performance.now() + SLICE_MS;;) {
		const r = steps.next();
		if (r.done)
			return r.value;
		if (performance.now() >= end) {
			await new Promise((done) => setTimeout(done));
			end = performance.now() + SLICE_MS;
		}
	}
}
