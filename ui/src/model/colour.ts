// SPDX-License-Identifier: Apache-2.0
//
// Chooses the colours of bars. The hues follow the set of Okabe and Ito, which
// people with any common kind of colour blindness can distinguish. There are
// more frame types than its eight hues, so types that rarely occur together
// share a hue and differ in lightness. Every colour is light enough for dark
// text (contrast 4.5 or more).

import { packageOf } from "./package";
import type { Functions } from "./tree";

export type Rgb = [number, number, number];

export const COLOUR_BY = ["kind", "package", "binary", "self"] as const;
export type ColourBy = (typeof COLOUR_BY)[number];

export const TEXT: Rgb = [17, 17, 17];

/** The display name and colour of every frame type, in the legend's order. The keys are those of the profile. */
export const KINDS: Record<string, { label: string; rgb: Rgb }> = {
	kernel: { label: "kernel", rgb: [240, 150, 84] },
	native: { label: "native", rgb: [124, 188, 235] },
	go: { label: "Go", rgb: [70, 190, 160] },
	rust: { label: "Rust", rgb: [205, 150, 120] },
	python: { label: "Python", rgb: [243, 226, 100] },
	jvm: { label: "JVM", rgb: [222, 150, 190] },
	v8: { label: "JavaScript", rgb: [150, 214, 130] },
	ruby: { label: "Ruby", rgb: [232, 120, 120] },
	php: { label: "PHP", rgb: [165, 165, 226] },
	perl: { label: "Perl", rgb: [130, 205, 205] },
	lua: { label: "Lua", rgb: [120, 150, 215] },
	dotnet: { label: ".NET", rgb: [190, 140, 225] },
	beam: { label: "BEAM", rgb: [214, 190, 230] },
	luajit: { label: "LuaJIT", rgb: [100, 175, 235] },
	error: { label: "truncated stack", rgb: [225, 225, 225] },
	group: { label: "process or service", rgb: [196, 200, 208] },
	other: { label: "truncated: click to expand", rgb: [205, 208, 214] },
	unknown: { label: "unknown", rgb: [188, 188, 188] },
};

export function kindOf(kind: string): { label: string; rgb: Rgb } {
	return Object.hasOwn(KINDS, kind) ? KINDS[kind] : KINDS.unknown;
}

const COLD_TINT: Rgb = [140, 150, 255];

/** Returns the colour of a frame type. Off-CPU profiles (@cold) are tinted, so that they are not mistaken for CPU time. */
export function kindColour(kind: string, cold: boolean): Rgb {
	return tinted(kindOf(kind).rgb, cold);
}

function tinted(rgb: Rgb, cold: boolean): Rgb {
	return cold ? mix(rgb, COLD_TINT, 0.4) : rgb;
}

export function css([r, g, b]: Rgb): string {
	return `rgb(${r},${g},${b})`;
}

/** Relative luminance as WCAG 2 defines it. */
export function luminance(c: Rgb): number {
	const [r, g, b] = c.map((v) => {
		const s = v / 255;
		return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The contrast ratio as WCAG 2 defines it, from 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
	const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
	return (x + 0.05) / (y + 0.05);
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
	const at = (i: number) => Math.round(a[i] + (b[i] - a[i]) * share);
	return [at(0), at(1), at(2)];
}

function hash(text: string): number {
	let h = 7;
	for (let i = 0; i < text.length && i < 200; i++)
		h = (Math.imul(h, 31) + text.charCodeAt(i)) | 0;
	return (Math.imul(h ^ (h >>> 15), 0x2c1b3c6d) >>> 8) & 0xffff;
}

/* Varies the lightness slightly by name, so that adjacent bars of one type can be distinguished. */
function varied(rgb: Rgb, text: string): Rgb {
	return mix(rgb, [255, 255, 255], (hash(text) % 5) * 0.075);
}

const PALETTE: Rgb[] = [
	[240, 170, 70], [124, 188, 235], [70, 190, 160], [243, 226, 100],
	[110, 160, 220], [235, 140, 100], [222, 150, 190], [190, 190, 190],
];

const WHITE_HOT: Rgb = [250, 238, 200];
const HOT: Rgb = [232, 110, 60];

const NEUTRAL_KINDS = ["unknown", "group", "other", "error"];

/** Returns whether the profile has frame types. Profiles of other profilers often have none. */
export function hasKinds(fns: Functions): boolean {
	return fns.kind.some((k) => Object.hasOwn(KINDS, k) && !NEUTRAL_KINDS.includes(k));
}

/**
 * Returns one CSS colour per function. @selfShare is each function's share of the total,
 * from 0 to 1, and is used by "self" only. @cold selects the tint of off-CPU profiles.
 */
export function functionColours(fns: Functions, by: ColourBy, selfShare: Float64Array, cold = false): string[] {
	if (by === "kind" && !hasKinds(fns))
		by = "package";
	const wheel = (text: string) => PALETTE[hash(text) % PALETTE.length];
	const colour = (i: number): Rgb => {
		if (by === "self")
			return mix(WHITE_HOT, HOT, Math.sqrt(Math.min(1, selfShare[i])));
		const neutral = by === "package" && NEUTRAL_KINDS.slice(1).includes(fns.kind[i]);
		const rgb = by === "kind" || neutral ? kindOf(fns.kind[i]).rgb : wheel(by === "binary" ? fns.binary[i] : packageOf(fns, i));
		return neutral ? rgb : varied(tinted(rgb, cold), fns.name[i]);
	};
	return Array.from(fns.name, (_, i) => css(colour(i)));
}

const DECREASE: Rgb = [86, 160, 230];
const INCREASE: Rgb = [240, 130, 70];
const UNCHANGED: Rgb = [238, 238, 238];

/** Returns the colour of a change between -1 (present only before) and 1 (present only after). */
export function changeColour(change: number): Rgb {
	const c = Math.max(-1, Math.min(1, change));
	return mix(UNCHANGED, c < 0 ? DECREASE : INCREASE, Math.sqrt(Math.abs(c)));
}
