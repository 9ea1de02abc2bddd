// SPDX-License-Identifier: Apache-2.0
//
// Reads the JSON of a profile (src/codec/page_json.c) and merges its frames
// (name, file, line) into functions, since a flame graph shows functions. The
// lines are kept as a range for tooltips. The data may come from an untrusted
// file: this module validates all indices, and no other module does.

import { check, InvalidProfile, type Json } from "./check";
import { textKey } from "./hash";
import { layOutSteps } from "./layout";
import { ITERATIONS, runAtOnce, runInSlices, type Steps } from "./steps";
import { readTimes, type Times } from "./times";
import { TreeBuilder, type Functions, type Tree } from "./tree";

/** A profile as all views use it. It is immutable. */
export interface Profile {
	title: string;
	type: string;
	unit: "count" | "nanoseconds" | "bytes";
	/** Nanoseconds per sample; 0 if unknown. */
	periodNs: number;
	/** The start of the recording, in nanoseconds since 1970; 0 if unknown. */
	timeNs: number;
	durationNs: number;
	functions: Functions;
	tree: Tree;
	/** The timestamps of the samples, if the profile has them. */
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

export { InvalidProfile };

function numberOf(j: Json, key: string): number {
	const v = j[key];
	return typeof v === "number" && Number.isFinite(v) ? v : 0;
}

function textOf(j: Json, key: string): string {
	const v = j[key];
	return typeof v === "string" ? v : "";
}

function frameOf(v: unknown, nStrings: number): Frame {
	check(Array.isArray(v) && v.length >= 5, "a frame is not an array of at least five values");
	const index = (x: unknown): number => {
		check(Number.isInteger(x) && (x as number) >= 0 && (x as number) < nStrings,
			"a frame refers to a string that does not exist");
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

/** Merges frames into functions: frames with equal name, frame type and binary. Also returns the function of each frame. */
function* foldFrames(frames: Frame[], strings: string[]): Steps<[Functions, Int32Array]> {
	const ids = new Map<string, number>();
	const of = new Int32Array(frames.length);
	const heads: Frame[] = [];
	const min: number[] = [];
	const max: number[] = [];
	const inlined: boolean[] = [];
	for (let i = 0; i < frames.length; i++) {
		if (i % ITERATIONS === 0)
			yield;
		const f = frames[i];
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
	}
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

/* Builds the tree. Also returns the tree's node for each node of the JSON. */
function* foldNodes(nodes: Json, functionOf: Int32Array): Steps<[Tree, Int32Array]> {
	const { parent, frame, self } = nodes as { parent: number[]; frame: number[]; self: number[] };
	check(Array.isArray(parent) && Array.isArray(frame) && Array.isArray(self),
		"the nodes are not three arrays");
	check(parent.length === frame.length && parent.length === self.length,
		"the arrays of nodes differ in length");
	const b = new TreeBuilder();
	const id = new Int32Array(parent.length);
	for (let i = 0; i < parent.length; i++) {
		if (i % ITERATIONS === 0)
			yield;
		check(typeof self[i] === "number" && self[i] >= 0 && Number.isFinite(self[i]),
			"the value of a node is not a non-negative number");
		if (i > 0) {
			check(Number.isInteger(parent[i]) && parent[i] >= 0 && parent[i] < i,
				"a node precedes its parent");
			check(Number.isInteger(frame[i]) && frame[i] >= 0 && frame[i] < functionOf.length,
				"a node refers to a frame that does not exist");
			id[i] = b.child(id[parent[i]], functionOf[frame[i]]);
		}
		b.addSelf(id[i], self[i]);
	}
	return [b.finish(), id];
}

/** Validates and converts parsed JSON; throws InvalidProfile with the reason. */
export function readProfile(json: unknown): Profile {
	return runAtOnce(readProfileSteps(json));
}

/** Does the same in slices, and computes the layout, so that a large profile does not block the page. */
export function loadProfile(json: unknown): Promise<Profile> {
	return runInSlices((function* () {
		const p = yield* readProfileSteps(json);
		yield* layOutSteps(p.tree);
		return p;
	})());
}

function* readProfileSteps(json: unknown): Steps<Profile> {
	check(typeof json === "object" && json !== null, "it is not a JSON object");
	const j = json as Json;
	check(j.version === 1, "its format version is not supported by this page");
	check(Array.isArray(j.strings) && j.strings.every((s) => typeof s === "string"),
		"it has no strings");
	check(Array.isArray(j.frames), "it has no frames");
	check(typeof j.nodes === "object" && j.nodes !== null, "it has no nodes");
	const strings = j.strings as string[];
	const frames = j.frames.map((f) => frameOf(f, strings.length));
	const [functions, of] = yield* foldFrames(frames, strings);
	const [tree, places] = yield* foldNodes(j.nodes as Json, of);
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
