// SPDX-License-Identifier: Apache-2.0
//
// Tests of what is drawn on the canvas: pixels, shortened names, ticks.
import { describe, expect, it } from "vitest";

import { shortForms } from "../../src/model/short_names";
import { clockStep, niceStep, secondsText } from "../../src/model/ruler";
import { packColour, PixelRow } from "../../src/view/pixel_row";

const RED = packColour("rgb(255,0,0)");
const BLUE = packColour("#0000ff");
const WHITE = packColour("#ffffff");

function drawn(width: number, bars: [number, number, number, boolean][]): number[] {
	const line = new PixelRow(width);
	const pixels = new Uint32Array(width);
	bars.forEach((b) => line.put(...b));
	line.copyTo(pixels, 0, 1, 1, WHITE);
	return [...pixels];
}

describe("a row of pixels", () => {
	it("draws wide bars with sharp edges and a width of at least one pixel", () => {
		expect(drawn(4, [[0.4, 2.4, RED, true], [2.6, 2.7, BLUE, true]])).toEqual([RED, RED, WHITE, BLUE]);
	});

	it("blends narrow bars that share a pixel", () => {
		expect(drawn(3, [[0, 0.5, RED, false], [0.5, 1, BLUE, false], [1, 1.5, RED, false], [1.5, 2, RED, false]]))
			.toEqual([packColour("rgb(128,0,128)"), RED, WHITE]);
		expect(drawn(1, [[0, 0.5, RED, false]])).toEqual([packColour("rgb(255,128,128)")]);
	});

	it("clips bars at its ends", () => {
		expect(drawn(2, [[-5, 0.9, RED, true], [0.9, 99, BLUE, true]])).toEqual([RED, BLUE]);
		expect(drawn(2, [[1, 99, BLUE, false]])).toEqual([WHITE, BLUE]);
	});

	it("is copied to existing lines of an image and cleared", () => {
		const line = new PixelRow(1);
		const pixels = new Uint32Array(3);
		line.put(0, 1, RED, true);
		line.copyTo(pixels, -2, 2, 3, WHITE);
		expect([...pixels]).toEqual([RED, RED, 0]);
		line.copyTo(pixels, 1, 9, 3, WHITE);
		expect([...pixels]).toEqual([RED, WHITE, WHITE]);
	});

	it("accepts CSS colours and dims them on a dark page", () => {
		expect(packColour("#102030")).toBe(0xff302010);
		expect(packColour("rgb(16,32,48)")).toBe(0xff302010);
		expect(packColour("#102030", 0.5)).toBe(0xff181008);
	});
});

describe("shortening a name", () => {
	it.each<[string, string, string[]]>([
		["std::panicking::try", "rust", ["panicking::try", "try"]],
		["a::b<c::d, e>::f(int, g::h) const [clone .isra.0]", "native", ["a::b<c::d, e>::f", "b<c::d, e>::f", "f"]],
		["(anonymous namespace)::run(int)", "native", ["(anonymous namespace)::run", "run"]],
		["<&dyn core::fmt::Debug as core::fmt::Debug>::fmt", "rust", ["fmt"]],
		["java.util.HashMap.putVal", "jvm", ["util.HashMap.putVal", "HashMap.putVal", "putVal"]],
		["main.(*Server).Serve", "go", ["Serve"]],
		["main.handlePage.func4", "go", ["handlePage.func4"]],
		["main.handlePage.func4.1", "go", ["handlePage.func4.1"]],
		["net/http.(*Server).Serve.gowrap3", "go", ["http.(*Server).Serve.gowrap3", "Serve.gowrap3"]],
		["app::run::{{closure}}", "rust", ["run::{{closure}}"]],
		["encoder.<locals>.encode_dict", "python", ["encode_dict"]],
		["finish_task_switch.isra.0", "kernel", []],
		["[libc.so.6+0x112f97]", "native", ["[libc.so.6]"]],
		["[stub: StubRoutines]", "jvm", []],
		["foo::operator()(int)", "native", []],
		["main", "native", []],
		["", "native", []],
	])("drops arguments and qualifiers: %s", (name, kind, forms) => {
		expect(shortForms(name, kind)).toEqual(forms);
	});

	it("never yields an empty name", () => {
		for (const name of ["::", "a::", ".", "...", "<<<<", ">>>>", "((((", "a(b", "/", "//", "#"])
			for (const kind of ["native", "python"])
				expect(shortForms(name, kind).every((f) => f !== "" && f.length < name.length)).toBe(true);
	});
});

describe("a time axis", () => {
	it.each([[0.3, 0.5], [1, 1], [1.1, 2], [2.2e6, 5e6], [6, 10]])("has steps of 1, 2 or 5 times a power of ten: %d", (least, step) => {
		expect(niceStep(least)).toBeCloseTo(step, 9);
	});

	it("uses steps that suit a clock", () => {
		expect([0.2, 7, 12, 31, 5000].map(clockStep)).toEqual([1, 10, 15, 60, 1800]);
	});

	it("uses enough digits to distinguish adjacent ticks", () => {
		expect([2e8, 4e8].map((v) => secondsText(v, 2e8))).toEqual(["0.2 s", "0.4 s"]);
		expect(secondsText(1.5e9, 5e8)).toBe("1.5 s");
		expect(secondsText(3e9, 1e9)).toBe("3 s");
		expect(secondsText(1234e6, 1e6)).toBe("1.234 s");
	});
});
