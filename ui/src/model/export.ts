// SPDX-License-Identifier: Apache-2.0
//
// Writes a profile in the formats of other tools: folded stacks, speedscope
// JSON and pprof.

import type { Profile } from "./profile";
import { pathOf, type Functions, type Tree } from "./tree";

/* The format separates frames by ';' and stacks by line ends, so a name must not contain either. */
function foldedName(fns: Functions, fn: number): string {
	const name = fns.name[fn].replace(/[\r\n]/g, " ").replace(/;/g, ":");
	return (name === "" ? "[no name]" : name) + (fns.kind[fn] === "kernel" ? "_[k]" : "");
}

/** Returns one line, "root;...;leaf value", for each path in which samples end. */
export function toFolded(t: Tree, fns: Functions): string {
	const names = fns.name.map((_, fn) => foldedName(fns, fn));
	const lines: string[] = [];
	for (let i = 1; i < t.n; i++)
		if (t.self[i] > 0)
			lines.push(`${pathOf(t, i).map((fn) => names[fn]).join(";")} ${Math.round(t.self[i])}`);
	return lines.join("\n") + (lines.length > 0 ? "\n" : "");
}

/* Returns the nodes in which samples end. */
function leaves(p: Profile): number[] {
	const out: number[] = [];
	for (let i = 1; i < p.tree.n; i++)
		if (p.tree.self[i] > 0)
			out.push(i);
	return out;
}

export function toSpeedscope(p: Profile): string {
	const { tree, functions } = p;
	const nodes = leaves(p);
	const weights = nodes.map((i) => tree.self[i]);
	return JSON.stringify({
		$schema: "https://www.speedscope.app/file-format-schema.json",
		exporter: "cameo",
		name: p.title,
		activeProfileIndex: 0,
		shared: {
			frames: functions.name.map((name, i) => ({
				name,
				...(functions.file[i] !== "" ? { file: functions.file[i] } : {}),
				...(functions.lineMin[i] > 0 ? { line: functions.lineMin[i] } : {}),
			})),
		},
		profiles: [{
			type: "sampled", name: p.title || p.type, unit: p.unit === "count" ? "none" : p.unit,
			startValue: 0, endValue: weights.reduce((a, b) => a + b, 0),
			samples: nodes.map((i) => pathOf(tree, i)), weights,
		}],
	});
}

/* A writer for the subset of the protobuf wire format that pprof needs. */
class Message {
	private bytes: number[] = [];

	private varint(v: number): void {
		for (; v >= 0x80; v = Math.floor(v / 0x80))
			this.bytes.push((v % 0x80) | 0x80);
		this.bytes.push(v);
	}

	int(field: number, v: number): this {
		if (v > 0) {
			this.varint(field * 8);
			this.varint(Math.round(v));
		}
		return this;
	}

	data(field: number, data: Uint8Array | Message): this {
		const bytes = data instanceof Message ? data.bytes : data;
		this.varint(field * 8 + 2);
		this.varint(bytes.length);
		for (const b of bytes)
			this.bytes.push(b);
		return this;
	}

	packed(field: number, values: number[]): this {
		const inner = new Message();
		values.forEach((v) => inner.varint(Math.round(v)));
		return this.data(field, inner);
	}

	finish(): Uint8Array {
		return Uint8Array.from(this.bytes);
	}
}

/** Returns the pprof protobuf, uncompressed. The field numbers are those of pprof's profile.proto. */
export function toPprof(p: Profile): Uint8Array {
	const { tree, functions } = p;
	const strings = new Map<string, number>([["", 0]]);
	const text = (s: string) => strings.get(s) ?? (strings.set(s, strings.size), strings.size - 1);
	const out = new Message();
	const type = (t: string, unit: string) => new Message().int(1, text(t)).int(2, text(unit));
	out.data(1, type(p.type, p.unit));
	for (const i of leaves(p))
		out.data(2, new Message().packed(1, pathOf(tree, i).reverse().map((fn) => fn + 1)).packed(2, [tree.self[i]]));
	const binaries = [...new Set(functions.binary)];
	binaries.forEach((binary, i) => out.data(3, new Message().int(1, i + 1).int(5, text(binary)).int(7, 1)));
	const mapping = new Map(binaries.map((b, i) => [b, i + 1]));
	for (let i = 0; i < functions.n; i++)
		out.data(4, new Message().int(1, i + 1).int(2, mapping.get(functions.binary[i])!)
			.data(4, new Message().int(1, i + 1).int(2, functions.lineMin[i])));
	for (let i = 0; i < functions.n; i++)
		out.data(5, new Message().int(1, i + 1).int(2, text(functions.name[i])).int(3, text(functions.name[i]))
			.int(4, text(functions.file[i])).int(5, functions.lineMin[i]));
	const period = p.periodNs > 0 ? type("cpu", "nanoseconds") : null;
	const utf8 = new TextEncoder();
	for (const s of strings.keys())
		out.data(6, utf8.encode(s));
	out.int(9, p.timeNs).int(10, p.durationNs);
	if (period)
		out.data(11, period).int(12, p.periodNs);
	return out.finish();
}

export async function gzip(data: Uint8Array): Promise<Blob> {
	const stream = new Blob([data as BlobPart]).stream().pipeThrough(new CompressionStream("gzip"));
	return new Response(stream).blob();
}
