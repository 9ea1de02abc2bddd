// SPDX-License-Identifier: Apache-2.0
//
// What stands around the tree: URL, numbers and names, colours, downloads.
import { describe, expect, it } from "vitest";

import { changeColour, COLOUR_BY, contrast, functionColours, KINDS, TEXT, type Rgb } from "../../src/model/colour";
import { toFolded, toSvg } from "../../src/model/download";
import { amount, baseName, duration, meanOf, percent, samplesOf, shown } from "../../src/model/format";
import { findPath, pathKey } from "../../src/model/hash";
import { layOut } from "../../src/model/layout";
import { pathOf } from "../../src/model/tree";
import { fromHash, SINGLE, START, toHash, type State } from "../../src/model/url";
import { profileOf, randomProfile } from "./helpers";

describe("state in the URL", () => {
	it("is nothing for the page as it opens", () => {
		expect(toHash(START, START)).toBe("");
		expect(fromHash("", SINGLE)).toEqual(START);
	});

	it("comes back as it was", () => {
		const s: State = {
			view: "both", zoom: "a-b", query: "a b&c=#%é", regex: true, inverted: true, flame: true,
			colour: "self", folded: true, unwrapped: true, absolute: true, selected: "k", focused: "f", hidden: ["x", "y"], busy: true,
			sort: "name", up: true, filter: "<b>", sliceFrom: "1", sliceTo: "2", thread: "3-4",
		};
		expect(fromHash(toHash(s, START), SINGLE)).toEqual(s);
	});

	it.each(["#view=evil&sort=&colour=%00", "#nonsense", "#%", "#&&==", "#view=__proto__"])(
		"leaves out what it does not understand: %s", (hash) => {
			expect(fromHash(hash, SINGLE)).toEqual(START);
		});

	it("bounds what it takes", () => {
		const s = fromHash("#query=" + "x".repeat(100_000) + "&hidden=a".repeat(1000), SINGLE);
		expect(s.query.length).toBe(1000);
		expect(s.hidden.length).toBe(50);
	});

	it("names every place of a tree, and finds it again", () => {
		const { tree, functions } = randomProfile(7).profile;
		for (let i = 1; i < tree.n; i++) {
			const key = pathKey(pathOf(tree, i).map((fn) => functions.key[fn]));
			expect(findPath(tree, functions.key, key)).toBe(i);
		}
		expect(findPath(tree, functions.key, "gone")).toBe(-1);
	});

	it("names the same place in another profile of the same program", () => {
		const a = profileOf("main;work;read 5");
		const b = profileOf("idle 3\nmain;work;write 1\nmain;work;read 2");
		const key = pathKey(pathOf(a.tree, 3).map((fn) => a.functions.key[fn]));
		const there = findPath(b.tree, b.functions.key, key);
		expect(pathOf(b.tree, there).map((fn) => b.functions.name[fn])).toEqual(["main", "work", "read"]);
	});
});

describe("numbers", () => {
	it.each<[number, string]>([[0, "0 ns"], [950, "950 ns"], [1500, "1.50 µs"], [2.5e6, "2.50 ms"],
		[340e6, "340 ms"], [999.7e6, "1.00 s"], [999.6e3, "1.00 ms"], [1.25e9, "1.25 s"], [59.94e9, "59.9 s"], [125e9, "2 m 05 s"],
		[7500e9, "2 h 05 m"]])("%d ns are %s", (ns, text) => {
		expect(duration(ns)).toBe(text);
	});

	it.each<[number, number, string]>([[0, 10, "0 %"], [1, 0, "0 %"], [1, 3, "33.33 %"],
		[1, 1e6, "< 0.01 %"], [10, 10, "100 %"]])("%d of %d are %s", (a, b, text) => {
		expect(percent(a, b)).toBe(text);
	});

	it("turns samples into time and back by the period", () => {
		expect(amount(100, { unit: "count", periodNs: 1e7 })).toBe("1.00 s");
		expect(amount(1234, { unit: "count", periodNs: 0 })).toBe("1,234 samples");
		expect(samplesOf(3e7, { unit: "nanoseconds", periodNs: 1e7 })).toBe(3);
		expect(samplesOf(3e7, { unit: "nanoseconds", periodNs: 0 })).toBe(null);
	});
});

describe("how much at any moment", () => {
	it("is cores that are used, or threads that wait, where it is known how long was measured", () => {
		const scale = { unit: "nanoseconds" as const, periodNs: 0, durationNs: 10e9 };
		expect(meanOf(5e9, { ...scale, type: "cpu" })).toEqual(["cores", "0.500"]);
		expect(meanOf(25e9, { ...scale, type: "off_cpu" })).toEqual(["waiting", "2.50"]);
		expect(meanOf(5e9, { ...scale, type: "cpu", durationNs: 0 })).toBe(null);
		expect(meanOf(5, { ...scale, type: "alloc", unit: "bytes" })).toBe(null);
	});
});

describe("names", () => {
	it("show what hides or turns the writing round", () => {
		expect(shown("a\u202eb\u0000c\u200fd\ne")).toBe("a\ufffdb\ufffdc\ufffdd\ufffde");
	});

	it("have a stand-in when empty", () => {
		expect(shown("")).toBe("(no name)");
	});

	it("are cut", () => {
		expect(shown("x".repeat(10_000), 100)).toBe("x".repeat(99) + "…");
		expect(shown("x".repeat(100), 100)).toBe("x".repeat(100));
	});

	it("lose their directory", () => {
		expect([baseName("/usr/lib/a.so"), baseName("a.so"), baseName("")]).toEqual(["a.so", "a.so", ""]);
	});
});

function rgb(text: string): Rgb {
	return text.match(/\d+/g)!.map(Number) as Rgb;
}

/* Viénot, Brettel and Mollon 1999: what a person without red or green cones sees, in linear light. */
function without(cone: "red" | "green", c: Rgb): Rgb {
	const [r, g, b] = c.map((v) => ((v / 255) ** 2.2));
	const rg = cone === "red" ? 0.11238 * r + 0.88762 * g : 0.29275 * r + 0.70725 * g;
	const bb = cone === "red" ? 0.00401 * r - 0.00401 * g + b : -0.02234 * r + 0.02234 * g + b;
	return [rg, rg, bb].map((v) => 255 * Math.max(0, v) ** (1 / 2.2)) as Rgb;
}

function distance(a: Rgb, b: Rgb): number {
	return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

describe("colours", () => {
	const p = profileOf(Object.keys(KINDS).filter((k) => !["dotnet", "beam", "unknown"].includes(k))
		.flatMap((k) => Array.from({ length: 30 }, (_, i) => `${k}:function${i}@/bin/${k}${i} ${i + 1}`))
		.join("\n"));

	it.each(COLOUR_BY)("leave the text readable, by %s", (by) => {
		const share = Float64Array.from({ length: p.functions.n }, (_, i) => i / p.functions.n);
		for (const c of functionColours(p.functions, by, share))
			expect(contrast(rgb(c), TEXT)).toBeGreaterThanOrEqual(4.5);
	});

	it("tell the kinds that meet most apart, for the colour-blind too", () => {
		const main = ["kernel", "native", "python", "jvm"].map((k) => KINDS[k].rgb);
		for (let i = 0; i < main.length; i++)
			for (let j = i + 1; j < main.length; j++) {
				expect(distance(main[i], main[j])).toBeGreaterThan(50);
				for (const cone of ["red", "green"] as const)
					expect(distance(without(cone, main[i]), without(cone, main[j]))).toBeGreaterThan(30);
			}
	});

	it("give a kind that is not known the colour of unknown", () => {
		const odd = profileOf("a 1");
		odd.functions.kind[0] = "__proto__";
		const known = profileOf("a 1");
		known.functions.kind[0] = "unknown";
		const none = new Float64Array(1);
		expect(functionColours(odd.functions, "kind", none)).toEqual(functionColours(known.functions, "kind", none));
	});

	it("of changes go from blue over grey to red and stay readable", () => {
		const [less, same, more] = [-1, 0, 1].map(changeColour);
		expect(less[2]).toBeGreaterThan(less[0]);
		expect(more[0]).toBeGreaterThan(more[2]);
		expect(new Set(same).size).toBe(1);
		for (let c = -1; c <= 1; c += 0.05)
			expect(contrast(changeColour(c), TEXT)).toBeGreaterThanOrEqual(4.5);
		expect(distance(without("red", less), without("red", more))).toBeGreaterThan(60);
		expect(distance(without("green", less), without("green", more))).toBeGreaterThan(60);
	});
});

describe("downloads", () => {
	it("write folded stacks with the kernel's marked", () => {
		const p = profileOf("main;kernel:vfs_read 3\nmain 2");
		expect(toFolded(p.tree, p.functions).trim().split("\n").sort())
			.toEqual(["main 2", "main;vfs_read_[k] 3"]);
	});

	it("leave separators out of folded names", () => {
		const p = profileOf("x 1");
		p.functions.name[0] = "a;b\nc";
		expect(toFolded(p.tree, p.functions)).toBe("a:b c 1\n");
		p.functions.name[0] = "";
		expect(toFolded(p.tree, p.functions)).toBe("[no name] 1\n");
	});

	it("draw an SVG that escapes names and has no script", () => {
		const p = profileOf("<script>\"&' 5\nok 5");
		const svg = toSvg({
			tree: p.tree, layout: layOut(p.tree), functions: p.functions,
			colours: ["rgb(1,2,3)", "rgb(4,5,6)"], flame: true, zoom: 0, rootName: "all", title: "<b>", tell: () => "<i>",
		});
		expect(svg).not.toMatch(/<script|<b>|<i>/);
		expect(svg).toContain("&#60;script&#62;");
		expect(svg.match(/<rect/g)!.length).toBe(4);
	});
});
