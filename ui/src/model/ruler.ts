// SPDX-License-Identifier: Apache-2.0
//
// Positions and texts of the ticks of time axes.

/** Returns the smallest step of at least @least that is 1, 2 or 5 times a power of ten. */
export function niceStep(least: number): number {
	const power = 10 ** Math.floor(Math.log10(least));
	return power * ([1, 2, 5].find((m) => m * power >= least) ?? 10);
}

const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900];

/** Returns the smallest step in seconds of at least @least that suits a clock. */
export function clockStep(least: number): number {
	return CLOCK_STEPS.find((s) => s >= least) ?? 1800;
}

/** Formats nanoseconds as seconds, with as many digits as distinguish ticks @step apart. */
export function secondsText(ns: number, step: number): string {
	return `${(ns / 1e9).toFixed(Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(step) - 1e-9))))} s`;
}
