// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";

import { diffTrees, movers, type Diff } from "../../src/model/diff";
import { layOut } from "../../src/model/layout";
import { pathOf } from "../../src/model/tree";
import { profileOf, randomProfile } from "./helpers";

/** path -> [before, after, change] */
function table(d: Diff): Record<string, number[]> {
	const out: Record<string, number[]> = {};
	for (let i = 0; i < d.tree.n; i++)
		out[pathOf(d.tree, i).map((fn) => d.functions.name[fn]).join(";")] =
			[d.before[i], d.after[i], d.change[i]].map((x) => Math.round(x * 1000) / 1000);
	return out;
}

describe("the difference of two profiles", () => {
	const a = profileOf("main;old 6\nmain;same 4");
	const b = profileOf("extra 1\nmain;new 5\nmain;same 4");

	it("contains the nodes of both with both values", () => {
		expect(table(diffTrees(a, b, "absolute"))).toEqual({
			"": [10, 10, 0], "main": [10, 9, -0.053], "main;old": [6, 0, -1], "main;same": [4, 4, 0],
			"extra": [0, 1, 1], "main;new": [0, 5, 1],
		});
	});

	it("of recordings of different lengths is zero in relative mode", () => {
		const short = profileOf("main;x 3\nmain;y 1");
		const long = profileOf("main;y 10\nmain;x 30");
		expect([...diffTrees(short, long, "relative").change].every((c) => Math.abs(c) < 1e-12)).toBe(true);
		expect(diffTrees(short, long, "absolute").change[0]).toBeCloseTo(36 / 44);
	});

	it("has children that fit into their parents", () => {
		const d = diffTrees(randomProfile(1).profile, randomProfile(2).profile, "relative");
		const l = layOut(d.tree);
		expect(d.tree.total[0]).toBeCloseTo(2);
		for (let i = 1; i < d.tree.n; i++) {
			const p = d.tree.parent[i];
			expect(l.start[i]).toBeGreaterThanOrEqual(l.start[p]);
			expect(l.start[i] + d.tree.total[i]).toBeLessThanOrEqual(l.start[p] + d.tree.total[p] + 1e-9);
		}
	});

	it("changes only its sign when the profiles are swapped", () => {
		const x = randomProfile(3).profile;
		const y = randomProfile(4).profile;
		const there = table(diffTrees(x, y, "relative"));
		const back = table(diffTrees(y, x, "relative"));
		for (const [path, [before, after, change]] of Object.entries(there))
			expect(back[path]).toEqual([after, before, change === 0 ? 0 : -change]);
	});

	it("works with an empty profile", () => {
		const d = diffTrees({ ...a, tree: { ...a.tree, self: a.tree.self.map(() => 0), total: a.tree.total.map(() => 0) } },
			b, "relative");
		expect(d.before[0]).toBe(0);
		expect(d.after[0]).toBeCloseTo(1);
	});

	it("lists the functions with the largest changes of self values", () => {
		const d = diffTrees(a, b, "absolute");
		const moved = movers(d).map((m) => [d.functions.name[m.fn], m.before, m.after]);
		expect(moved).toEqual([["old", 6, 0], ["new", 0, 5], ["extra", 0, 1], ["main", 0, 0], ["same", 4, 4]]);
	});
});
