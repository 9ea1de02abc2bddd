// SPDX-License-Identifier: Apache-2.0
//
// Tests of URL state, formatting, colours and downloads.
import { describe, expect, it } from "vitest";

import { changeColour, COLOUR_BY, contrast, functionColours, KINDS, TEXT, type Rgb } from "../../src/model/colour";
import {
	baseName, displayName, formatDuration, formatPercent, formatValue, meanConcurrency, toSamples,
} from "../../src/model/format";
import { findPath, pathKey } from "../../src/model/hash";
import { toFolded } from "../../src/model/export";
import { layOut } from "../../src/model/layout";
import { toSvg } from "../../src/model/svg";
import { pathOf } from "../../src/model/tree";
import { fromHash, START, toHash, type State } from "../../src/model/url";
import { PROFILE_CODEC } from "../../src/view/profile_views";
import { profileOf, randomProfile } from "./helpers";

describe("the state in the URL", () => {
	it("is empty for the initial state", () => {
		expect(toHash(START, START)).toBe("");
		expect(fromHash("", PROFILE_CODEC)).toEqual(START);
	});

	it("is restored completely", () => {
		const s: State = {
			view: "both", zoom: "a-b", query: "a b&c=#%é", regex: true, inverted: true, flame: true,
			colour: "self", folded: true, unwrapped: true, absolute: true, selected: "k", focused: "f", hidden: ["x", "y"], busy: true,
			sort: "name", up: true, filter: "<b>", sliceFrom: "1", sliceTo: "2", thread: "3-4",
		};
		expect(fromHash(toHash(s, START), PROFILE_CODEC)).toEqual(s);
	});

	it.each(["#view=evil&sort=&colour=%00", "#nonsense", "#%", "#&&==", "#view=__proto__"])(
		"ignores invalid parameters: %s", (hash) => {
			expect(fromHash(hash, PROFILE_CODEC)).toEqual(START);
		});

	it("is bounded in length", () => {
		const s = fromHash("#query=" + "x".repeat(100_000) + "&hidden=a".repeat(1000), PROFILE_CODEC);
		expect(s.query.length).toBe(1000);
		expect(s.hidden.length).toBe(50);
	});

	it("has a unique key for every node", () => {
		const { tree, functions } = randomProfile(7).profile;
		for (let i = 1; i < tree.n; i++) {
			const key = pathKey(pathOf(tree, i).map((fn) => functions.key[fn]));
			expect(findPath(tree, functions.key, key)).toBe(i);
		}
		expect(findPath(tree, functions.key, "gone")).toBe(-1);
	});

	it("has keys that find the same node in another profile", () => {
		const a = profileOf("main;work;read 5");
		const b = profileOf("idle 3\nmain;work;write 1\nmain;work;read 2");
		const key = pathKey(pathOf(a.tree, 3).map((fn) => a.functions.key[fn]));
		const there = findPath(b.tree, b.functions.key, key);
		expect(pathOf(b.tree, there).map((fn) => b.functions.name[fn])).toEqual(["main", "work", "read"]);
	});
});

describe("numbers", () => {
	it.each<[number, string]>([[0, "0 ns"], [950, "950 ns"], [1500, "1.50 µs"], [2.5e6, "2.50 ms"],
		[340e6, "340 ms"], [999.7e6, "1.00 s"], [999.6e3, "1.00 ms"], [1.25e9, "1.25 s"], [59.94e9, "59.9 s"], [125e9, "2 min 05 s"],
		[7500e9, "2 h 05 min"]])("%d ns are formatted as %s", (ns, text) => {
		expect(formatDuration(ns)).toBe(text);
	});

	it.each<[number, number, string]>([[0, 10, "0%"], [1, 0, "0%"], [1, 3, "33.33%"],
		[1, 1e6, "< 0.01%"], [10, 10, "100%"]])("%d of %d are formatted as %s", (a, b, text) => {
		expect(formatPercent(a, b)).toBe(text);
	});

	it("convert between samples and time using the period", () => {
		expect(formatValue(100, { unit: "count", periodNs: 1e7 })).toBe("1.00 s");
		expect(formatValue(1234, { unit: "count", periodNs: 0 })).toBe("1,234 samples");
		expect(toSamples(3e7, { unit: "nanoseconds", periodNs: 1e7 })).toBe(3);
		expect(toSamples(3e7, { unit: "nanoseconds", periodNs: 0 })).toBe(null);
	});
});

describe("the mean concurrency", () => {
	it("is that of cores or of waiting threads, if the duration is known", () => {
		const scale = { unit: "nanoseconds" as const, periodNs: 0, durationNs: 10e9 };
		expect(meanConcurrency(5e9, { ...scale, type: "cpu" })).toEqual(["cores", "0.500"]);
		expect(meanConcurrency(25e9, { ...scale, type: "off_cpu" })).toEqual(["waiting", "2.50"]);
		expect(meanConcurrency(5e9, { ...scale, type: "cpu", durationNs: 0 })).toBe(null);
		expect(meanConcurrency(5, { ...scale, type: "alloc", unit: "bytes" })).toBe(null);
	});
});

describe("names", () => {
	it("reveal invisible and reordering characters", () => {
		expect(displayName("a\u202eb\u0000c\u200fd\ne")).toBe("a\ufffdb\ufffdc\ufffdd\ufffde");
	});

	it("have a placeholder if they are empty", () => {
		expect(displayName("")).toBe("(unnamed)");
	});

	it("are truncated", () => {
		expect(displayName("x".repeat(10_000), 100)).toBe("x".repeat(99) + "…");
		expect(displayName("x".repeat(100), 100)).toBe("x".repeat(100));
	});

	it("lose their directory", () => {
		expect([baseName("/usr/lib/a.so"), baseName("a.so"), baseName("")]).toEqual(["a.so", "a.so", ""]);
	});
});

function rgb(text: string): Rgb {
	return text.match(/\d+/g)!.map(Number) as Rgb;
}

/* Simulates the vision of a person without red or green cones, after Viénot, Brettel and Mollon 1999, in linear light. */
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

	it.each(COLOUR_BY)("have enough contrast with the text, by %s", (by) => {
		const share = Float64Array.from({ length: p.functions.n }, (_, i) => i / p.functions.n);
		for (const c of functionColours(p.functions, by, share))
			expect(contrast(rgb(c), TEXT)).toBeGreaterThanOrEqual(4.5);
	});

	it("distinguish the most common frame types, for colour-blind users, too", () => {
		const main = ["kernel", "native", "python", "jvm"].map((k) => KINDS[k].rgb);
		for (let i = 0; i < main.length; i++)
			for (let j = i + 1; j < main.length; j++) {
				expect(distance(main[i], main[j])).toBeGreaterThan(50);
				for (const cone of ["red", "green"] as const)
					expect(distance(without(cone, main[i]), without(cone, main[j]))).toBeGreaterThan(30);
			}
	});

	it("fall back to the colour of unknown frames", () => {
		const odd = profileOf("a 1");
		odd.functions.kind[0] = "__proto__";
		const known = profileOf("a 1");
		known.functions.kind[0] = "unknown";
		const none = new Float64Array(1);
		expect(functionColours(odd.functions, "kind", none)).toEqual(functionColours(known.functions, "kind", none));
	});

	it("of changes range from blue to red and have enough contrast", () => {
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
	it("mark kernel frames in folded stacks", () => {
		const p = profileOf("main;kernel:vfs_read 3\nmain 2");
		expect(toFolded(p.tree, p.functions).trim().split("\n").sort())
			.toEqual(["main 2", "main;vfs_read_[k] 3"]);
	});

	it("replace separators in folded names", () => {
		const p = profileOf("x 1");
		p.functions.name[0] = "a;b\nc";
		expect(toFolded(p.tree, p.functions)).toBe("a:b c 1\n");
		p.functions.name[0] = "";
		expect(toFolded(p.tree, p.functions)).toBe("[no name] 1\n");
	});

	it("escape names in an SVG without scripts", () => {
		const p = profileOf("<script>\"&' 5\nok 5");
		const svg = toSvg({
			tree: p.tree, layout: layOut(p.tree), functions: p.functions,
			colours: ["rgb(1,2,3)", "rgb(4,5,6)"], flame: true, zoom: 0, rootName: "all", title: "<b>", describe: () => "<i>",
		});
		expect(svg).not.toMatch(/<script|<b>|<i>/);
		expect(svg).toContain("&#60;script&#62;");
		expect(svg.match(/<rect/g)!.length).toBe(4);
	});
});
