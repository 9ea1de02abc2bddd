// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";

import { baseRange, rangeOfBoth } from "../../src/model/base";
import { heatColour, heatOf, sliceOf, withoutStripes } from "../../src/model/heat";
import { backFrom, parseEnd, rangeOf, rangeText, stepFor, stepRange, whatExists, zoomOut } from "../../src/model/range";
import { filterText, narrowed, parseFilter, quoteRegex, selectorOf } from "../../src/model/selector";
import { bytesText } from "../../src/model/format";
import { rateUnit, stackLines } from "../../src/model/stack_lines";
import { bestType, typeName, unitOf } from "../../src/model/types";
import { fromHash, toHash } from "../../src/model/url";
import { SERVER, SERVER_START, type ServerState } from "../../src/server/state";

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;

describe("ranges", () => {
	it("reads now, what is back from now, and milliseconds; nothing else", () => {
		expect(parseEnd("now", NOW)).toBe(NOW);
		expect(parseEnd("now-15m", NOW)).toBe(NOW - 15 * MINUTE);
		expect(parseEnd("now-2d", NOW)).toBe(NOW - 2 * 86400e3);
		expect(parseEnd("1789999999999", NOW)).toBe(1789999999999);
		for (const bad of ["", "yesterday", "now+5m", "now-5y", "-5", "1e12", "now-9999999m"])
			expect(parseEnd(bad, NOW)).toBeNaN();
	});

	it("is the last 15 minutes where the URL makes no sense", () => {
		const usual = { from: NOW - 15 * MINUTE, to: NOW };
		expect(rangeOf("x", "y", NOW)).toEqual(usual);
		expect(rangeOf("now", "now-5m", NOW)).toEqual(usual);
		expect(rangeOf("now-999999d", "now", NOW)).toEqual(usual);
		expect(rangeOf("now-5m", "now", NOW)).toEqual({ from: NOW - 5 * MINUTE, to: NOW });
	});

	it("steps by its own width and turns live when it would pass the present", () => {
		const r = { from: NOW - 30 * MINUTE, to: NOW - 20 * MINUTE };
		expect(stepRange(r, -1, NOW)).toEqual({ from: String(NOW - 40 * MINUTE), to: String(NOW - 30 * MINUTE) });
		expect(stepRange(r, 1, NOW)).toEqual({ from: String(NOW - 20 * MINUTE), to: String(NOW - 10 * MINUTE) });
		expect(stepRange({ from: NOW - 15 * MINUTE, to: NOW - 5 * MINUTE }, 1, NOW)).toEqual({ from: "now-10m", to: "now" });
		expect(zoomOut(r, NOW)).toEqual({ from: String(NOW - 35 * MINUTE), to: String(NOW - 15 * MINUTE) });
		expect(zoomOut({ from: NOW - 10 * MINUTE, to: NOW }, NOW)).toEqual({ from: "now-20m", to: "now" });
		expect([backFrom(90e3), backFrom(3600e3), backFrom(2 * 86400e3)]).toEqual(["now-90s", "now-1h", "now-2d"]);
	});

	it("is what exists, where a server is young", () => {
		const r = { from: NOW - 15 * MINUTE, to: NOW };
		expect(whatExists(r, NOW - 5 * MINUTE)).toEqual({ from: NOW - 5.5 * MINUTE, to: NOW });
		expect(whatExists(r, NOW - 1000)).toEqual({ from: NOW - 2 * MINUTE, to: NOW });
		expect(whatExists(r, NOW - 60 * MINUTE)).toEqual(r);
		expect(whatExists(r, 0)).toEqual(r);
	});

	it("is told in words", () => {
		expect(rangeText("now-1h", "now", NOW)).toBe("Last hour");
		expect(rangeText("now-7m", "now", NOW)).toBe("Last 7m");
		expect(rangeText(String(NOW - 60 * MINUTE), String(NOW - 30 * MINUTE), NOW)).toMatch(/^\d\d:\d\d – \d\d:\d\d$/);
	});

	it("has steps that a time line has room for", () => {
		expect(stepFor({ from: 0, to: 15 * MINUTE }, 180)).toBe(15);
		expect(stepFor({ from: 0, to: 86400e3 }, 180)).toBe(600);
		expect(stepFor({ from: 0, to: 3000 * 86400e3 }, 180)).toBe(86400);
	});
});

describe("what a range is compared with", () => {
	const r = { from: NOW - 10 * MINUTE, to: NOW };
	const none = { baseFrom: "", baseTo: "" };

	it("is the time before, the day before, the week before, itself, or as chosen", () => {
		expect(baseRange({ base: "before", ...none }, r, NOW)).toEqual({ from: NOW - 20 * MINUTE, to: NOW - 10 * MINUTE });
		expect(baseRange({ base: "day", ...none }, r, NOW).from).toBe(r.from - 86400e3);
		expect(baseRange({ base: "week", ...none }, r, NOW).to).toBe(r.to - 7 * 86400e3);
		expect(baseRange({ base: "same", ...none }, r, NOW)).toEqual(r);
		expect(baseRange({ base: "custom", baseFrom: "1780000000000", baseTo: "1780000001000" }, r, NOW))
			.toEqual({ from: 1780000000000, to: 1780000001000 });
		expect(baseRange({ base: "custom", baseFrom: "5", baseTo: "x" }, r, NOW)).toEqual({ from: NOW - 20 * MINUTE, to: NOW - 10 * MINUTE });
	});

	it("is drawn on one time line while both are to be seen", () => {
		expect(rangeOfBoth(r, baseRange({ base: "before", ...none }, r, NOW)).from).toBe(NOW - 20 * MINUTE);
		expect(rangeOfBoth(r, baseRange({ base: "week", ...none }, r, NOW))).toEqual(r);
	});
});

describe("selectors", () => {
	it("quotes whatever a label and its value are", () => {
		expect(selectorOf("", [])).toBe("{}");
		expect(selectorOf("shop", ["host.name!=n1", "pod=~web.*"]))
			.toBe('{"service_name"="shop","host.name"!="n1","pod"=~"web.*"}');
		expect(selectorOf('a"b\\c', ["x=line\nfeed"])).toBe('{"service_name"="a\\"b\\\\c","x"="line\\nfeed"}');
	});

	it("reads its own filters and leaves out what is none", () => {
		for (const f of [{ name: "a", op: "=" as const, value: "b=c" }, { name: "a.b", op: "!~" as const, value: "" }])
			expect(parseFilter(filterText(f))).toEqual(f);
		expect(parseFilter("nothing")).toBeNull();
		expect(selectorOf("", ["nothing", "=x"])).toBe("{}");
	});

	it("narrows to one value of a label", () => {
		expect(narrowed(["pod=a", "pod!=c", "zone=x"], "pod", "b")).toEqual(["pod!=c", "zone=x", "pod=b"]);
	});

	it("takes a text for itself in a regular expression", () => {
		const text = "a.b*(c)[d]{e}|^$\\";
		expect(new RegExp(`^${quoteRegex(text)}$`).test(text)).toBe(true);
	});
});

describe("profile types", () => {
	const CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
	const ALLOC = "memory:alloc_space:bytes:space:bytes";

	it("are called as people call them", () => {
		expect(typeName(CPU)).toBe("CPU time");
		expect(typeName("strange:thing:parsecs:x:y")).toBe("strange thing");
		expect(typeName("__proto__:x")).toBe("__proto__ x");
		expect([unitOf(CPU), unitOf(ALLOC), unitOf("x")]).toEqual(["nanoseconds", "bytes", "count"]);
	});

	it("show CPU time first", () => {
		expect(bestType([ALLOC, "process_cpu:samples:count:cpu:nanoseconds", CPU])).toBe(CPU);
		expect(bestType([ALLOC])).toBe(ALLOC);
		expect(bestType([])).toBe("");
	});
});

describe("stacked lines", () => {
	it("lie on one another, with what was left out on top", () => {
		const s = stackLines([
			{ name: "a", points: [[100, 4], [200, 2]] },
			{ name: "b", points: [[100, 1]] },
		], [[100, 7], [200, 2]], 100, 300, 100, 0.5);
		expect(s.times).toEqual([100, 200, 300]);
		expect(s.lines.map((l) => [l.name, l.rest])).toEqual([["a", false], ["b", false], ["all others", true]]);
		expect(s.lines.map((l) => l.top)).toEqual([[2, 1, null], [2.5, 1, null], [3.5, 1, null]]);
		expect(s.lines[2].value).toEqual([1, 0, null]);
	});

	it("are not more than the server's", () => {
		expect(stackLines([{ name: "a", points: [[0, 1]] }], [[0, 1]], 0, 0, 1, 1).lines.length).toBe(1);
		expect(stackLines([], [], 0, 1000, 100, 1).lines).toEqual([]);
	});

	it("are told in cores, threads that wait, and bytes", () => {
		expect(rateUnit("process_cpu:cpu:nanoseconds:cpu:nanoseconds").text(1.5)).toBe("1.50 cores");
		expect(rateUnit("off_cpu:off_cpu:nanoseconds::").text(1.5)).toBe("1.50 waiting");
		expect(rateUnit("memory:alloc_space:bytes::").text(2048)).toBe("2.0 KiB/s");
		expect(bytesText(1023)).toBe("1023 B");
		expect(bytesText(3 * 2 ** 40)).toBe("3.0 TiB");
	});
});

describe("the heat map", () => {
	const h = heatOf({ start: 1000, cellMs: 250, n: 8, at: [0, 5, 7, 99], value: [1, 2, 3, 50] });

	it("has a column a second and a row for each part", () => {
		expect([h.columns, h.rows, h.max]).toEqual([2, 4, 3]);
		expect([...h.value]).toEqual([1, 0, 0, 0, 0, 2, 0, 3]);
	});

	it("begins its columns with the second, whenever the range begins", () => {
		const late = heatOf({ start: 1500, cellMs: 250, n: 2, at: [0, 1], value: [4, 5] });
		expect([late.start, [...late.value]]).toEqual([1000, [0, 0, 4, 5]]);
	});

	it("has no stripes where samples are rarer than cells", () => {
		const rare = { start: 1000, cellMs: 20, n: 100, at: [0, 3, 6, 8, 50], value: [1, 2, 3, 4, 5] };
		expect(withoutStripes(rare)).toEqual({ start: 1000, cellMs: 100, n: 20, at: [0, 1, 10], value: [3, 7, 5] });
		const often = { ...rare, at: [0, 1, 2, 3, 50] };
		expect(withoutStripes(often)).toBe(often);
	});

	it("gives the cells between two, whichever was first", () => {
		const [a, b] = [{ column: 0, row: 3 }, { column: 1, row: 1 }];
		expect(sliceOf(h, a, b)).toEqual([3, 5]);
		expect(sliceOf(h, b, a)).toEqual([3, 5]);
	});

	it("gets only darker, or only lighter, with more", () => {
		const light = (c: string) => c.slice(4, -1).split(",").reduce((s, v, i) => s + [0.3, 0.6, 0.1][i] * Number(v), 0);
		for (const dark of [false, true]) {
			const steps = Array.from({ length: 21 }, (_, i) => light(heatColour(i / 20, dark)));
			steps.slice(1).forEach((v, i) => expect(dark ? v > steps[i] : v < steps[i]).toBe(true));
		}
	});
});

describe("the URL of a server's page", () => {
	it("is empty for what a first visitor sees, and says everything else", () => {
		expect(toHash(SERVER_START, SERVER_START)).toBe("");
		const s: ServerState = {
			...SERVER_START, page: "compare", from: "1", to: "2", type: "t", service: "a&b", where: ["x=1", "y!~z"],
			by: "host", split: "", group: "pod", base: "custom", baseFrom: "3", baseTo: "4", baseOwn: true,
			baseService: "c", baseWhere: ["q=r"], sliceFrom: "5", sliceTo: "6", thread: "7", order: "-bytes", opened: ["k-k"],
			view: "table", query: "né", zoom: "z-z",
		};
		expect(fromHash(toHash(s, SERVER_START), SERVER)).toEqual(s);
	});

	it("leaves out what it does not know and bounds the rest", () => {
		expect(fromHash("#page=nowhere&base=x&unknown=1", SERVER)).toEqual(SERVER_START);
		const s = fromHash(`#${"where=a%3Db&".repeat(500)}service=${"x".repeat(9999)}`, SERVER);
		expect([s.where.length, s.service.length]).toEqual([30, 1000]);
	});
});
