// SPDX-License-Identifier: Apache-2.0
//
// Colours of bars. Hues follow Okabe and Ito's set, which people with any of
// the common kinds of colour blindness can tell apart; the thirteen kinds are
// more than eight hues, so kinds that seldom meet share a hue and differ in
// lightness. Each is light enough for dark text (contrast 4.5 or more).

import { packageOf } from "./package";
import type { Functions } from "./tree";

export type Rgb = [number, number, number];

export const COLOUR_BY = ["kind", "package", "binary", "self"] as const;
export type ColourBy = (typeof COLOUR_BY)[number];

export const TEXT: Rgb = [17, 17, 17];

/** Every kind with the word people know it by and its colour, in the legend's order. */
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
	error: { label: "stack cut short", rgb: [225, 225, 225] },
	group: { label: "program or service", rgb: [196, 200, 208] },
	other: { label: "cut: click to open", rgb: [205, 208, 214] },
	unknown: { label: "unknown", rgb: [188, 188, 188] },
};

export function kindOf(kind: string): { label: string; rgb: Rgb } {
	return Object.hasOwn(KINDS, kind) ? KINDS[kind] : KINDS.unknown;
}

const COLD_TINT: Rgb = [140, 150, 255];

/** Time that was waited has colours of its own, so that it is not taken for time that was worked. */
export function kindColour(kind: string, cold: boolean): Rgb {
	return tinted(kindOf(kind).rgb, cold);
}

function tinted(rgb: Rgb, cold: boolean): Rgb {
	return cold ? mix(rgb, COLD_TINT, 0.4) : rgb;
}

export function css([r, g, b]: Rgb): string {
	return `rgb(${r},${g},${b})`;
}

/** Relative luminance and contrast as WCAG 2 defines them. */
export function luminance(c: Rgb): number {
	const [r, g, b] = c.map((v) => {
		const s = v / 255;
		return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

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

/* Neighbours of one kind differ a little, so that bars can be told apart. */
function varied(rgb: Rgb, text: string): Rgb {
	return mix(rgb, [255, 255, 255], (hash(text) % 5) * 0.075);
}

const WHEEL: Rgb[] = [
	[240, 170, 70], [124, 188, 235], [70, 190, 160], [243, 226, 100],
	[110, 160, 220], [235, 140, 100], [222, 150, 190], [190, 190, 190],
];

const COLD: Rgb = [250, 238, 200];
const HOT: Rgb = [232, 110, 60];

const NO_KIND = ["unknown", "group", "other", "error"];

/** Does the profile tell of what kind its frames are? Those of other profilers often do not. */
export function hasKinds(fns: Functions): boolean {
	return fns.kind.some((k) => Object.hasOwn(KINDS, k) && !NO_KIND.includes(k));
}

/** One colour a function; @cold: of time that was waited. */
export function functionColours(fns: Functions, by: ColourBy, selfShare: Float64Array, cold = false): string[] {
	if (by === "kind" && !hasKinds(fns))
		by = "package";
	const wheel = (text: string) => WHEEL[hash(text) % WHEEL.length];
	const colour = (i: number): Rgb => {
		if (by === "self")
			return mix(COLD, HOT, Math.sqrt(Math.min(1, selfShare[i])));
		const apart = by === "package" && NO_KIND.slice(1).includes(fns.kind[i]);
		const rgb = by === "kind" || apart ? kindOf(fns.kind[i]).rgb : wheel(by === "binary" ? fns.binary[i] : packageOf(fns, i));
		return apart ? rgb : varied(tinted(rgb, cold), fns.name[i]);
	};
	return Array.from(fns.name, (_, i) => css(colour(i)));
}

const LESS: Rgb = [86, 160, 230];
const MORE: Rgb = [240, 130, 70];
const SAME: Rgb = [238, 238, 238];

/** @change from -1 (only in the first profile) over 0 to 1 (only in the second). */
export function changeColour(change: number): Rgb {
	const c = Math.max(-1, Math.min(1, change));
	return mix(SAME, c < 0 ? LESS : MORE, Math.sqrt(Math.abs(c)));
}
