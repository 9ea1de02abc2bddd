// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";

import { InvalidProfile, readProfile } from "../../src/model/profile";
import { linkChildren, TreeBuilder, walk } from "../../src/model/tree";
import { bigPage, PageMaker, type PageJson } from "../fixture";
import { profileOf, stacks } from "./helpers";

describe("the reader of the page's data", () => {
	it("adds up totals from the leaves", () => {
		const { tree, functions } = profileOf("a;b 3\na;c 4\na 1");
		expect(stacks(tree, functions)).toEqual(["a 1", "a;b 3", "a;c 4"]);
		expect(tree.total[0]).toBe(8);
		expect(Math.max(...tree.depth)).toBe(2);
	});

	it("folds lines of one function into one node and keeps their range", () => {
		const page: PageJson = {
			...new PageMaker().json(),
			strings: ["", "f", "f.py", "python", "g"],
			frames: [[1, 2, 30, 3, 0], [1, 2, 7, 3, 0], [4, 2, 0, 3, 0, 1]],
			nodes: { parent: [-1, 0, 0, 2], frame: [-1, 0, 1, 2], self: [0, 1, 2, 4] },
		};
		const { tree, functions } = readProfile(page);
		expect(stacks(tree, functions)).toEqual(["f 3", "f;g 4"]);
		expect([functions.lineMin[0], functions.lineMax[0]]).toEqual([7, 30]);
		expect([...functions.inlined]).toEqual([0, 1]);
	});

	it("distinguishes functions of the same name in two binaries", () => {
		const { functions } = profileOf("main@/bin/a 1\nmain@/bin/b 1");
		expect(functions.n).toBe(2);
		expect(functions.key[0]).not.toBe(functions.key[1]);
	});

	it("reads a profile without samples", () => {
		expect(readProfile(new PageMaker().json()).tree.total[0]).toBe(0);
	});

	it.each<[string, Partial<PageJson>]>([
		["another version", { version: 2 }],
		["strings that are none", { strings: [1] as unknown as string[] }],
		["no frames", { frames: undefined }],
		["a frame that is not a list", { frames: [7] as unknown as number[][] }],
		["a frame with a string that is not there", { frames: [[99, 0, 0, 0, 0]] }],
		["lists of different lengths", { nodes: { parent: [-1], frame: [-1, 0], self: [0] } }],
		["a node before its parent", { nodes: { parent: [-1, 1], frame: [-1, 0], self: [0, 1] } }],
		["a frame that is not there", { nodes: { parent: [-1, 0], frame: [-1, 9], self: [0, 1] } }],
		["a value below zero", { nodes: { parent: [-1, 0], frame: [-1, 0], self: [0, -1] } }],
	])("refuses %s", (_, over) => {
		const good = new PageMaker().add(["a"], 1).json();
		expect(() => readProfile({ ...good, ...over })).toThrow(InvalidProfile);
	});

	it.each([null, 3, "x", {}])("refuses %j", (json) => {
		expect(() => readProfile(json)).toThrow(InvalidProfile);
	});
});

describe("trees", () => {
	it("find a child after growing", () => {
		const b = new TreeBuilder();
		const ids = Array.from({ length: 50_000 }, (_, i) => b.child(i >> 3, i));
		expect(ids.map((_, i) => b.child(i >> 3, i))).toEqual(ids);
	});

	it("are traversed in order, entering and leaving each node once", () => {
		const { tree } = readProfile(bigPage(2000));
		const open: number[] = [];
		let seen = 0;
		walk(tree, (i) => {
			expect(tree.parent[i]).toBe(open.length > 0 ? open[open.length - 1] : 0);
			open.push(i);
			seen++;
		}, (i) => expect(open.pop()).toBe(i));
		expect(open).toEqual([]);
		expect(seen).toBe(tree.n - 1);
	});

	it("link every node once", () => {
		const { tree } = readProfile(bigPage(500));
		const { first, next } = linkChildren(tree);
		const linked = [...first, ...next].filter((i) => i >= 0).sort((a, b) => a - b);
		expect(linked).toEqual(Array.from({ length: tree.n - 1 }, (_, i) => i + 1));
	});
});
