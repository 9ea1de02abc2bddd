// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";

import { idleNodes, isOffCpu } from "../../src/model/idle";
import { search } from "../../src/model/search";
import { tableRows, usageOf } from "../../src/model/table";
import { calleesOf, callersOf, collapseRecursion, exclude, focus, hide, invert } from "../../src/model/transform";
import { fnNamed, profileOf, randomProfile, setOf, stacks, sumWhere } from "./helpers";

const SEEDS = [1, 2, 3, 4, 5];

describe("search", () => {
	const p = profileOf("main;parse;read 10\nmain;Parser 5\nmain;parse;parse;parse 7\nidle 3");
	const find = (text: string, regex = false) => search(p.tree, p.functions, { text, regex });

	it("counts recursion once", () => {
		expect(find("parse").value).toBe(22);
	});

	it("is case-sensitive only if the query has a capital letter", () => {
		expect(find("Parse").value).toBe(5);
	});

	it("accepts a regular expression", () => {
		expect(find("^(read|idle)$", true).value).toBe(13);
		expect(find("^(read|idle)$", false).value).toBe(0);
	});

	it("reports an invalid regular expression", () => {
		expect(find("(", true)).toMatchObject({ error: "Invalid regular expression", value: 0, nodes: [] });
	});

	it("finds nothing without a query", () => {
		expect(find("").functions.length).toBe(0);
	});

	it("returns the outermost matches, largest first", () => {
		expect(find("r").nodes.map((i) => p.tree.total[i])).toEqual([17, 5]);
	});

	it.each(SEEDS)("agrees with counting sample by sample, upright and inverted (%i)", (seed) => {
		const { profile, samples } = randomProfile(seed);
		const want = sumWhere(samples, (path) => path.some((f) => "abc".includes(f)));
		const q = { text: "^[abc]$", regex: true };
		expect(search(profile.tree, profile.functions, q).value).toBe(want);
		expect(search(invert(profile.tree), profile.functions, q).value).toBe(want);
	});
});

describe("the inverted tree", () => {
	it("has leaves under the root and callers under them", () => {
		const p = profileOf("a;b;c 2\nz;c 3\na 1");
		expect(stacks(invert(p.tree), p.functions)).toEqual(["a 1", "c;b;a 2", "c;z 3"]);
	});

	it.each(SEEDS)("is the original tree when inverted twice (%i)", (seed) => {
		const { profile } = randomProfile(seed);
		expect(stacks(invert(invert(profile.tree)), profile.functions))
			.toEqual(stacks(profile.tree, profile.functions));
	});

	it("keeps samples without a stack", () => {
		const p = profileOf("a 2");
		p.tree.self[0] = 5;
		expect(invert(p.tree).total[0]).toBe(7);
	});
});

describe("the sandwich view", () => {
	const p = profileOf("main;x;f;g 2\nmain;f;h 3\nmain;f;f;g 4\nmain 9");
	const f = fnNamed(p.functions, "f");

	it("shows the callers", () => {
		expect(stacks(callersOf(p.tree, f, p.functions.n), p.functions)).toEqual(["f;main 7", "f;x;main 2"]);
	});

	it("shows the callees", () => {
		expect(stacks(calleesOf(p.tree, f), p.functions)).toEqual(["f;f;g 4", "f;g 2", "f;h 3"]);
	});

	it.each(SEEDS)("has the table's total in both halves (%i)", (seed) => {
		const { profile, samples } = randomProfile(seed);
		const { tree, functions } = profile;
		const usage = usageOf(tree, functions.n);
		for (let fn = 0; fn < functions.n; fn++) {
			const want = sumWhere(samples, (path) => path.includes(functions.name[fn]));
			expect(usage.total[fn]).toBe(want);
			expect(callersOf(tree, fn, functions.n).total[0]).toBe(want);
			expect(calleesOf(tree, fn).total[0]).toBe(want);
		}
	});
});

describe("collapsing recursion", () => {
	it("merges direct and indirect recursion", () => {
		const p = profileOf("a;f;f;f;g 5\na;f;h;f;k 2\na;f;h 1");
		expect(stacks(collapseRecursion(p.tree), p.functions)).toEqual(["a;f;g 5", "a;f;h 1", "a;f;k 2"]);
	});

	it.each(SEEDS)("leaves no function twice in a stack and preserves the total (%i)", (seed) => {
		const { profile } = randomProfile(seed);
		const folded = collapseRecursion(profile.tree);
		expect(folded.total[0]).toBe(profile.tree.total[0]);
		for (const line of stacks(folded, profile.functions)) {
			const path = line.split(" ")[0].split(";");
			expect(new Set(path).size).toBe(path.length);
		}
	});
});

describe("hiding and focusing", () => {
	const p = profileOf("a;w;b 2\na;w;w;c 3\nz 4");

	it("hides frames and keeps their samples", () => {
		expect(stacks(hide(p.tree, setOf(p.functions, "w")), p.functions)).toEqual(["a;b 2", "a;c 3", "z 4"]);
	});

	it("attributes the samples of a hidden outermost frame to the root", () => {
		expect(stacks(hide(p.tree, setOf(p.functions, "z")), p.functions)[0]).toBe(" 4");
	});

	it("keeps only samples that contain the focused function", () => {
		expect(stacks(focus(p.tree, setOf(p.functions, "b")), p.functions)).toEqual(["a;w;b 2"]);
		expect(focus(p.tree, setOf(p.functions, "w")).total[0]).toBe(5);
	});
});

describe("the table", () => {
	const p = profileOf(
		"python:main;work@/lib/libz.so 5\npython:main 2\nwork@/lib/libz.so;work@/lib/libz.so 4\nalpha 5");
	const usage = usageOf(p.tree, p.functions.n);
	const names = (...a: [Parameters<typeof tableRows>[2], boolean, string]) =>
		tableRows(p.functions, usage, ...a).map((i) => p.functions.name[i]);

	it("counts recursion once in total and every sample in self", () => {
		const work = fnNamed(p.functions, "work");
		expect([usage.self[work], usage.total[work]]).toEqual([9, 9]);
	});

	it("sorts by self, total and name, both ways", () => {
		expect(names("self", false, "")).toEqual(["work", "alpha", "main"]);
		expect(names("total", true, "")).toEqual(["alpha", "main", "work"]);
		expect(names("name", true, "")).toEqual(["alpha", "main", "work"]);
		expect(names("name", false, "")).toEqual(["work", "main", "alpha"]);
	});

	it("filters by name, file and binary", () => {
		expect(names("self", false, "ALPHA")).toEqual(["alpha"]);
		expect(names("self", false, "main.py")).toEqual(["main"]);
		expect(names("self", false, "libz")).toEqual(["work"]);
		expect(names("self", false, "nowhere")).toEqual([]);
	});

	it("omits functions without samples", () => {
		const hidden = usageOf(hide(p.tree, setOf(p.functions, "alpha")), p.functions.n);
		expect(tableRows(p.functions, hidden, "self", false, "").length).toBe(2);
	});
});

describe("idle waits", () => {
	const p = profileOf([
		"main;worker;pthread_cond_wait@@GLIBC_2.3.2;futex_wait 40", "main;poll 5", "main;do_sigtimedwait.isra.0 4", "main;do_epoll_wait 30",
		"main;save;fsync;io_schedule 20", "main;lock;__lll_lock_wait;futex_wait 10",
		"kernel:kthread;kernel:worker_thread;kernel:schedule 50",
		"kernel:kthread;kernel:worker_thread;kernel:process_one_work;kernel:io_schedule 6",
		"java.util.concurrent.ThreadPoolExecutor.getTask;park 9", "pollute 1",
		"work;ObjectMonitor::enter(JavaThread*);pthread_cond_timedwait 7",
	].join("\n"));

	it("are recognized by their functions, unlike waits for locks, disks and the kernel", () => {
		const busy = exclude(p.tree, idleNodes(p.tree, p.functions));
		expect(stacks(busy, p.functions)).toEqual([
			"kthread;worker_thread;process_one_work;io_schedule 6", "main;lock;__lll_lock_wait;futex_wait 10",
			"main;save;fsync;io_schedule 20", "pollute 1",
			"work;ObjectMonitor::enter(JavaThread*);pthread_cond_timedwait 7",
		]);
		expect(busy.total[0]).toBe(44);
	});

	it("exist in off-CPU profiles only", () => {
		expect(["off_cpu", "off_cpu:off_cpu:nanoseconds::", "cpu", "process_cpu:cpu:nanoseconds:cpu:nanoseconds"].map(isOffCpu))
			.toEqual([true, true, false, false]);
	});
});
