// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";

import { functionColours } from "../../src/model/colour";
import { callSiteOf, expandNode, findNode, isTruncatedFrame, nodeKey } from "../../src/model/expand";
import { packageOf } from "../../src/model/package";
import { readProfile, type Profile } from "../../src/model/profile";
import type { Functions } from "../../src/model/tree";
import { collapseWrappers, invert, MAX_DETAIL } from "../../src/model/transform";
import { bigPage } from "../fixture";
import { fnNamed, profileOf, randomProfile, stacks } from "./helpers";

function nodeAt(p: Profile, ...path: string[]): number {
	let at = 0;
	for (const name of path)
		at = Array.from({ length: p.tree.n }, (_, i) => i)
			.find((i) => i > 0 && p.tree.parent[i] === at && p.functions.name[p.tree.fn[i]] === name)!;
	return at;
}

/* Returns a profile as the server truncates it: functions named "other" get the frame type of truncated nodes. */
function truncatedProfile(text: string): Profile {
	const p = profileOf(text);
	p.functions.kind[fnNamed(p.functions, "other")] = "other";
	return p;
}

describe("a truncated node", () => {
	const whole = truncatedProfile("a;b 2\na;b;other 7\na;c 1\nd;other 4");
	const part = profileOf("a;b 2\na;b;x;y 4\na;b;z 3");

	it("is replaced by its expansion, which preserves the totals", () => {
		const node = nodeAt(whole, "a", "b");
		expect(callSiteOf(whole, node)).toEqual(["a", "b"]);
		const p = expandNode(whole, node, part);
		expect(stacks(p.tree, p.functions)).toEqual(["a;b 2", "a;b;x;y 4", "a;b;z 3", "a;c 1", "d;other 4"]);
		expect(p.tree.total[0]).toBe(whole.tree.total[0]);
	});

	it("can be the root", () => {
		const p = expandNode(truncatedProfile("a 1\nother 5"), 0, profileOf("a 1\nb 2\nc 3"));
		expect(stacks(p.tree, p.functions)).toEqual(["a 1", "b 2", "c 3"]);
	});

	it("stays unchanged if the expansion does not contain it", () => {
		const node = nodeAt(whole, "d");
		expect(expandNode(whole, node, part)).toBe(whole);
	});

	it("is recognized by its frame type, not by its name", () => {
		const p = profileOf("other 3");
		expect(isTruncatedFrame(p.functions, fnNamed(p.functions, "other"))).toBe(false);
		expect(isTruncatedFrame(whole.functions, fnNamed(whole.functions, "other"))).toBe(true);
		expect(isTruncatedFrame(whole.functions, -1)).toBe(false);
	});

	it("has a key that finds it in another profile", () => {
		const node = nodeAt(whole, "a", "b");
		expect(findNode(part, nodeKey(whole, node))).toBe(nodeAt(part, "a", "b"));
		expect(findNode(part, nodeKey(whole, 0))).toBe(0);
		expect(findNode(part, "x-y")).toBe(-1);
	});
});

describe("a pruned inverted tree", () => {
	it("preserves the total", () => {
		for (let seed = 1; seed < 9; seed++) {
			const { profile } = randomProfile(seed);
			const all = invert(profile.tree);
			for (const share of [0.01, 0.1, 0.5]) {
				const floor = profile.tree.total[0] * share;
				const t = invert(profile.tree, { floor, fine: floor, path: [] });
				expect(t.total[0]).toBe(all.total[0]);
				expect(t.total.slice(1).every((v) => v >= floor)).toBe(true);
				expect(t.n).toBe(1 + all.total.slice(1).filter((v) => v >= floor).length);
			}
		}
	});

	it("contains the zoomed node completely", () => {
		const { tree, functions } = profileOf("a;x 1\nb;x 1\nc;y 1\nd;y 1\ne;z 96");
		const floor = 50;
		const t = invert(tree, { floor, fine: 0, path: [fnNamed(functions, "x")] });
		expect(stacks(t, functions)).toEqual([" 2", "x;a 1", "x;b 1", "z;e 96"]);
		expect(t.self[0]).toBe(2);
	});

	it("stays small for a very large profile", () => {
		const { tree } = readProfile(bigPage(200_000));
		const floor = tree.total[0] / MAX_DETAIL;
		const t = invert(tree, { floor, fine: floor, path: [] });
		expect(t.total[0]).toBe(tree.total[0]);
		expect(t.n).toBeLessThan(MAX_DETAIL * 4);
	});
});

describe("collapsing wrappers", () => {
	it("keeps the ends of a chain and counts the frames between them", () => {
		const p = profileOf("main;w1;w2;w3;work;a 6\nmain;w1;w2;w3;work;b 4");
		const t = collapseWrappers(p.tree);
		expect(stacks(t, p.functions)).toEqual(["main;work;a 6", "main;work;b 4"]);
		const work = Array.from(t.fn).findIndex((fn) => fn >= 0 && p.functions.name[fn] === "work");
		expect(t.skipped![work]).toBe(3);
		expect(t.skipped![t.parent[work]]).toBe(0);
	});

	it("preserves the total and the samples of collapsed frames", () => {
		for (let seed = 1; seed < 9; seed++) {
			const { profile } = randomProfile(seed);
			const t = collapseWrappers(profile.tree);
			expect(t.total[0]).toBe(profile.tree.total[0]);
			expect(t.n).toBeLessThanOrEqual(profile.tree.n);
		}
		const p = profileOf("a;b;c;d 995\na;b 3\na;b;e 2");
		const t = collapseWrappers(p.tree);
		expect(t.total[0]).toBe(1000);
		expect(stacks(t, p.functions)).toEqual(["a 3", "a;d 995", "a;e 2"]);
	});

	it("keeps functions that branch or have samples of their own", () => {
		const p = profileOf("a;b;c 5\na;b 5\na;d 5");
		expect(stacks(collapseWrappers(p.tree), p.functions)).toEqual(stacks(p.tree, p.functions));
	});
});

describe("the package", () => {
	const of = (kind: string, name: string, file = "", binary = "/usr/bin/prog") => packageOf({
		n: 1, name: [name], kind: [kind], file: [file], binary: [binary], key: [""],
		lineMin: new Int32Array(1), lineMax: new Int32Array(1), inlined: new Uint8Array(1),
	} as Functions, 0);

	it.each([
		["kernel", "vfs_read", "", "kernel"],
		["native", "std::sync::Mutex<T>::lock", "", "std"],
		["native", "<alloc::vec::Vec<T> as core::iter::Iterator>::next", "", "alloc"],
		["native", "malloc", "", "prog"],
		["go", "net/http.(*Server).Serve", "", "net/http"],
		["go", "github.com/a/b/v2.Do[...]", "", "github.com/a/b/v2"],
		["go", "main.main", "", "main"],
		["jvm", "java.util.concurrent.locks.LockSupport.park(long)", "", "java.util.concurrent"],
		["jvm", "Main.main", "", "Main"],
		["python", "get", "/usr/lib/python3/site-packages/requests/api.py", "requests"],
		["python", "six", "/x/site-packages/six.py", "six"],
		["python", "run", "/srv/shop/views.py", "shop"],
		["v8", "parse", "/app/node_modules/@babel/core/lib/index.js", "@babel/core"],
		["v8", "anonymous", "", "prog"],
	])("of the %s function %s in file \"%s\" is %s", (kind, name, file, want) => {
		expect(of(kind, name, file)).toBe(want);
	});

	it("is bounded in length for hostile names", () => {
		for (const kind of ["native", "go", "jvm", "python", "v8", "unknown"])
			for (const name of ["", "::", "/", ".", "x".repeat(100_000), "<".repeat(5000)])
				expect(of(kind, name, name).length).toBeLessThanOrEqual(100_000);
	});

	it("determines a colour", () => {
		const { functions } = profileOf("a::b;c 1");
		expect(functionColours(functions, "package", new Float64Array(functions.n))[0]).toMatch(/^rgb/);
	});
});
