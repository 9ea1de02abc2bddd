// SPDX-License-Identifier: Apache-2.0
//
// Formats values and names for display.

/** The unit and scale of the values of a profile. */
export interface Scale {
	unit: "count" | "nanoseconds" | "bytes";
	/** Nanoseconds per sample; 0 if unknown. */
	periodNs: number;
	/** The sample type ("cpu"), where it is known. */
	type?: string;
	/** The length of the recording, where it is known. */
	durationNs?: number;
}

const COUNT_FORMAT = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function formatCount(n: number): string {
	return COUNT_FORMAT.format(n);
}

/** Formats nanoseconds: 1.25 s, 340 ms, 2 h 05 min. */
export function formatDuration(ns: number): string {
	const s = ns / 1e9;
	if (s >= 3600)
		return `${Math.floor(s / 3600)} h ${pad(Math.floor((s % 3600) / 60))} min`;
	if (s >= 60)
		return `${Math.floor(s / 60)} min ${pad(Math.floor(s % 60))} s`;
	if (s >= 0.9995)
		return `${threeDigits(s)} s`;
	if (ns >= 0.9995e6)
		return `${threeDigits(ns / 1e6)} ms`;
	if (ns >= 999.5)
		return `${threeDigits(ns / 1e3)} µs`;
	return `${Math.round(ns)} ns`;
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function formatBytes(v: number): string {
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

function threeDigits(x: number): string {
	return x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2);
}

export function formatPercent(part: number, total: number): string {
	if (total <= 0 || part <= 0)
		return "0%";
	const p = (100 * part) / total;
	if (p > 0 && p < 0.01)
		return "< 0.01%";
	return p >= 99.995 ? "100%" : `${p.toFixed(2)}%`;
}

/** Converts @value to a number of samples; null if the period is unknown. */
export function toSamples(value: number, s: Scale): number | null {
	if (s.unit === "count")
		return value;
	if (s.unit === "bytes")
		return null;
	return s.periodNs > 0 ? Math.round(value / s.periodNs) : null;
}

/** Converts @value to nanoseconds; null if it is not a time or the period is unknown. */
export function toNanoseconds(value: number, s: Scale): number | null {
	if (s.unit === "nanoseconds")
		return value;
	return s.unit === "count" && s.periodNs > 0 ? value * s.periodNs : null;
}

/** Formats a number of samples. */
export function formatSamples(n: number): string {
	return n === 1 ? "1 sample" : `${formatCount(n)} samples`;
}

/** Formats @value as bytes, as time if it can be converted, or else as samples. */
export function formatValue(value: number, s: Scale): string {
	if (value === 0)
		return "0";
	if (s.unit === "bytes")
		return formatBytes(value);
	const ns = toNanoseconds(value, s);
	return ns !== null ? formatDuration(ns) : formatSamples(value);
}

/** Returns a label and the mean number of cores in use, or of waiting threads; null if it is unknown. */
export function meanConcurrency(value: number, s: Scale): [string, string] | null {
	const ns = toNanoseconds(value, s);
	if (ns === null || !s.durationNs || s.durationNs <= 0)
		return null;
	const label = s.type === "off_cpu" ? "waiting" : s.type === "cpu" || s.type === "samples" ? "cores" : "";
	return label === "" ? null : [label, formatNumber(ns / s.durationNs)];
}

export function formatNumber(v: number): string {
	if (v === 0)
		return "0";
	if (Math.abs(v) < 0.001)
		return "< 0.001";
	return v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v >= 1 ? v.toFixed(2) : v.toFixed(3);
}

/* Characters that change the direction of writing or are invisible. */
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

export const NO_NAME = "(unnamed)";

/** Returns @name without invisible or reordering characters, truncated to @max characters. */
export function displayName(name: string, max = 400): string {
	const clean = name.slice(0, max * 2).replace(INVISIBLE, "\ufffd");
	if (clean === "")
		return NO_NAME;
	return clean.length > max || name.length > max * 2 ? clean.slice(0, max - 1) + "…" : clean;
}

/** Returns the last component of a path. */
export function baseName(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}
