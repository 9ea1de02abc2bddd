// SPDX-License-Identifier: Apache-2.0
//
// Where the marks of a ruler stand, and what they say.

/** The smallest of 1, 2 and 5 times a power of ten that is @least or more. */
export function niceStep(least: number): number {
	const power = 10 ** Math.floor(Math.log10(least));
	return power * ([1, 2, 5].find((m) => m * power >= least) ?? 10);
}

const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900];

/** Likewise in seconds, for marks that say what time it is. */
export function clockStep(least: number): number {
	return CLOCK_STEPS.find((s) => s >= least) ?? 1800;
}

/** Nanoseconds as seconds, with the digits that tell marks @step apart. */
export function secondsText(ns: number, step: number): string {
	return `${(ns / 1e9).toFixed(Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(step) - 1e-9))))} s`;
}
