// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";

import { buildHeatMap } from "../../src/model/heat_map";
import { firstEndingAfter } from "../../src/model/layout";
import { InvalidProfile, readProfile, type Profile } from "../../src/model/profile";
import { buildChart, countCells, durationMs, sliceTimes, sliceTree } from "../../src/model/times";
import { PageMaker, random } from "../fixture";
import { stacks } from "./helpers";

const START_MS = 1_790_000_000_000;
const PERIOD_NS = 10e6;

/* Nodes: 1 a, 2 a;b, 3 a;b;c, 4 a;d */
function timed(threads: unknown): Profile {
	const maker = new PageMaker().add(["a", "b", "c"], 1).add(["a", "d"], 1);
	return readProfile({
		...maker.json({ period_ns: PERIOD_NS }), times: { start_ns: START_MS * 1e6, threads },
	});
}

const one = (at: number[], node: number[], tid = 9) => ({ name: "worker", process: "shop", pid: 7, tid, at, node });

describe("timestamps of samples", () => {
	it("are sorted by thread, the busiest first", () => {
		const p = timed([one([0], [3], 1), one([0, 10_000], [3, 4], 2), { ...one([5], [2], 3), name: "shop" }]);
		expect(p.times!.threads.map((t) => [t.key, t.name, t.at.length]))
			.toEqual([["7-2", "shop / worker (2)", 2], ["7-1", "shop / worker (1)", 1], ["7-3", "shop (3)", 1]]);
		expect(durationMs(p.times!)).toBe(10);
		expect(p.times!.startMs).toBe(START_MS);
	});

	it.each([
		["no list", {}], ["a node that is not there", [one([0], [99])]], ["lengths that differ", [one([0, 1], [1])]],
		["a time that goes back", [one([0, -5], [1, 1])]], ["a time that is none", [{ ...one([], []), at: ["x"], node: [1] }]],
	])("are refused: %s", (_, threads) => {
		expect(() => timed(threads)).toThrow(InvalidProfile);
	});

	it("are absent from a profile without them", () => {
		expect(readProfile(new PageMaker().add(["a"], 1).json()).times).toBeUndefined();
	});

	it("yield a heat map of all threads", () => {
		const p = timed([one([0, 500_000, 1_100_000], [1, 1, 1], 1), one([510_000], [2], 2)]);
		const c = countCells(p.times!, 250);
		expect([c.at, c.value]).toEqual([[0, 2, 6], [1, 2, 1]]);
		expect(buildHeatMap(c).max).toBe(2);
	});
});

describe("a time slice", () => {
	const p = timed([one([0, 10_000, 10_000], [3, 4, 3], 1), one([15_000], [2], 2)]);

	it("contains the samples from its start to before its end", () => {
		const of = (from: number, to: number) => stacks(sliceTree(p.tree, p.times!, START_MS + from, START_MS + to, 2), p.functions);
		expect(of(0, 100)).toEqual(["a;b 2", "a;b;c 4", "a;d 2"]);
		expect(of(10, 20)).toEqual(["a;b 2", "a;d 2"]);
		expect(of(50, 60)).toEqual([]);
	});

	it("omits threads without samples", () => {
		expect(sliceTimes(p.times!, START_MS + 14, START_MS + 16).threads.map((t) => t.key)).toEqual(["7-2"]);
	});
});

describe("the flame chart", () => {
	const bars = (p: Profile) => {
		const { tree, layout } = buildChart(p.tree, p.times!.threads[0], PERIOD_NS);
		return layout.rows.map((row) => [...row].map((i) =>
			`${i === 0 ? "all" : p.functions.name[tree.fn[i]]} ${layout.start[i] / 1e6}+${tree.total[i] / 1e6}`));
	};

	it("continues a call while its callers are the same", () => {
		expect(bars(timed([one([0, 10_000, 10_000], [3, 3, 4])]))).toEqual([
			["all 0+30"], ["a 0+30"], ["b 0+20", "d 20+10"], ["c 0+20"],
		]);
	});

	it("ends all calls when the thread does not run", () => {
		expect(bars(timed([one([0, 50_000], [1, 1])]))).toEqual([["all 0+60"], ["a 0+10", "a 50+10"]]);
	});

	it("tolerates samples that are slightly late", () => {
		expect(bars(timed([one([0, 14_000], [1, 1])]))).toEqual([["all 0+24"], ["a 0+24"]]);
	});

	it("has bars that do not overlap and lie within their callers", () => {
		const rnd = random(5);
		const n = 2000;
		const p = timed([one(Array.from({ length: n }, () => Math.floor(rnd() * 30_000)),
			Array.from({ length: n }, () => 1 + Math.floor(rnd() * 4)))]);
		const { tree, layout } = buildChart(p.tree, p.times!.threads[0], PERIOD_NS);
		for (const row of layout.rows)
			for (let k = 1; k < row.length; k++)
				expect(layout.start[row[k]]).toBeGreaterThanOrEqual(layout.start[row[k - 1]] + tree.total[row[k - 1]]);
		for (let i = 1; i < tree.n; i++) {
			const up = tree.parent[i];
			expect(layout.start[i]).toBeGreaterThanOrEqual(layout.start[up]);
			expect(layout.start[i] + tree.total[i]).toBeLessThanOrEqual(layout.start[up] + tree.total[up] + 1);
		}
		expect(firstEndingAfter(tree, layout, layout.rows[1], 0)).toBe(0);
	});
});
