// SPDX-License-Identifier: Apache-2.0
//
// Display names and units of profile types. The ids have Pyroscope's format,
// NAME:SAMPLE_TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT.

const TYPE_NAMES: Record<string, string> = {
	"process_cpu:cpu": "CPU time",
	"process_cpu:samples": "CPU samples",
	"off_cpu:off_cpu": "Off-CPU time",
	"process_cpu:off_cpu": "Off-CPU time",
	"off_cpu:samples": "Off-CPU waits",
	"memory:alloc_space": "Allocated bytes",
	"memory:alloc_objects": "Allocated objects",
	"memory:inuse_space": "In-use bytes",
	"memory:inuse_objects": "In-use objects",
	"memory:resident": "Resident memory",
	"mutex:contentions": "Mutex contentions",
	"mutex:delay": "Mutex delay",
	"block:contentions": "Block contentions",
	"block:delay": "Block delay",
	"goroutine:goroutine": "Goroutines",
	"goroutines:goroutine": "Goroutines",
	"wall:wall": "Wall time",
};

export type Unit = "nanoseconds" | "bytes" | "count";

export function unitOf(type: string): Unit {
	const unit = type.split(":")[2];
	return unit === "nanoseconds" || unit === "bytes" ? unit : "count";
}

export function typeName(type: string): string {
	const [name = "", sample = ""] = type.split(":");
	return Object.hasOwn(TYPE_NAMES, `${name}:${sample}`) ? TYPE_NAMES[`${name}:${sample}`] : `${name} ${sample}`.trim();
}

/** Returns the type that is shown first: CPU time if available. */
export function defaultType(types: readonly string[]): string {
	const rank = (t: string) => [
		t.startsWith("process_cpu:cpu:nanoseconds"), unitOf(t) === "nanoseconds" && /(^|[^_])cpu/.test(t),
		/(^|[^_])cpu/.test(t), true,
	].indexOf(true);
	return [...types].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))[0] ?? "";
}
