// SPDX-License-Identifier: Apache-2.0
//
// Values and names as people read them.

export interface Scale {
	unit: "count" | "nanoseconds" | "bytes";
	periodNs: number;
	/** What was measured ("cpu"), and for how long, where that is known. */
	type?: string;
	durationNs?: number;
}

const GROUPS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function grouped(n: number): string {
	return GROUPS.format(n);
}

/** 1.25 s, 340 ms, 2 h 05 m */
export function duration(ns: number): string {
	const s = ns / 1e9;
	if (s >= 3600)
		return `${Math.floor(s / 3600)} h ${pad(Math.floor((s % 3600) / 60))} m`;
	if (s >= 60)
		return `${Math.floor(s / 60)} m ${pad(Math.floor(s % 60))} s`;
	if (s >= 0.9995)
		return `${digits(s)} s`;
	if (ns >= 0.9995e6)
		return `${digits(ns / 1e6)} ms`;
	if (ns >= 999.5)
		return `${digits(ns / 1e3)} µs`;
	return `${Math.round(ns)} ns`;
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytesText(v: number): string {
	let i = 0;
	while (Math.abs(v) >= 1024 && i < BYTES.length - 1) {
		v /= 1024;
		i++;
	}
	return `${i === 0 ? Math.round(v) : v >= 100 ? v.toFixed(0) : v.toFixed(1)} ${BYTES[i]}`;
}

function pad(n: number): string {
	return String(n).padStart(2, "0");
}

function digits(x: number): string {
	return x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
}

export function percent(part: number, whole: number): string {
	if (whole <= 0 || part <= 0)
		return "0 %";
	const p = (100 * part) / whole;
	if (p > 0 && p < 0.01)
		return "< 0.01 %";
	return p >= 99.995 ? "100 %" : `${p.toFixed(2)} %`;
}

/** Samples that @value stands for, or null where the period is not known. */
export function samplesOf(value: number, s: Scale): number | null {
	if (s.unit === "count")
		return value;
	if (s.unit === "bytes")
		return null;
	return s.periodNs > 0 ? Math.round(value / s.periodNs) : null;
}

/** Nanoseconds that @value stands for, or null. */
export function timeOf(value: number, s: Scale): number | null {
	if (s.unit === "nanoseconds")
		return value;
	return s.unit === "count" && s.periodNs > 0 ? value * s.periodNs : null;
}

/** Time where there is one, samples otherwise. */
export function amount(value: number, s: Scale): string {
	if (value === 0)
		return "0";
	if (s.unit === "bytes")
		return bytesText(value);
	const ns = timeOf(value, s);
	return ns !== null ? duration(ns) : `${grouped(value)} samples`;
}

/** How much of it there was at any moment: cores in use, threads that waited; or null. */
export function meanOf(value: number, s: Scale): [string, string] | null {
	const ns = timeOf(value, s);
	if (ns === null || !s.durationNs || s.durationNs <= 0)
		return null;
	const label = s.type === "off_cpu" ? "waiting" : s.type === "cpu" || s.type === "samples" ? "cores" : "";
	return label === "" ? null : [label, round(ns / s.durationNs)];
}

export function round(v: number): string {
	if (v === 0)
		return "0";
	if (Math.abs(v) < 0.001)
		return "< 0.001";
	return v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v >= 1 ? v.toFixed(2) : v.toFixed(3);
}

/* Marks that turn the direction of writing or do not show at all. */
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export const NO_NAME = "(no name)";

/** @name with nothing in it that hides or reorders, and no longer than @max. */
export function shown(name: string, max = 400): string {
	const clean = name.slice(0, max * 2).replace(UNSEEN, "\ufffd");
	if (clean === "")
		return NO_NAME;
	return clean.length > max || name.length > max * 2 ? clean.slice(0, max - 1) + "…" : clean;
}

/** The last part of a path. */
export function baseName(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}
