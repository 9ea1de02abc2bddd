// SPDX-License-Identifier: Apache-2.0
//
// When the samples of a profile were taken, thread by thread
// (src/codec/page_times.h), and what follows from it: the heat map of all, the
// tree of a slice of time, and the flame chart of one thread.

import type { Sparse } from "./heat";
import type { Layout } from "./layout";
import { need, type Json } from "./reading";
import { groupFunctions, joinFunctions, TreeBuilder, type Functions, type Tree } from "./tree";

export interface Thread {
	key: string;
	/** With its process and number. */
	name: string;
	process: string;
	/** Microseconds after the start, rising. */
	at: Float64Array;
	/** The node that each sample ended in. */
	node: Int32Array;
}

export interface Times {
	/** Milliseconds since 1970. */
	startMs: number;
	/** The one with the most samples first. */
	threads: Thread[];
}

function textOf(v: unknown): string {
	return typeof v === "string" ? v : "";
}

function readThread(v: unknown, places: Int32Array): Thread {
	need(typeof v === "object" && v !== null, "a thread is not an object");
	const { name, process, pid, tid, at, node } = v as Json;
	need(Array.isArray(at) && Array.isArray(node) && at.length === node.length, "a thread's times are not whole");
	let now = 0;
	const when = Float64Array.from(at, (by: unknown) => {
		need(typeof by === "number" && by >= 0 && Number.isFinite(by), "a time is not a number of 0 or more");
		return (now += by);
	});
	const place = Int32Array.from(node, (i: unknown) => {
		need(Number.isInteger(i) && (i as number) >= 0 && (i as number) < places.length, "a time names a node that is not there");
		return places[i as number];
	});
	const known = { name: textOf(name), process: textOf(process), pid: Number(pid), tid: Number(tid) };
	return { key: threadKey(known), name: threadName(known), process: known.process, at: when, node: place };
}

/** What is known of a thread: numbers are 0, texts "" where they are not. */
export interface ThreadFacts {
	name: string;
	process: string;
	pid: number;
	tid: number;
}

/** What tells threads apart. */
export function threadKey(t: ThreadFacts): string {
	return t.tid > 0 ? `${t.pid}-${t.tid}` : `${t.process}/${t.name}`;
}

export function threadName(t: ThreadFacts): string {
	const title = t.process === "" || t.process === t.name ? t.name : `${t.process} / ${t.name}`;
	return (title || "thread") + (t.tid > 0 ? ` (${t.tid})` : "");
}

/** @places: where the nodes that the JSON names are in the tree. */
export function readTimes(json: unknown, places: Int32Array): Times {
	need(typeof json === "object" && json !== null, "the times are not an object");
	const { start_ns: start, threads } = json as Json;
	need(typeof start === "number" && Array.isArray(threads), "the times are not whole");
	const all = threads.map((t) => readThread(t, places)).filter((t) => t.at.length > 0);
	return { startMs: start / 1e6, threads: all.sort((a, b) => b.at.length - a.at.length || (a.key < b.key ? -1 : 1)) };
}

/** How long the samples took from the first to the last, in milliseconds. */
export function lengthMs(t: Times): number {
	return t.threads.reduce((end, { at }) => Math.max(end, at[at.length - 1]), 0) / 1000;
}

const MOST_CELLS = 400_000;

/** Samples in cells of @cellMs, for the heat map. */
export function cellsOf(t: Times, cellMs: number): Sparse {
	const n = Math.min(MOST_CELLS, Math.floor(lengthMs(t) / cellMs) + 1);
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

/** The samples of [fromMs, toMs) as a tree; @weight is what one of them counts. */
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
	for (const { node } of withinSlice(times, fromMs, toMs).threads)
		node.forEach((n) => b.addSelf(place(n), weight));
	return b.finish();
}

/** The samples of all, with each thread's process as the first of its functions. */
export function byProcess<P extends { tree: Tree; functions: Functions; times?: Times }>(p: P): P {
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

/** The samples of [fromMs, toMs); threads without any are left out. */
export function withinSlice(times: Times, fromMs: number, toMs: number): Times {
	const inside = (us: number) => times.startMs + us / 1000 >= fromMs && times.startMs + us / 1000 < toMs;
	const threads = times.threads.map((t) => ({
		...t, at: t.at.filter(inside), node: t.node.filter((_, i) => inside(t.at[i])),
	}));
	return { ...times, threads: threads.filter((t) => t.at.length > 0).sort((a, b) => b.at.length - a.at.length) };
}

export interface Chart {
	tree: Tree;
	layout: Layout;
	/** Nanoseconds after the start of the times: the left edge. */
	beginNs: number;
}

/* Samples as far apart as this many periods are not one call. */
const GAP_PERIODS = 1.6;

function pathTo(t: Tree, node: number): number[] {
	const path: number[] = [];
	for (let i = node; i > 0; i = t.parent[i])
		path.push(t.fn[i]);
	return path.reverse();
}

/**
 * The flame chart of a thread: bars from left to right as time went, their width in
 * nanoseconds. A call goes on from one sample to the next while the stack above it is the
 * same; a sample stands for the period before it was taken.
 */
export function chartOf(t: Tree, thread: Thread, periodNs: number): Chart {
	const period = periodNs > 0 ? periodNs : 10e6;
	const [parent, fn, depth, start, end] = [[-1], [-1], [0], [0], [0]];
	let open: number[] = [];
	let last = -Infinity;
	const first = thread.at[0] * 1000 - period;
	for (let i = 0; i < thread.at.length; i++) {
		const now = thread.at[i] * 1000 - first;
		const path = pathTo(t, thread.node[i]);
		const goesOn = now - last <= period * GAP_PERIODS;
		const from = goesOn ? last : now - period;
		let same = 0;
		while (goesOn && same < open.length && same < path.length && fn[open[same]] === path[same])
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
