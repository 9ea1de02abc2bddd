// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Page } from "playwright-core";
import { afterEach, beforeAll, describe, expect, it } from "vitest";

import { random } from "../fixture";
import { faults } from "./axe";
import { Chromium, keep, settled, shot, type Opened } from "./browser";
import { CameoServer, record } from "./server";

const MINUTE = 60_000;
const SERVICES = ["shop", "mail"];

const chromium = new Chromium();
const server = new CameoServer();
const work = mkdtempSync(join(tmpdir(), "cameo-ui-"));
let opened: Opened | null = null;
/* The machine itself, where that can be recorded. */
const real = record(work, 2);
const NOW = Date.now();

const SHOP = ["main;serve;parse 300", "main;serve;query;lock 100", "main;gc 50"];
const MAIL = ["main;send;smtp 200", "main;gc 20"];

/* Ten minutes of two services, the last two with more of parse. */
async function feed(): Promise<void> {
	for (let back = 10; back >= 1; back--) {
		const at = NOW - back * MINUTE;
		for (const pod of ["a", "b"])
			await server.folded({ service_name: "shop", pod, region: pod === "a" ? "eu" : "us" }, at,
				back <= 2 ? ["main;serve;parse 900", ...SHOP.slice(1)] : SHOP);
		await server.folded({ service_name: "mail", pod: "c", region: "eu" }, at, MAIL);
	}
	if (real !== null)
		await server.pprof({ service_name: "machine", pod: "d" }, NOW - MINUTE, real);
}

beforeAll(async () => {
	await chromium.start();
	await server.start();
	await feed();
	return async () => {
		await chromium.stop();
		await server.close();
		rmSync(work, { recursive: true, force: true });
	};
});

afterEach(async () => {
	if (!opened)
		return;
	const { page, complaints, requests } = opened;
	opened = null;
	await page.context().close();
	expect(complaints).toEqual([]);
	expect(requests).toEqual([]);
});

/* Opened and drawn: nothing is being asked any more. For the page it is always now, however long the tests take. */
async function open(hash = "", options?: Parameters<Chromium["open"]>[1], at = server): Promise<Page> {
	opened = await chromium.open(`${at.url}/${hash}`, { now: NOW, ...options });
	await quiet(opened.page);
	return opened.page;
}

/* Nothing is asked, nor is after what was answered has been drawn. */
async function quiet(page: Page): Promise<void> {
	for (let still = 0; still < 2;) {
		await page.waitForFunction(() => !document.documentElement.hasAttribute("data-asking")
			&& document.querySelector("main.waiting, .timeline.waiting, main[aria-busy=true]") === null);
		await settled(page);
		still = await page.evaluate(() => document.documentElement.hasAttribute("data-asking")) ? 0 : still + 1;
	}
}

/* @body with a server of its own, which outlives its page. */
async function withOther(body: (other: CameoServer) => Promise<void>): Promise<void> {
	const other = new CameoServer();
	await other.start();
	try {
		await body(other);
	} finally {
		await opened?.page.context().close();
		await other.close();
	}
}

const graph = ".graph .scroll";

/* What the rows of the graph say, left to right: by the keyboard, as a blind user would. */
async function firstRow(page: Page): Promise<string[]> {
	await page.focus(graph);
	await page.keyboard.press("Home");
	await page.keyboard.press("ArrowDown");
	const names: string[] = [];
	for (let i = 0; i < 20; i++) {
		await settled(page);
		const name = await page.locator(".facts b").first().innerText();
		if (names.includes(name))
			break;
		names.push(name);
		await page.keyboard.press("ArrowRight");
	}
	return names;
}

async function fact(page: Page, label: string): Promise<string> {
	await settled(page);
	const text = await page.locator(".facts span", { hasText: label }).first().innerText();
	return text.slice(label.length).trim();
}

async function hash(page: Page): Promise<URLSearchParams> {
	await settled(page);
	return new URLSearchParams((await page.evaluate(() => location.hash)).slice(1));
}

async function choose(page: Page, button: string | RegExp, typed: string): Promise<void> {
	await page.getByRole("button", { name: button }).click();
	await page.locator(".choose input").waitFor();
	await page.waitForFunction(() => document.querySelector(".choose li") !== null);
	await page.keyboard.type(typed);
	await settled(page);
	await page.keyboard.press("Enter");
	await settled(page);
}

describe("the first look", () => {
	it("shows without a click what all services do now", async () => {
		const page = await open();
		expect(await page.title()).toBe("Cameo");
		expect(await page.getByRole("button", { name: "Live" }).getAttribute("aria-pressed")).toBe("true");
		const names = await page.locator(".lines .name").allInnerTexts();
		for (const s of SERVICES)
			expect(names).toContain(s);
		const row = await firstRow(page);
		expect(row.filter((n) => SERVICES.includes(n)).sort()).toEqual([...SERVICES].sort());
		if (real !== null)
			expect(row).toContain("machine");
		expect((await hash(page)).toString()).toBe("");
		await shot(page, "server-first");
	});

	it("adds up to what was sent", async () => {
		const page = await open("#service=mail");
		expect(await fact(page, "time")).toBe("22.0 s");
		expect(await firstRow(page)).toEqual(["main"]);
	});
});

describe("the range", () => {
	it("is chosen from presets, steps back and forth, and Back undoes it", async () => {
		const page = await open("#service=mail");
		await page.getByRole("button", { name: /^Range of time/ }).click();
		await page.getByRole("button", { name: "Last 5 minutes" }).click();
		await quiet(page);
		expect((await hash(page)).get("from")).toBe("now-5m");
		expect(await fact(page, "time")).toMatch(/^(8|11|13)\.\d+ s$/);
		await page.getByRole("button", { name: "Earlier" }).click();
		await quiet(page);
		const at = await hash(page);
		expect(Number(at.get("to")) - Number(at.get("from"))).toBe(5 * MINUTE);
		expect(await page.getByRole("button", { name: "Live" }).getAttribute("aria-pressed")).toBe("false");
		await page.keyboard.press("]");
		await quiet(page);
		expect((await hash(page)).get("to")).toBeNull();
		await page.goBack();
		await quiet(page);
		expect((await hash(page)).get("to")).toBe(at.get("to"));
		await page.goBack();
		await page.goBack();
		await quiet(page);
		expect((await hash(page)).get("from")).toBeNull();
	});

	it("is drawn with the mouse on the time line", async () => {
		const page = await open("#from=now-16m");
		const box = (await page.locator(".plot .u-over").boundingBox())!;
		await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.75, box.y + 50, { steps: 4 });
		await page.mouse.up();
		await quiet(page);
		const p = await hash(page);
		const width = Number(p.get("to")) - Number(p.get("from"));
		expect(width).toBeGreaterThan(3 * MINUTE);
		expect(width).toBeLessThan(4.5 * MINUTE);
		await shot(page, "server-dragged");
	});

	it("is typed to the second, and a range the wrong way round cannot be had", async () => {
		const page = await open("#service=mail");
		await page.getByRole("button", { name: /^Range of time/ }).click();
		await page.fill("input[type=datetime-local] >> nth=0", "2026-01-02T03:04:05");
		await page.fill("input[type=datetime-local] >> nth=1", "2026-01-02T03:04:04");
		expect(await page.getByRole("button", { name: "Show this range" }).isDisabled()).toBe(true);
		await page.fill("input[type=datetime-local] >> nth=1", "2026-01-02T04:04:05");
		await shot(page, "server-range");
		await page.getByRole("button", { name: "Show this range" }).click();
		await quiet(page);
		expect(await page.locator("main h2").innerText()).toMatch(/^No profiles in this range/);
		await page.getByRole("button", { name: "Last 24 hours" }).click();
		await quiet(page);
		expect(await fact(page, "time")).toBe("22.0 s");
	});
});

describe("a live page", () => {
	/* What the clock does every ten seconds. */
	async function tick(page: Page, seconds: number): Promise<void> {
		await page.clock.setFixedTime(NOW + seconds * 1000);
		await page.evaluate(() => void document.dispatchEvent(new Event("visibilitychange")));
	}

	it("keeps the cursor and what is under the mouse where newer data comes", async () => {
		await withOther(async (other) => {
			await other.folded({ service_name: "shop" }, NOW - 2 * MINUTE, SHOP);
			const page = await open("#split=", {}, other);
			await page.focus(graph);
			for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"])
				await page.keyboard.press(key);
			await settled(page);
			expect(await page.locator(".facts b").innerText()).toBe("parse");
			const before = await fact(page, "samples");
			await other.folded({ service_name: "shop" }, NOW - MINUTE, ["main;early 4000", ...SHOP]);
			await tick(page, 10);
			await page.waitForFunction((old) => !document.querySelector(".facts")!.textContent!.includes(`samples ${old}`), before);
			await quiet(page);
			expect(await page.locator(".facts b").innerText()).toBe("parse");
			const box = (await page.locator(graph).boundingBox())!;
			await page.mouse.move(box.x + 5, box.y + 2.5 * 20);
			await settled(page);
			expect(await page.locator(".tooltip .name").innerText()).toBe("early");
			await other.folded({ service_name: "shop" }, NOW - MINUTE, ["main;newest 90000"]);
			await tick(page, 20);
			await page.waitForFunction(() => document.querySelector(".tooltip .name")?.textContent === "newest");
		});
	});

	it("is shared as a link to the very range", async () => {
		const page = await open("#service=mail");
		await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
		await page.getByRole("button", { name: "Copy link" }).click();
		await page.getByRole("button", { name: "Copied" }).waitFor();
		const link = await page.evaluate(() => navigator.clipboard.readText());
		await page.goto("about:blank");
		await page.goto(link);
		await quiet(page);
		expect(await page.getByRole("button", { name: "Live" }).getAttribute("aria-pressed")).toBe("false");
		expect(await fact(page, "time")).toBe("22.0 s");
		opened!.requests.length = 0; // the blank page
	});
});

describe("which profiles", () => {
	it("a service is found by typing", async () => {
		const page = await open();
		await choose(page, /^Service/, "ma");
		await quiet(page);
		expect(["mail", "machine"]).toContain((await hash(page)).get("service"));
		await page.getByRole("button", { name: /^Service/ }).click();
		await page.getByRole("button", { name: "All services" }).click();
		expect((await hash(page)).get("service")).toBeNull();
	});

	it("a filter is completed from names and values, turned round and removed", async () => {
		const page = await open("#service=shop");
		await page.getByRole("button", { name: "Add a filter" }).click();
		await page.getByRole("option", { name: "region" }).click();
		await page.getByRole("option", { name: "eu" }).waitFor();
		await shot(page, "server-filter");
		await page.getByRole("option", { name: "eu" }).click();
		await quiet(page);
		expect((await hash(page)).getAll("where")).toEqual(["region=eu"]);
		const eu = await fact(page, "time");
		await page.getByRole("button", { name: /turn it round/ }).click();
		await quiet(page);
		expect((await hash(page)).getAll("where")).toEqual(["region!=eu"]);
		expect(await fact(page, "time")).toBe(eu);
		await page.getByRole("button", { name: /^Remove the filter/ }).click();
		await quiet(page);
		expect((await hash(page)).getAll("where")).toEqual([]);
		expect(await fact(page, "time")).not.toBe(eu);
	});

	it("an expression is taken as typed, a bad one is explained", async () => {
		const page = await open("#service=shop");
		await page.getByRole("button", { name: "Add a filter" }).click();
		await page.getByRole("option", { name: "pod" }).click();
		await page.getByRole("option", { name: "a", exact: true }).waitFor();
		await page.keyboard.type("[ab]");
		await page.keyboard.press("Enter");
		await quiet(page);
		expect((await hash(page)).getAll("where")).toEqual(["pod=~[ab]"]);
		await page.evaluate(() => (location.hash = "#where=pod%3D~%28"));
		await page.locator("main h2").waitFor();
		await quiet(page);
		expect(await page.locator("main").innerText()).toMatch(/cannot be shown[^]*Remove a filter/);
		opened!.complaints.length = 0; // the refusal
	});

	it("a name in the time line's legend narrows to it", async () => {
		const page = await open();
		await page.locator(".lines button", { hasText: "mail" }).click();
		await quiet(page);
		expect((await hash(page)).get("service")).toBe("mail");
	});

	it("the graph is split by any label, or by none", async () => {
		const page = await open("#service=shop&split=region");
		expect((await firstRow(page)).sort()).toEqual(["eu", "us"]);
		await page.getByRole("button", { name: /^Split by/ }).click();
		await page.getByRole("button", { name: "Nothing" }).click();
		await quiet(page);
		expect(await firstRow(page)).toEqual(["main"]);
	});
});

describe("compare", () => {
	it("shows what came since, in the graph and in the table of movers", async () => {
		const page = await open("#service=shop&page=compare&from=now-3m");
		const first = page.locator(".movers tbody tr").first();
		expect(await first.innerText()).toMatch(/^\+\S+ %[^]*parse/);
		expect(await page.locator(".plot .shade").count()).toBe(2);
		await shot(page, "server-compare");
		await page.getByRole("button", { name: "Absolute" }).click();
		await quiet(page);
		expect(await first.innerText()).toMatch(/^\+\S+ s[^]*parse/);
	});

	it("cuts at the moment that is clicked", async () => {
		const page = await open("#service=shop&page=compare&from=now-5m");
		const box = (await page.locator(".plot .u-over").boundingBox())!;
		await page.mouse.click(box.x + box.width * 0.7, box.y + 40);
		await quiet(page);
		const p = await hash(page);
		expect(p.get("base")).toBe("custom");
		expect(p.get("baseTo")).toBe(p.get("from"));
	});

	it("takes another service or filters", async () => {
		const page = await open("#service=shop&page=compare");
		await page.getByRole("button", { name: "Another service or filters" }).click();
		await page.selectOption("[aria-label='The time compared with']", "same");
		await page.locator(".querybar.base .service button").first().click();
		await page.getByRole("option", { name: "mail" }).click();
		await quiet(page);
		const p = await hash(page);
		expect([p.get("base"), p.get("baseService")]).toEqual(["same", "mail"]);
		expect(await page.locator(".movers tbody").innerText()).toContain("smtp");
	});

	it("says what to do where there is nothing to compare with", async () => {
		const page = await open("#service=shop&page=compare&base=week");
		expect(await page.locator("main").innerText()).toMatch(/^No samples before[^]*choose another time/);
	});
});

describe("groups", () => {
	it("show each value's share, time line and shape; one leads to its flame graph", async () => {
		const page = await open("#page=groups&service=shop&group=region");
		expect(await page.locator(".card h2").allInnerTexts()).toEqual(["eu", "us"]);
		expect(await page.locator(".card b").first().innerText()).toBe("50.00 %");
		expect(await page.locator(".card path").first().getAttribute("d")).toMatch(/^M/);
		expect(await page.locator("canvas.smallflame").count()).toBe(2);
		await shot(page, "server-groups");
		await page.getByRole("button", { name: "us", exact: true }).click();
		await quiet(page);
		const p = await hash(page);
		expect([p.get("page"), p.getAll("where")]).toEqual([null, ["region=us"]]);
	});

	it("are compared with the others", async () => {
		const page = await open("#page=groups");
		await page.locator(".card", { hasText: "mail" }).getByRole("button", { name: "Compare with the others" }).click();
		await quiet(page);
		const p = await hash(page);
		expect([p.get("service"), p.get("base"), p.getAll("baseWhere")]).toEqual(["mail", "same", ["service_name!=mail"]]);
		expect(await page.locator(".movers tbody").innerText()).toContain("smtp");
	});
});

describe("pages about the server", () => {
	it("agents: who sends, and a way to their flame graph", async () => {
		const page = await open("#page=agents&group=pod");
		const rows = await page.locator(".datatable tbody tr").allInnerTexts();
		for (const s of SERVICES)
			expect(rows.join("\n")).toContain(s);
		await page.getByRole("button", { name: "Flame graph" }).last().click();
		await quiet(page);
		expect((await hash(page)).get("page")).toBeNull();
	});

	it("executables: how they are named, sorted by any column", async () => {
		const page = await open("#page=binaries");
		const first = () => page.locator(".datatable tbody tr").first().innerText();
		const bySelf = await first();
		await page.getByRole("button", { name: /^Functions/ }).first().click();
		await settled(page);
		expect((await hash(page)).get("order")).toBe("-functions");
		await page.getByRole("button", { name: /^Self/ }).click();
		await settled(page);
		expect(await first()).toBe(bySelf);
		await shot(page, "server-binaries");
	});
});

describe("samples that tell when they were taken", () => {
	/* Ten seconds of two threads, a sample every 10 ms: in each second parse, then wait for its last fifth. */
	const START_MS = Math.floor((NOW - 2 * MINUTE) / 1000) * 1000;
	const timed = new CameoServer();
	beforeAll(async () => {
		await timed.start();
		await timed.timed("timed", 42, Array.from({ length: 2000 }, (_, i) => ({
			tid: 7 + (i % 2), ms: START_MS + (i >> 1) * 10,
			stack: i % 2 === 0 ? ["main", (i >> 1) % 100 < 80 ? "parse" : "wait"] : ["main", "spin"],
		})));
		return () => timed.close();
	});
	const at = `service=timed&from=${START_MS - 5000}&to=${START_MS + 14_999}`;

	async function drag(page: Page, from: [number, number], to: [number, number]): Promise<void> {
		const box = (await page.locator(".heat canvas").boundingBox())!;
		const [height, seconds] = [180, 20];
		const point = ([s, share]: [number, number]) => [box.x + (box.width * (s + 0.5)) / seconds, box.y + height * (1 - share)] as const;
		await page.mouse.move(...point(from));
		await page.mouse.down();
		await page.mouse.move(...point(to), { steps: 3 });
		await page.mouse.up();
		await quiet(page);
	}

	it("are a heat map, of which a slice has the very samples that were taken in it", async () => {
		const page = await open(`#page=heat&${at}`, {}, timed);
		expect(await fact(page, "samples")).toBe("2,000");
		await page.waitForFunction(() => document.querySelector<HTMLElement>(".heat")!.scrollWidth > 100);
		/* From 0.81 to 0.99 of the fourth second of the ten: cells of 20 ms. */
		await drag(page, [8, 0.81], [8, 0.99]);
		const p = await hash(page);
		expect([Number(p.get("sliceFrom")) - START_MS, Number(p.get("sliceTo")) - START_MS]).toEqual([3800, 4000]);
		expect(await fact(page, "samples")).toBe("40");
		await page.fill("#search", "wait");
		await settled(page);
		expect(await page.locator(".search output").innerText()).toContain("50.00 % matched");
		expect(await faults(page)).toEqual([]);
		await shot(page, "server-heat");
		await page.getByRole("button", { name: "The whole range" }).click();
		await quiet(page);
		expect(await fact(page, "samples")).toBe("2,000");
	});

	it("are the flame chart of each thread, of a slice too", async () => {
		const page = await open(`#page=threads&${at}`, {}, timed);
		expect(await page.locator(".thread option").allInnerTexts()).toEqual([
			expect.stringMatching(/\(7\): 1,000 samples$/), expect.stringMatching(/\(8\): 1,000 samples$/)]);
		expect(await fact(page, "time")).toBe("10.0 s");
		await page.fill("#search", "wait");
		await settled(page);
		expect(await page.locator(".search output").innerText()).toMatch(/^20\.00 % matched · 10 places/);
		await shot(page, "server-threads");
		await page.selectOption(".thread select", "42-8");
		await quiet(page);
		expect(await page.locator(".search output").innerText()).toBe("no match");
		await page.evaluate((h) => (location.hash = h), `#page=threads&${at}&sliceFrom=${START_MS + 800}&sliceTo=${START_MS + 1000}`);
		await quiet(page);
		expect(await fact(page, "time")).toBe("200 ms");
		expect(await page.locator(".thread option").count()).toBe(2);
		expect(await faults(page)).toEqual([]);
	});

	it("keep the place that is zoomed where the range is another", async () => {
		const page = await open(`#page=threads&${at}`, {}, timed);
		await page.focus(graph);
		for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "Enter"])
			await page.keyboard.press(key);
		const crumbs = () => page.locator(".crumbs li button").allInnerTexts();
		await settled(page);
		const [, , zoomed] = await crumbs();
		expect(["parse", "wait"]).toContain(zoomed);
		const begins = await fact(page, "time");
		const zoom = (await hash(page)).get("zoom")!;
		await page.evaluate((h) => (location.hash = h), `#page=threads&service=timed&from=${START_MS}&to=${START_MS + 8000}&zoom=${zoom}`);
		await quiet(page);
		expect((await crumbs())[2]).toBe(zoomed);
		expect(await fact(page, "time")).toBe(begins);
	});

	it("are told by the windows around a slice where they are too many", async () => {
		const page = await open(`#page=heat&${at}`, {}, timed);
		await page.route("**/cameo.v1.PageService/Thread", (r) => r.fulfill({
			status: 422, contentType: "application/json", body: '{"code":"out_of_range","message":"too many samples"}',
		}));
		await drag(page, [8, 0.81], [8, 0.99]);
		expect(await page.locator(".note", { hasText: "Too many samples" }).count()).toBe(1);
		expect(await fact(page, "samples")).toBe("2,000");
		opened!.complaints.length = 0; // the refusal
	});

	it("are wanted where there are none", async () => {
		for (const name of ["heat", "threads"]) {
			const page = await open(`#page=${name}&service=shop`);
			expect(await page.locator("main").innerText()).toMatch(/do not say when they were taken[^]*cameo record/);
			await page.context().close();
		}
	});
});

describe("time off the CPU", () => {
	const waiting = new CameoServer();
	const SECOND = 1_000_000_000;
	beforeAll(async () => {
		await waiting.start();
		await waiting.waited("pool", NOW - MINUTE, [
			{ stack: ["main", "worker", "pthread_cond_wait", "futex_wait"], wait: "futex", ns: 40 * SECOND },
			{ stack: ["main", "loop", "do_epoll_wait"], wait: "epoll", ns: 30 * SECOND },
			{ stack: ["main", "save", "fsync", "io_schedule"], wait: "disk", ns: 20 * SECOND },
			{ stack: ["main", "lock", "futex_wait"], wait: "futex", ns: 10 * SECOND },
		]);
		return () => waiting.close();
	});

	it("is told as time, in colours of its own, and what is idle is hidden only where that is said", async () => {
		const page = await open("#split=", {}, waiting);
		expect(await page.getByRole("button", { name: /^Profile type/ }).innerText()).toContain("Off-CPU time");
		expect(await fact(page, "time")).toBe("1 m 40 s");
		expect(await page.locator(".lines .when").innerText()).toBe("mean, threads waiting");
		expect(await page.locator(".chips").count()).toBe(0);
		await shot(page, "server-waiting");
		await page.getByRole("button", { name: "Hide idle" }).click();
		await quiet(page);
		expect(await fact(page, "time")).toBe("30.0 s");
		expect(await page.locator(".chips").innerText()).toContain("30.00 % of all is shown");
		expect((await hash(page)).get("busy")).toBe("1");
		expect(await faults(page)).toEqual([]);
		await shot(page, "server-waiting-busy");
		await page.getByRole("button", { name: "Show idle waits again" }).click();
		await quiet(page);
		expect(await fact(page, "time")).toBe("1 m 40 s");
	});

	it("is filtered by what was waited for", async () => {
		const page = await open("#where=wait%3Dfutex&split=wait", {}, waiting);
		expect(await fact(page, "time")).toBe("50.0 s");
		expect(await firstRow(page)).toEqual(["futex"]);
	});
});

describe("agents that tell of themselves", () => {
	it("are listed, with all that one says", async () => {
		for (const [agent, lost] of [["n1", 0], ["n2", 12]] as const)
			await server.post("api/v1/agents", { agent, time: Date.now(), labels: { version: "0.1" },
				values: { samples: 1900, lost, completeness: 0.996, tables_bytes: 3 << 20, other: 7 } });
		const page = await open("#page=agents");
		const rows = page.locator("[aria-label=Agents] tbody tr");
		expect(await rows.count()).toBe(2);
		expect((await rows.nth(1).innerText()).split(/\s*[\t\n]\s*/)).toEqual(
			expect.arrayContaining(["n2", "sending", "1,900", "12", "99.60 %", "3.0 MiB", "7"]));
		await page.getByRole("button", { name: /^Lost/ }).first().click();
		await settled(page);
		expect(await rows.first().innerText()).toContain("n2");
		await page.getByRole("button", { name: "All it says" }).first().click();
		await settled(page);
		expect(await page.locator(".said").innerText()).toMatch(/Version\s+0\.1/);
		expect(await faults(page)).toEqual([]);
		await shot(page, "server-agents");
	});
});

describe("what is stored", () => {
	it("is told by day, with what is kept", async () => {
		const page = await open("#page=storage");
		expect(await page.locator(".figures").innerText()).toMatch(/In all[^]*iB[^]*Kept/);
		expect(await page.locator(".datatable tbody tr").count()).toBeGreaterThan(0);
	});
});

describe("a server that goes away", () => {
	it("is waited for: what was drawn stays, and all goes on when it is back", async () => {
		await withOther(async (other) => {
			await other.folded({ service_name: "shop" }, NOW - MINUTE, SHOP);
			const page = await open("", {}, other);
			expect(await firstRow(page)).toEqual(["shop"]);
			await other.stop();
			await page.getByRole("button", { name: "Earlier" }).click();
			await page.locator(".away").waitFor();
			expect(await page.locator(".away").innerText()).toContain("does not answer");
			await page.goBack();
			await settled(page);
			await shot(page, "server-away");
			await other.start();
			await page.locator(".away").waitFor({ state: "detached" });
			await quiet(page);
			expect(await firstRow(page)).toEqual(["shop"]);
			opened!.complaints.length = 0; // refused connections
		});
	});

	it("tells of an empty store how to fill it", async () => {
		await withOther(async (other) => {
			const page = await open("", {}, other);
			expect(await page.locator("main").innerText()).toMatch(/^No profiles yet[^]*sudo cameo[^]*cameo agent --server http/);
			expect(await faults(page)).toEqual([]);
			await shot(page, "server-empty");
		});
	});
});

describe("bad input", () => {
	const hostile = "<img src=x onerror=alert(1)>\u202e\"'&".replace(/[;\n]/g, "");

	it("is text, wherever it is shown, and a place of its own", async () => {
		await withOther(async (other) => {
			const long = "n".repeat(10_000);
			await other.folded({ service_name: "evil" }, NOW - MINUTE, [`${hostile};x 3`, `${long} 2`, "one 1"]);
			const page = await open("", {}, other);
			for (const name of ["compare", "groups", "agents", "binaries"]) {
				await page.evaluate((p) => (location.hash = `#page=${p}`), name);
				await quiet(page);
				expect(await page.locator("img").count()).toBe(0);
				expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1440);
			}
			await page.evaluate(() => (location.hash = "#view=both"));
			await quiet(page);
			expect(await page.locator("td.function .name").allInnerTexts()).toContain("one");
			await shot(page, "server-hostile");
		});
	});

	it("is one sample, or 200 000 stacks, of which the cut ones open", async () => {
		await withOther(async (other) => {
			await other.folded({ service_name: "single" }, NOW - MINUTE, ["only 1"]);
			const rnd = random(7);
			const lines = Array.from({ length: 200_000 }, (_, i) =>
				`main;top${i % 7};mid${Math.floor(rnd() * 500)};deep${Math.floor(rnd() * 900)};leaf${i % 4001} ${1 + (i % 3)}`);
			const total = lines.reduce((s, l) => s + Number(l.split(" ")[1]), 0);
			await other.folded({ service_name: "large" }, NOW - MINUTE, lines);
			let page = await open("#service=single", {}, other);
			expect(await fact(page, "samples")).toBe("1");
			await page.context().close();
			page = await open("#service=large&view=both", {}, other);
			expect(await fact(page, "samples")).toBe(total.toLocaleString("en-US"));
			/* The table is of the whole, whatever the drawing has. */
			await page.fill("[aria-label='Filter the table']", "leaf17");
			await settled(page);
			await page.locator("td.function .name", { hasText: /^leaf17$/ }).waitFor();
			const own = lines.filter((l) => l.includes(";leaf17 ")).reduce((s, l) => s + Number(l.split(" ")[1]), 0);
			expect(await page.locator("tr", { hasText: /leaf17$/ }).first().innerText()).toContain(`${(100 * own / total).toFixed(2)} %`);
			await page.getByRole("button", { name: "Flame graph", exact: true }).last().click();
			await quiet(page);
			await page.fill("#search", "other");
			await page.getByRole("button", { name: "Next match" }).click();
			await page.locator(".facts", { hasText: "cut" }).waitFor();
			await page.focus(graph);
			await page.keyboard.press("Enter");
			await page.waitForFunction(() => location.hash.includes("opened="));
			await quiet(page);
			expect(await page.locator(".crumbs li").count()).toBeGreaterThan(1);
			await shot(page, "server-large");
		});
	});
});

describe("for everybody", () => {
	const PAGES: [string, string][] = [
		["flame", ""], ["both", "#view=both"], ["compare", "#page=compare&from=now-5m"], ["groups", "#page=groups"],
		["heat", "#page=heat"], ["threads", "#page=threads"], ["agents", "#page=agents"], ["binaries", "#page=binaries"], ["storage", "#page=storage"],
	];

	it.each(PAGES)("%s has no fault that axe-core finds, wide and on a phone, light and dark", async (name, at) => {
		for (const width of [1440, 390])
			for (const dark of [false, true]) {
				const page = await open(at, { width, height: width === 390 ? 844 : 900, dark, touch: width === 390 });
				expect(await faults(page)).toEqual([]);
				expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
				await shot(page, `server-${name}-${width}-${dark ? "dark" : "light"}`);
				await page.context().close();
			}
	}, 300_000);

	it("weighs 200 KB at most, and asks nobody else", async () => {
		const page = await open();
		const rs = await page.request.get(server.url);
		const body = await rs.body();
		keep("weight.txt", `${body.length} bytes\n`);
		expect(body.length).toBeLessThanOrEqual(200 * 1024);
		const policy = rs.headers()["content-security-policy"];
		expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; /);
		expect(policy).toContain("connect-src 'self'");
	});
});
