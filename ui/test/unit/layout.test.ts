// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";

import { firstEndingAfter, layOut, nodeAt, visibleBars, type Bar } from "../../src/model/layout";
import { readProfile, type Profile } from "../../src/model/profile";
import { nextNode } from "../../src/view/graph_keys";
import { bigPage } from "../fixture";
import { profileOf } from "./helpers";

function bars(p: Profile, depth: number, from: number, to: number, width: number): Bar[] {
	const l = layOut(p.tree);
	const out: Bar[] = [];
	visibleBars(p.tree, l, l.rows[depth], { from, to, width }, (b) => out.push({ ...b }));
	return out;
}

describe("layout", () => {
	it("puts children largest first, inside their parent", () => {
		const { tree, functions } = profileOf("a;x 1\na;y 3\nb 9");
		const l = layOut(tree);
		const named = (row: Int32Array) => [...row].map((i) => functions.name[tree.fn[i]]);
		expect(l.rows.slice(1).map(named)).toEqual([["b", "a"], ["y", "x"]]);
		expect([...l.rows[2]].map((i) => l.start[i])).toEqual([9, 12]);
	});

	it("places every node with a value once, without overlaps", () => {
		const { tree } = readProfile(bigPage(5000));
		const l = layOut(tree);
		expect(l.rows.reduce((n, r) => n + r.length, 0)).toBe(tree.n);
		for (const row of l.rows) {
			let end = 0;
			for (const i of row) {
				expect(l.start[i]).toBeGreaterThanOrEqual(end);
				end = l.start[i] + tree.total[i];
			}
		}
	});

	it("omits nodes without samples", () => {
		const { tree } = profileOf("a;b 0\na 2");
		expect(layOut(tree).rows.length).toBe(2);
	});

	it("finds the same node as a linear search", () => {
		const { tree } = readProfile(bigPage(3000));
		const l = layOut(tree);
		for (let v = 0; v < tree.total[0]; v += tree.total[0] / 97)
			for (const row of l.rows) {
				const slow = [...row].find((i) => l.start[i] <= v && v < l.start[i] + tree.total[i]) ?? -1;
				expect(nodeAt(tree, l, row, v)).toBe(slow);
			}
	});

	it("finds nothing right of the last node", () => {
		const { tree } = profileOf("a 2");
		const l = layOut(tree);
		expect(firstEndingAfter(tree, l, l.rows[1], 2)).toBe(1);
		expect(nodeAt(tree, l, l.rows[1], 2)).toBe(-1);
	});
});

describe("visible bars", () => {
	it("are clipped to the visible span", () => {
		const p = profileOf("a 50\nb 30\nc 20");
		expect(bars(p, 1, 40, 60, 200).map((b) => [b.x, b.width])).toEqual([[0, 100], [100, 100]]);
	});

	it("join narrow neighbours into one run", () => {
		const p = profileOf("w 100000\n" + Array.from({ length: 500 }, (_, i) => `n${i} 1`).join("\n"));
		const got = bars(p, 1, 0, 100500, 1005);
		expect(got.length).toBe(2);
		expect(got[1].end - got[1].first).toBe(500);
		expect(got[1].x).toBeCloseTo(1000);
		expect(got[1].width).toBeCloseTo(5);
	});

	it("are at least half a pixel wide, so at most two share a pixel", () => {
		const p = readProfile(bigPage(100_000));
		const l = layOut(p.tree);
		for (const row of l.rows) {
			let n = 0;
			let narrowest = 1;
			let overlap = 0;
			let right = 0;
			visibleBars(p.tree, l, row, { from: 0, to: p.tree.total[0], width: 1000 }, (b) => {
				n++;
				narrowest = Math.min(narrowest, b.width);
				overlap = Math.max(overlap, right - b.x);
				right = b.x + b.width;
			});
			expect(narrowest).toBeGreaterThanOrEqual(0.5);
			expect(overlap).toBeLessThan(1e-6);
			expect(n).toBeLessThanOrEqual(2000);
			expect(right).toBeLessThanOrEqual(1000 + 1e-6);
		}
	});

	it("include every node that is wide enough", () => {
		const p = readProfile(bigPage(20_000));
		const l = layOut(p.tree);
		const span = { from: p.tree.total[0] * 0.2, to: p.tree.total[0] * 0.4, width: 800 };
		const px = span.width / (span.to - span.from);
		for (const row of l.rows) {
			const drawn = new Set<number>();
			visibleBars(p.tree, l, row, span, (b) => {
				if (b.end - b.first === 1)
					drawn.add(b.node);
			});
			const wide = [...row].filter((i) => {
				const from = Math.max(l.start[i], span.from);
				const to = Math.min(l.start[i] + p.tree.total[i], span.to);
				return (to - from) * px > 0.5001;
			});
			expect(wide.filter((i) => !drawn.has(i))).toEqual([]);
		}
	});
});

describe("arrow keys", () => {
	const p = profileOf("a;b 5\na;c 3\na;d 1\ne;f 2");
	const l = layOut(p.tree);
	const at = (name: string) => p.tree.fn.findIndex((fn) => fn >= 0 && p.functions.name[fn] === name);
	const go = (from: string, key: string, zoom = 0, flame = false) => {
		const to = nextNode(p.tree, l, at(from), zoom, key, flame);
		return to < 0 ? "" : to === 0 ? "all" : p.functions.name[p.tree.fn[to]];
	};

	it("go to the widest callee, the caller and the neighbours", () => {
		expect([go("a", "ArrowDown"), go("b", "ArrowUp"), go("b", "ArrowRight"), go("c", "ArrowLeft")])
			.toEqual(["b", "a", "c", "b"]);
		expect(go("d", "ArrowRight")).toBe("f");
		expect(go("a", "Home")).toBe("all");
	});

	it("are reversed if the root is at the bottom", () => {
		expect([go("a", "ArrowUp", 0, true), go("b", "ArrowDown", 0, true)]).toEqual(["b", "a"]);
	});

	it("stay inside the zoomed bar and stop at the ends", () => {
		expect(go("d", "ArrowRight", at("a"))).toBe("");
		expect(go("b", "ArrowDown")).toBe("");
		expect(go("b", "ArrowLeft")).toBe("");
		expect(go("b", "x")).toBe("");
	});
});
