// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";

import { baseRange, unionRange } from "../../src/model/base";
import { buildHeatMap, heatColour, mergeSparseCells, sliceBetween } from "../../src/model/heat_map";
import {
	clampToData, formatPreciseTime, formatRange, parseEnd, rangeOf, relativeStart, shiftRange, stepSeconds, zoomOut,
} from "../../src/model/range";
import { filterText, narrowTo, parseFilter, quoteRegex, selectorOf } from "../../src/model/selector";
import { formatBytes } from "../../src/model/format";
import { rateUnit, stackSeries } from "../../src/model/stacked_series";
import { defaultType, typeName, unitOf } from "../../src/model/profile_types";
import { fromHash, toHash } from "../../src/model/url";
import { SERVER_START, type ServerState } from "../../src/server/state";
import { codecOf, VIEWS } from "../../src/server/views";

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;

describe("a time range", () => {
	it("is parsed from now, relative times and milliseconds only", () => {
		expect(parseEnd("now", NOW)).toBe(NOW);
		expect(parseEnd("now-15m", NOW)).toBe(NOW - 15 * MINUTE);
		expect(parseEnd("now-2d", NOW)).toBe(NOW - 2 * 86400e3);
		expect(parseEnd("1789999999999", NOW)).toBe(1789999999999);
		for (const bad of ["", "yesterday", "now+5m", "now-5y", "-5", "1e12", "now-9999999m"])
			expect(parseEnd(bad, NOW)).toBeNaN();
	});

	it("is the last 15 minutes if the URL is invalid", () => {
		const usual = { from: NOW - 15 * MINUTE, to: NOW };
		expect(rangeOf("x", "y", NOW)).toEqual(usual);
		expect(rangeOf("now", "now-5m", NOW)).toEqual(usual);
		expect(rangeOf("now-999999d", "now", NOW)).toEqual(usual);
		expect(rangeOf("now-5m", "now", NOW)).toEqual({ from: NOW - 5 * MINUTE, to: NOW });
	});

	it("is shifted by its width and becomes live at the present", () => {
		const r = { from: NOW - 30 * MINUTE, to: NOW - 20 * MINUTE };
		expect(shiftRange(r, -1, NOW)).toEqual({ from: String(NOW - 40 * MINUTE), to: String(NOW - 30 * MINUTE) });
		expect(shiftRange(r, 1, NOW)).toEqual({ from: String(NOW - 20 * MINUTE), to: String(NOW - 10 * MINUTE) });
		expect(shiftRange({ from: NOW - 15 * MINUTE, to: NOW - 5 * MINUTE }, 1, NOW)).toEqual({ from: "now-10m", to: "now" });
		expect(zoomOut(r, NOW)).toEqual({ from: String(NOW - 35 * MINUTE), to: String(NOW - 15 * MINUTE) });
		expect(zoomOut({ from: NOW - 10 * MINUTE, to: NOW }, NOW)).toEqual({ from: "now-20m", to: "now" });
		expect([relativeStart(90e3), relativeStart(3600e3), relativeStart(2 * 86400e3)]).toEqual(["now-90s", "now-1h", "now-2d"]);
	});

	it("is clamped to the existing data of a new server", () => {
		const r = { from: NOW - 15 * MINUTE, to: NOW };
		expect(clampToData(r, NOW - 5 * MINUTE)).toEqual({ from: NOW - 5.5 * MINUTE, to: NOW });
		expect(clampToData(r, NOW - 1000)).toEqual({ from: NOW - 2 * MINUTE, to: NOW });
		expect(clampToData(r, NOW - 60 * MINUTE)).toEqual(r);
		expect(clampToData(r, 0)).toEqual(r);
	});

	it("is formatted as text", () => {
		expect(formatRange("now-1h", "now", NOW)).toBe("Last hour");
		expect(formatRange("now-7m", "now", NOW)).toBe("Last 7 minutes");
		expect(formatRange(String(NOW - 60 * MINUTE), String(NOW - 30 * MINUTE), NOW)).toMatch(/^\d\d:\d\d – \d\d:\d\d$/);
	});

	it("has times with milliseconds", () => {
		expect(formatPreciseTime(NOW + 7)).toMatch(/:\d\d\.007$/);
	});

	it("is divided into steps that fit the timeline", () => {
		expect(stepSeconds({ from: 0, to: 15 * MINUTE }, 180)).toBe(15);
		expect(stepSeconds({ from: 0, to: 86400e3 }, 180)).toBe(600);
		expect(stepSeconds({ from: 0, to: 3000 * 86400e3 }, 180)).toBe(86400);
	});
});

describe("the baseline", () => {
	const r = { from: NOW - 10 * MINUTE, to: NOW };
	const none = { baseFrom: "", baseTo: "" };

	it("is the previous period, one day or week earlier, the same range, or custom", () => {
		expect(baseRange({ base: "before", ...none }, r, NOW)).toEqual({ from: NOW - 20 * MINUTE, to: NOW - 10 * MINUTE });
		expect(baseRange({ base: "day", ...none }, r, NOW).from).toBe(r.from - 86400e3);
		expect(baseRange({ base: "week", ...none }, r, NOW).to).toBe(r.to - 7 * 86400e3);
		expect(baseRange({ base: "same", ...none }, r, NOW)).toEqual(r);
		expect(baseRange({ base: "custom", baseFrom: "1780000000000", baseTo: "1780000001000" }, r, NOW))
			.toEqual({ from: 1780000000000, to: 1780000001000 });
		expect(baseRange({ base: "custom", baseFrom: "5", baseTo: "x" }, r, NOW)).toEqual({ from: NOW - 20 * MINUTE, to: NOW - 10 * MINUTE });
	});

	it("is on the same timeline if both ranges remain visible", () => {
		expect(unionRange(r, baseRange({ base: "before", ...none }, r, NOW)).from).toBe(NOW - 20 * MINUTE);
		expect(unionRange(r, baseRange({ base: "week", ...none }, r, NOW))).toEqual(r);
	});
});

describe("a selector", () => {
	it("quotes labels and values", () => {
		expect(selectorOf("", [])).toBe("{}");
		expect(selectorOf("shop", ["host.name!=n1", "pod=~web.*"]))
			.toBe('{"service_name"="shop","host.name"!="n1","pod"=~"web.*"}');
		expect(selectorOf('a"b\\c', ["x=line\nfeed"])).toBe('{"service_name"="a\\"b\\\\c","x"="line\\nfeed"}');
	});

	it("parses its own filters and ignores invalid ones", () => {
		for (const f of [{ name: "a", op: "=" as const, value: "b=c" }, { name: "a.b", op: "!~" as const, value: "" }])
			expect(parseFilter(filterText(f))).toEqual(f);
		expect(parseFilter("nothing")).toBeNull();
		expect(selectorOf("", ["nothing", "=x"])).toBe("{}");
	});

	it("narrows to one value of a label", () => {
		expect(narrowTo(["pod=a", "pod!=c", "zone=x"], "pod", "b")).toEqual(["pod!=c", "zone=x", "pod=b"]);
	});

	it("escapes text in a regular expression", () => {
		const text = "a.b*(c)[d]{e}|^$\\";
		expect(new RegExp(`^${quoteRegex(text)}$`).test(text)).toBe(true);
	});
});

describe("profile types", () => {
	const CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
	const ALLOC = "memory:alloc_space:bytes:space:bytes";

	it("have display names", () => {
		expect(typeName(CPU)).toBe("CPU time");
		expect(typeName("strange:thing:parsecs:x:y")).toBe("strange thing");
		expect(typeName("__proto__:x")).toBe("__proto__ x");
		expect([unitOf(CPU), unitOf(ALLOC), unitOf("x")]).toEqual(["nanoseconds", "bytes", "count"]);
	});

	it("default to CPU time", () => {
		expect(defaultType([ALLOC, "process_cpu:samples:count:cpu:nanoseconds", CPU])).toBe(CPU);
		expect(defaultType([ALLOC])).toBe(ALLOC);
		expect(defaultType([])).toBe("");
	});
});

describe("stacked series", () => {
	it("are stacked, with the remainder on top", () => {
		const s = stackSeries([
			{ name: "a", points: [[100, 4], [200, 2]] },
			{ name: "b", points: [[100, 1]] },
		], [[100, 7], [200, 2]], 100, 300, 100, 0.5);
		expect(s.times).toEqual([100, 200, 300]);
		expect(s.series.map((l) => [l.name, l.isRemainder])).toEqual([["a", false], ["b", false], ["other", true]]);
		expect(s.series.map((l) => l.top)).toEqual([[2, 1, null], [2.5, 1, null], [3.5, 1, null]]);
		expect(s.series[2].value).toEqual([1, 0, null]);
	});

	it("have no remainder if the server returned all series", () => {
		expect(stackSeries([{ name: "a", points: [[0, 1]] }], [[0, 1]], 0, 0, 1, 1).series.length).toBe(1);
		expect(stackSeries([], [], 0, 1000, 100, 1).series).toEqual([]);
	});

	it("are formatted as cores, waiting threads and bytes", () => {
		expect(rateUnit("process_cpu:cpu:nanoseconds:cpu:nanoseconds").text(1.5)).toBe("1.50 cores");
		expect(rateUnit("off_cpu:off_cpu:nanoseconds::").text(1.5)).toBe("1.50 threads waiting");
		expect(rateUnit("memory:alloc_space:bytes::").text(2048)).toBe("2.0 KiB/s");
		expect(formatBytes(1023)).toBe("1023 B");
		expect(formatBytes(3 * 2 ** 40)).toBe("3.0 TiB");
	});
});

describe("the heat map", () => {
	const h = buildHeatMap({ start: 1000, cellMs: 250, n: 8, at: [0, 5, 7, 99], value: [1, 2, 3, 50] });

	it("has one column per second and one row per cell", () => {
		expect([h.columns, h.rows, h.max]).toEqual([2, 4, 3]);
		expect([...h.value]).toEqual([1, 0, 0, 0, 0, 2, 0, 3]);
	});

	it("aligns its columns with full seconds", () => {
		const late = buildHeatMap({ start: 1500, cellMs: 250, n: 2, at: [0, 1], value: [4, 5] });
		expect([late.start, [...late.value]]).toEqual([1000, [0, 0, 4, 5]]);
	});

	it("merges cells that are shorter than the sampling period", () => {
		const rare = { start: 1000, cellMs: 20, n: 100, at: [0, 3, 6, 8, 50], value: [1, 2, 3, 4, 5] };
		expect(mergeSparseCells(rare)).toEqual({ start: 1000, cellMs: 100, n: 20, at: [0, 1, 10], value: [3, 7, 5] });
		const often = { ...rare, at: [0, 1, 2, 3, 50] };
		expect(mergeSparseCells(often)).toBe(often);
	});

	it("selects the cells between two in either order", () => {
		const [a, b] = [{ column: 0, row: 3 }, { column: 1, row: 1 }];
		expect(sliceBetween(h, a, b)).toEqual([3, 5]);
		expect(sliceBetween(h, b, a)).toEqual([3, 5]);
	});

	it("has colours of monotonic lightness", () => {
		const light = (c: string) => c.slice(4, -1).split(",").reduce((s, v, i) => s + [0.3, 0.6, 0.1][i] * Number(v), 0);
		for (const dark of [false, true]) {
			const steps = Array.from({ length: 21 }, (_, i) => light(heatColour(i / 20, dark)));
			steps.slice(1).forEach((v, i) => expect(dark ? v > steps[i] : v < steps[i]).toBe(true));
		}
	});
});

describe("the URL of a server's page", () => {
	it("is empty for the initial state and restores any other", () => {
		expect(toHash(SERVER_START, SERVER_START)).toBe("");
		const s: ServerState = {
			...SERVER_START, page: "compare", from: "1", to: "2", type: "t", service: "a&b", where: ["x=1", "y!~z"],
			by: "host", split: "", group: "pod", base: "custom", baseFrom: "3", baseTo: "4", baseOwn: true,
			baseService: "c", baseWhere: ["q=r"], sliceFrom: "5", sliceTo: "6", thread: "7", order: "-bytes", opened: ["k-k"],
			view: "table", query: "né", zoom: "z-z",
		};
		expect(fromHash(toHash(s, SERVER_START), codecOf(VIEWS))).toEqual(s);
	});

	it("ignores unknown parameters and bounds the others", () => {
		expect(fromHash("#page=nowhere&base=x&unknown=1", codecOf(VIEWS))).toEqual(SERVER_START);
		const s = fromHash(`#${"where=a%3Db&".repeat(500)}service=${"x".repeat(9999)}`, codecOf(VIEWS));
		expect([s.where.length, s.service.length]).toEqual([30, 1000]);
	});
});
