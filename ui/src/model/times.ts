// SPDX-License-Identifier: Apache-2.0
//
// The timestamps of samples by thread (src/codec/page_times.h), and what is
// computed from them: the heat map of all threads, the tree of a time slice,
// and the flame chart of one thread.

import { check, type Json } from "./check";
import type { SparseCells } from "./heat_map";
import type { Layout } from "./layout";
import { groupFunctions, joinFunctions, TreeBuilder, type Functions, type Tree } from "./tree";

export interface Thread {
	key: string;
	/** The display name, with process and thread id. */
	name: string;
	process: string;
	/** Microseconds since the start of all times, ascending. */
	at: Float64Array;
	/** The node in which each sample ends. */
	node: Int32Array;
}

export interface Times {
	/** Milliseconds since 1970. */
	startMs: number;
	/** The thread with the most samples comes first. */
	threads: Thread[];
}

function textOf(v: unknown): string {
	return typeof v === "string" ? v : "";
}

function readThread(v: unknown, places: Int32Array): Thread {
	check(typeof v === "object" && v !== null, "a thread is not an object");
	const { name, process, pid, tid, at, node } = v as Json;
	check(Array.isArray(at) && Array.isArray(node) && at.length === node.length, "the arrays of a thread's samples are missing or differ in length");
	let now = 0;
	const when = Float64Array.from(at, (by: unknown) => {
		check(typeof by === "number" && by >= 0 && Number.isFinite(by), "a timestamp is not a non-negative number");
		return (now += by);
	});
	const place = Int32Array.from(node, (i: unknown) => {
		check(Number.isInteger(i) && (i as number) >= 0 && (i as number) < places.length, "a timestamp refers to a node that does not exist");
		return places[i as number];
	});
	const known = { name: textOf(name), process: textOf(process), pid: Number(pid), tid: Number(tid) };
	return { key: threadKey(known), name: threadName(known), process: known.process, at: when, node: place };
}

/** The identity of a thread. Unknown ids are 0, unknown names "". */
export interface ThreadInfo {
	name: string;
	process: string;
	pid: number;
	tid: number;
}

/** Returns a key that identifies the thread within a profile. */
export function threadKey(t: ThreadInfo): string {
	return t.tid > 0 ? `${t.pid}-${t.tid}` : `${t.process}/${t.name}`;
}

export function threadName(t: ThreadInfo): string {
	const title = t.process === "" || t.process === t.name ? t.name : `${t.process} / ${t.name}`;
	return (title || "thread") + (t.tid > 0 ? ` (${t.tid})` : "");
}

/** Validates and reads the timestamps. @places maps the nodes of the JSON to those of the tree. */
export function readTimes(json: unknown, places: Int32Array): Times {
	check(typeof json === "object" && json !== null, "the times are not an object");
	const { start_ns: start, threads } = json as Json;
	check(typeof start === "number" && Array.isArray(threads), "the times have no start or no threads");
	const all = threads.map((t) => readThread(t, places)).filter((t) => t.at.length > 0);
	return { startMs: start / 1e6, threads: all.sort((a, b) => b.at.length - a.at.length || (a.key < b.key ? -1 : 1)) };
}

/** Returns the time of the last sample, in milliseconds since the start. */
export function durationMs(t: Times): number {
	return t.threads.reduce((end, { at }) => Math.max(end, at[at.length - 1]), 0) / 1000;
}

const MAX_CELLS = 400_000;

/** Counts the samples in cells of @cellMs, for the heat map. */
export function countCells(t: Times, cellMs: number): SparseCells {
	const n = Math.min(MAX_CELLS, Math.floor(durationMs(t) / cellMs) + 1);
	const sum = new Float64Array(n);
	for (const { at } of t.threads)
		for (const us of at) {
			const i = Math.floor(us / 1000 / cellMs);
			if (i < n)
				sum[i]++;
		}
	const at = [...sum.keys()].filter((i) => sum[i] > 0);
	return { start: t.startMs, cellMs, n, at, value: at.map((i) => sum[i]) };
}

/** Returns the tree of the samples in [fromMs, toMs). @weight is the value of one sample. */
export function sliceTree(t: Tree, times: Times, fromMs: number, toMs: number, weight: number): Tree {
	const b = new TreeBuilder();
	const to = new Int32Array(t.n).fill(-1);
	to[0] = 0;
	const place = (node: number): number => {
		const path: number[] = [];
		let i = node;
		for (; to[i] < 0; i = t.parent[i])
			path.push(i);
		for (let at = to[i]; path.length > 0;) {
			i = path.pop()!;
			at = to[i] = b.child(at, t.fn[i]);
		}
		return to[node];
	};
	for (const { node } of sliceTimes(times, fromMs, toMs).threads)
		node.forEach((n) => b.addSelf(place(n), weight));
	return b.finish();
}

/** Adds the process of each thread as the outermost frame of its samples. */
export function groupByProcess<P extends { tree: Tree; functions: Functions; times?: Times }>(p: P): P {
	const { tree, times } = p;
	if (!times)
		return p;
	const names = [...new Set(times.threads.map((t) => t.process))];
	const [functions, to] = joinFunctions(p.functions, groupFunctions(names));
	const group = new Map(names.map((name, i) => [name, to[i]]));
	const ends = new Float64Array(tree.n);
	times.threads.forEach((t) => t.node.forEach((i) => ends[i]++));
	const b = new TreeBuilder();
	for (const { process, node } of times.threads)
		for (const end of node) {
			let at = b.child(0, group.get(process)!);
			for (const fn of pathTo(tree, end))
				at = b.child(at, fn);
			b.addSelf(at, tree.self[end] / ends[end]);
		}
	return { ...p, functions, tree: b.finish() };
}

/** Returns the samples in [fromMs, toMs), without threads that have none. */
export function sliceTimes(times: Times, fromMs: number, toMs: number): Times {
	const inside = (us: number) => times.startMs + us / 1000 >= fromMs && times.startMs + us / 1000 < toMs;
	const threads = times.threads.map((t) => ({
		...t, at: t.at.filter(inside), node: t.node.filter((_, i) => inside(t.at[i])),
	}));
	return { ...times, threads: threads.filter((t) => t.at.length > 0).sort((a, b) => b.at.length - a.at.length) };
}

export interface Chart {
	tree: Tree;
	layout: Layout;
	/** The left edge, in nanoseconds since the start of all times. */
	beginNs: number;
}

/* Samples that are further apart than this many periods do not belong to one call. */
const GAP_PERIODS = 1.6;

function pathTo(t: Tree, node: number): number[] {
	const path: number[] = [];
	for (let i = node; i > 0; i = t.parent[i])
		path.push(t.fn[i]);
	return path.reverse();
}

/**
 * Builds the flame chart of a thread: bars in order of time, whose widths are nanoseconds.
 * A call continues from one sample to the next while its frame and all its callers are the
 * same. A sample represents the period before its timestamp.
 */
export function buildChart(t: Tree, thread: Thread, periodNs: number): Chart {
	const period = periodNs > 0 ? periodNs : 10e6;
	const [parent, fn, depth, start, end] = [[-1], [-1], [0], [0], [0]];
	let open: number[] = [];
	let last = -Infinity;
	const first = thread.at[0] * 1000 - period;
	for (let i = 0; i < thread.at.length; i++) {
		const now = thread.at[i] * 1000 - first;
		const path = pathTo(t, thread.node[i]);
		const continues = now - last <= period * GAP_PERIODS;
		const from = continues ? last : now - period;
		let same = 0;
		while (continues && same < open.length && same < path.length && fn[open[same]] === path[same])
			same++;
		open = open.slice(0, same);
		for (const f of path.slice(same)) {
			parent.push(open[open.length - 1] ?? 0);
			fn.push(f);
			depth.push(open.length + 1);
			start.push(from);
			open.push(parent.length - 1);
		}
		for (const bar of open)
			end[bar] = now;
		last = now;
	}
	const n = parent.length;
	const total = Float64Array.from(end, (e, i) => e - start[i]);
	total[0] = last;
	const self = total.slice();
	for (let i = 1; i < n; i++)
		self[parent[i]] -= total[i];
	const rows: number[][] = [[0]];
	for (let i = 1; i < n; i++)
		(rows[depth[i]] ??= []).push(i);
	return {
		beginNs: first,
		tree: { n, parent: Int32Array.from(parent), fn: Int32Array.from(fn), self, total, depth: Int32Array.from(depth) },
		layout: { start: Float64Array.from(start), rows: rows.map((r) => Int32Array.from(r)) },
	};
}
