// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";

import { layOut } from "../../src/model/layout";
import { loadProfile, readProfile } from "../../src/model/profile";
import { runAtOnce, runInSlices, type Steps } from "../../src/model/steps";
import { bigPage } from "../fixture";

/* Takes longer than a slice in each of its steps. */
function* slow(steps: number, log: string[]): Steps<string> {
	for (let i = 0; i < steps; i++) {
		for (const end = performance.now() + 30; performance.now() < end;)
			;
		log.push("step");
		yield;
	}
	return "done";
}

describe("a computation in steps", () => {
	it("lets timers run between slices", async () => {
		const log: string[] = [];
		const result = runInSlices(slow(4, log));
		setTimeout(() => log.push("timer"));
		expect(await result).toBe("done");
		expect(log.indexOf("timer")).toBeGreaterThan(0);
		expect(log.indexOf("timer")).toBeLessThan(4);
	});

	it("can run at once", () => {
		const log: string[] = [];
		expect(runAtOnce(slow(2, log))).toBe("done");
		expect(log.length).toBe(2);
	});

	it("rejects with the error of a step", async () => {
		await expect(loadProfile({ version: 2 })).rejects.toThrow("format version");
	});
});

describe("a profile of 140,000 nodes", () => {
	it("is read in slices, with its layout", async () => {
		const json = bigPage(140_000);
		let timers = 0;
		const timer = setInterval(() => timers++);
		const p = await loadProfile(json);
		clearInterval(timer);
		expect(timers).toBeGreaterThan(1);
		expect(p.tree).toEqual(readProfile(json).tree);
		expect(layOut(p.tree)).toBe(layOut(p.tree));
	});
});
