// SPDX-License-Identifier: Apache-2.0
//
// What is put on the canvas: pixels, names in little room, marks of a ruler.
import { describe, expect, it } from "vitest";

import { shorter } from "../../src/model/label";
import { clockStep, niceStep, secondsText } from "../../src/model/ruler";
import { Line, packed } from "../../src/view/line";

const RED = packed("rgb(255,0,0)");
const BLUE = packed("#0000ff");
const WHITE = packed("#ffffff");

function drawn(width: number, bars: [number, number, number, boolean][]): number[] {
	const line = new Line(width);
	const pixels = new Uint32Array(width);
	bars.forEach((b) => line.put(...b));
	line.copyTo(pixels, 0, 1, 1, WHITE);
	return [...pixels];
}

describe("a line of pixels", () => {
	it("has bars with sharp edges, at least a pixel each", () => {
		expect(drawn(4, [[0.4, 2.4, RED, true], [2.6, 2.7, BLUE, true]])).toEqual([RED, RED, WHITE, BLUE]);
	});

	it("has the mean of what shares a pixel, without seams", () => {
		expect(drawn(3, [[0, 0.5, RED, false], [0.5, 1, BLUE, false], [1, 1.5, RED, false], [1.5, 2, RED, false]]))
			.toEqual([packed("rgb(128,0,128)"), RED, WHITE]);
		expect(drawn(1, [[0, 0.5, RED, false]])).toEqual([packed("rgb(255,128,128)")]);
	});

	it("keeps what reaches beyond its ends within them", () => {
		expect(drawn(2, [[-5, 0.9, RED, true], [0.9, 99, BLUE, true]])).toEqual([RED, BLUE]);
		expect(drawn(2, [[1, 99, BLUE, false]])).toEqual([WHITE, BLUE]);
	});

	it("is copied to the rows of an image that are there, and is empty then", () => {
		const line = new Line(1);
		const pixels = new Uint32Array(3);
		line.put(0, 1, RED, true);
		line.copyTo(pixels, -2, 2, 3, WHITE);
		expect([...pixels]).toEqual([RED, RED, 0]);
		line.copyTo(pixels, 1, 9, 3, WHITE);
		expect([...pixels]).toEqual([RED, WHITE, WHITE]);
	});

	it("takes colours as style sheets and legends write them, darker on a dark page", () => {
		expect(packed("#102030")).toBe(0xff302010);
		expect(packed("rgb(16,32,48)")).toBe(0xff302010);
		expect(packed("#102030", 0.5)).toBe(0xff181008);
	});
});

describe("a name in little room", () => {
	it.each<[string, string, string[]]>([
		["std::panicking::try", "rust", ["panicking::try", "try"]],
		["a::b<c::d, e>::f(int, g::h) const [clone .isra.0]", "native", ["a::b<c::d, e>::f", "b<c::d, e>::f", "f"]],
		["(anonymous namespace)::run(int)", "native", ["(anonymous namespace)::run", "run"]],
		["<&dyn core::fmt::Debug as core::fmt::Debug>::fmt", "rust", ["fmt"]],
		["java.util.HashMap.putVal", "jvm", ["util.HashMap.putVal", "HashMap.putVal", "putVal"]],
		["main.(*Server).Serve", "go", ["Serve"]],
		["encoder.<locals>.encode_dict", "python", ["encode_dict"]],
		["finish_task_switch.isra.0", "kernel", []],
		["[libc.so.6+0x112f97]", "native", ["[libc.so.6]"]],
		["[stub: StubRoutines]", "jvm", []],
		["foo::operator()(int)", "native", []],
		["main", "native", []],
		["", "native", []],
	])("loses what comes before and behind: %s", (name, kind, forms) => {
		expect(shorter(name, kind)).toEqual(forms);
	});

	it("is never lost, whatever is in it", () => {
		for (const name of ["::", "a::", ".", "...", "<<<<", ">>>>", "((((", "a(b", "/", "//", "#"])
			for (const kind of ["native", "python"])
				expect(shorter(name, kind).every((f) => f !== "" && f.length < name.length)).toBe(true);
	});
});

describe("a ruler", () => {
	it.each([[0.3, 0.5], [1, 1], [1.1, 2], [2.2e6, 5e6], [6, 10]])("has a mark every 1, 2 or 5: %d", (least, step) => {
		expect(niceStep(least)).toBeCloseTo(step, 9);
	});

	it("tells the time at whole seconds, quarters, minutes", () => {
		expect([0.2, 7, 12, 31, 5000].map(clockStep)).toEqual([1, 10, 15, 60, 1800]);
	});

	it("tells its marks apart", () => {
		expect([2e8, 4e8].map((v) => secondsText(v, 2e8))).toEqual(["0.2 s", "0.4 s"]);
		expect(secondsText(1.5e9, 5e8)).toBe("1.5 s");
		expect(secondsText(3e9, 1e9)).toBe("3 s");
		expect(secondsText(1234e6, 1e6)).toBe("1.234 s");
	});
});
