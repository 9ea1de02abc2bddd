// SPDX-License-Identifier: Apache-2.0
//
// Reads the JSON that the binary puts into the page (src/codec/page_json.c)
// and folds its frames (a place: name, file, line) into functions, because a
// flame graph is read by function; the lines stay as a range for tooltips.
// The data may come from a file of a stranger: indices are checked here, once,
// and nothing behind this module checks again.

import { textKey } from "./hash";
import { BadProfile, need, type Json } from "./reading";
import { readTimes, type Times } from "./times";
import { TreeBuilder, type Functions, type Tree } from "./tree";

export interface Profile {
	title: string;
	type: string;
	unit: "count" | "nanoseconds" | "bytes";
	/** Nanoseconds a sample stands for; 0 when not known. */
	periodNs: number;
	timeNs: number;
	durationNs: number;
	functions: Functions;
	tree: Tree;
	/** When samples were taken, where that is known. */
	times?: Times;
}

interface Frame {
	name: number;
	file: number;
	line: number;
	kind: number;
	binary: number;
	inlined: boolean;
}

export { BadProfile };

function numberOf(j: Json, key: string): number {
	const v = j[key];
	return typeof v === "number" && Number.isFinite(v) ? v : 0;
}

function textOf(j: Json, key: string): string {
	const v = j[key];
	return typeof v === "string" ? v : "";
}

function frameOf(v: unknown, nStrings: number): Frame {
	need(Array.isArray(v) && v.length >= 5, "a frame is not a list of five");
	const index = (x: unknown): number => {
		need(Number.isInteger(x) && (x as number) >= 0 && (x as number) < nStrings,
			"a frame names a string that is not there");
		return x as number;
	};
	const line = Number.isInteger(v[2]) && v[2] > 0 && v[2] < 2 ** 31 ? (v[2] as number) : 0;
	return {
		name: index(v[0]),
		file: index(v[1]),
		line,
		kind: index(v[3]),
		binary: index(v[4]),
		inlined: v[5] === 1,
	};
}

/** Frames to functions: the same name, kind and binary are one. */
function foldFrames(frames: Frame[], strings: string[]): [Functions, Int32Array] {
	const ids = new Map<string, number>();
	const of = new Int32Array(frames.length);
	const heads: Frame[] = [];
	const min: number[] = [];
	const max: number[] = [];
	const inlined: boolean[] = [];
	frames.forEach((f, i) => {
		const text = `${f.name},${f.kind},${f.binary}`;
		let id = ids.get(text);
		if (id === undefined) {
			id = heads.length;
			ids.set(text, id);
			heads.push(f);
			min.push(f.line);
			max.push(f.line);
			inlined.push(f.inlined);
		} else if (f.line > 0) {
			min[id] = min[id] > 0 ? Math.min(min[id], f.line) : f.line;
			max[id] = Math.max(max[id], f.line);
		}
		inlined[id] = inlined[id] && f.inlined;
		of[i] = id;
	});
	const text = (f: Frame) => [strings[f.kind], strings[f.binary], strings[f.name]].join("\0");
	return [{
		n: heads.length,
		name: heads.map((f) => strings[f.name]),
		kind: heads.map((f) => strings[f.kind]),
		file: heads.map((f) => strings[f.file]),
		binary: heads.map((f) => strings[f.binary]),
		lineMin: Int32Array.from(min),
		lineMax: Int32Array.from(max),
		inlined: Uint8Array.from(inlined, (b) => (b ? 1 : 0)),
		key: heads.map((f) => textKey(text(f))),
	}, of];
}

/* The tree, and where the nodes that were read are in it. */
function foldNodes(nodes: Json, functionOf: Int32Array): [Tree, Int32Array] {
	const { parent, frame, self } = nodes as { parent: number[]; frame: number[]; self: number[] };
	need(Array.isArray(parent) && Array.isArray(frame) && Array.isArray(self),
		"the nodes are not three lists");
	need(parent.length === frame.length && parent.length === self.length,
		"the lists of nodes differ in length");
	const b = new TreeBuilder();
	const id = new Int32Array(parent.length);
	for (let i = 0; i < parent.length; i++) {
		need(typeof self[i] === "number" && self[i] >= 0 && Number.isFinite(self[i]),
			"a node's value is not a number of 0 or more");
		if (i > 0) {
			need(Number.isInteger(parent[i]) && parent[i] >= 0 && parent[i] < i,
				"a node comes before its parent");
			need(Number.isInteger(frame[i]) && frame[i] >= 0 && frame[i] < functionOf.length,
				"a node names a frame that is not there");
			id[i] = b.child(id[parent[i]], functionOf[frame[i]]);
		}
		b.addSelf(id[i], self[i]);
	}
	return [b.finish(), id];
}

/** Checks and folds what JSON.parse() gave; throws BadProfile with the reason. */
export function readProfile(json: unknown): Profile {
	need(typeof json === "object" && json !== null, "this is not a profile");
	const j = json as Json;
	need(j.version === 1, "this page does not know this version of the data");
	need(Array.isArray(j.strings) && j.strings.every((s) => typeof s === "string"),
		"the strings are missing");
	need(Array.isArray(j.frames), "the frames are missing");
	need(typeof j.nodes === "object" && j.nodes !== null, "the nodes are missing");
	const strings = j.strings as string[];
	const frames = j.frames.map((f) => frameOf(f, strings.length));
	const [functions, of] = foldFrames(frames, strings);
	const [tree, places] = foldNodes(j.nodes as Json, of);
	return {
		title: textOf(j, "title"),
		type: textOf(j, "type"),
		unit: j.unit === "nanoseconds" || j.unit === "bytes" ? j.unit : "count",
		periodNs: numberOf(j, "period_ns"),
		timeNs: numberOf(j, "time_ns"),
		durationNs: numberOf(j, "duration_ns"),
		functions,
		tree,
		times: j.times === undefined ? undefined : readTimes(j.times, places),
	};
}
