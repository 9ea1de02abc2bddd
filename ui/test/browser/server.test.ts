// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";
import type { Page } from "playwright-core";
import { afterEach, beforeAll, describe, expect, it } from "vitest";

import { forEsbuild } from "../../idle_def.mjs";
import { VIEWS } from "../../src/server/views";
import { random } from "../fixture";
import { accessibilityViolations } from "./axe";
import { Chromium, nextFrame, saveArtifact, screenshot, type OpenedPage } from "./browser";
import { CameoServer, record } from "./server";

const MINUTE = 60_000;
const SERVICES = ["shop", "mail"];

const chromium = new Chromium();
const server = new CameoServer();
const work = mkdtempSync(join(tmpdir(), "cameo-ui-"));
let opened: OpenedPage | null = null;
/* A profile of this machine, if it can be recorded. */
const real = record(work, 2);
const NOW = Date.now();

const SHOP = ["main;serve;parse 300", "main;serve;query;lock 100", "main;gc 50"];
const MAIL = ["main;send;smtp 200", "main;gc 20"];

/* Sends ten minutes of two services. In the last two minutes parse() uses more. */
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
	const { page, errors: complaints, foreignRequests: requests } = opened;
	opened = null;
	await page.context().close();
	expect(complaints).toEqual([]);
	expect(requests).toEqual([]);
});

/* Opens the page and waits until it is drawn. The page's clock stands at NOW, however long the tests take. */
async function open(hash = "", options?: Parameters<Chromium["open"]>[1], at = server): Promise<Page> {
	opened = await chromium.open(`${at.url}/${hash}`, { now: NOW, ...options });
	await quiet(opened.page);
	return opened.page;
}

/* Waits until no request is pending, and none follows after the responses have been drawn. */
async function quiet(page: Page): Promise<void> {
	for (let still = 0; still < 2;) {
		await page.waitForFunction(() => !document.documentElement.hasAttribute("data-loading")
			&& document.querySelector("main.waiting, .timeline.waiting, main[aria-busy=true]") === null);
		await nextFrame(page);
		still = await page.evaluate(() => document.documentElement.hasAttribute("data-loading")) ? 0 : still + 1;
	}
}

/* Runs @body with a server of its own, which is closed after the page. */
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

/* Returns the names in the first row of the graph from left to right, read by keyboard as a blind user would. */
async function firstRow(page: Page): Promise<string[]> {
	await page.focus(graph);
	await page.keyboard.press("Home");
	await page.keyboard.press("ArrowDown");
	const names: string[] = [];
	for (let i = 0; i < 20; i++) {
		await nextFrame(page);
		const name = await page.locator(".node-details b").first().innerText();
		if (names.includes(name))
			break;
		names.push(name);
		await page.keyboard.press("ArrowRight");
	}
	return names;
}

async function fact(page: Page, label: string): Promise<string> {
	await nextFrame(page);
	const text = await page.locator(".node-details span", { hasText: label }).first().innerText();
	return text.slice(label.length).trim();
}

async function hash(page: Page): Promise<URLSearchParams> {
	await nextFrame(page);
	return new URLSearchParams((await page.evaluate(() => location.hash)).slice(1));
}

async function choose(page: Page, button: string | RegExp, typed: string): Promise<void> {
	await page.getByRole("button", { name: button }).click();
	await page.locator(".combobox input").waitFor();
	await page.waitForFunction(() => document.querySelector(".combobox li") !== null);
	await page.keyboard.type(typed);
	await nextFrame(page);
	await page.keyboard.press("Enter");
	await nextFrame(page);
}

describe("the initial page", () => {
	it("shows all services live without a click", async () => {
		const page = await open();
		expect(await page.title()).toBe("Cameo");
		expect(await page.getByRole("button", { name: "Live" }).getAttribute("aria-pressed")).toBe("true");
		const names = await page.locator(".series .name").allInnerTexts();
		for (const s of SERVICES)
			expect(names).toContain(s);
		const row = await firstRow(page);
		expect(row.filter((n) => SERVICES.includes(n)).sort()).toEqual([...SERVICES].sort());
		if (real !== null)
			expect(row).toContain("machine");
		expect((await hash(page)).toString()).toBe("");
		await screenshot(page, "server-first");
	});

	it("shows the total that was sent", async () => {
		const page = await open("#service=mail");
		expect(await fact(page, "time")).toBe("22.0 s");
		expect(await firstRow(page)).toEqual(["main"]);
	});
});

describe("the time range", () => {
	it("is chosen from presets and shifted, and Back undoes both", async () => {
		const page = await open("#service=mail");
		await page.getByRole("button", { name: /^Time range/ }).click();
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

	it("is selected with the mouse on the timeline", async () => {
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
		await screenshot(page, "server-dragged");
	});

	it("is typed to the second, and a negative range is rejected", async () => {
		const page = await open("#service=mail");
		await page.getByRole("button", { name: /^Time range/ }).click();
		await page.fill("input[type=datetime-local] >> nth=0", "2026-01-02T03:04:05");
		await page.fill("input[type=datetime-local] >> nth=1", "2026-01-02T03:04:04");
		expect(await page.getByRole("button", { name: "Apply time range" }).isDisabled()).toBe(true);
		await page.fill("input[type=datetime-local] >> nth=1", "2026-01-02T04:04:05");
		await screenshot(page, "server-range");
		await page.getByRole("button", { name: "Apply time range" }).click();
		await quiet(page);
		expect(await page.locator("main h2").innerText()).toMatch(/^No profiles in this time range/);
		await page.getByRole("button", { name: "Last 24 hours" }).click();
		await quiet(page);
		expect(await fact(page, "time")).toBe("22.0 s");
	});
});

describe("a live page", () => {
	/* Advances the page's clock, as its timer does every ten seconds. */
	async function tick(page: Page, seconds: number): Promise<void> {
		await page.clock.setFixedTime(NOW + seconds * 1000);
		await page.evaluate(() => void document.dispatchEvent(new Event("visibilitychange")));
	}

	it("keeps the cursor and updates the node under the pointer when data arrives", async () => {
		await withOther(async (other) => {
			await other.folded({ service_name: "shop" }, NOW - 2 * MINUTE, SHOP);
			const page = await open("#split=", {}, other);
			await page.focus(graph);
			for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"])
				await page.keyboard.press(key);
			await nextFrame(page);
			expect(await page.locator(".node-details b").innerText()).toBe("parse");
			const before = await fact(page, "samples");
			await other.folded({ service_name: "shop" }, NOW - MINUTE, ["main;early 4000", ...SHOP]);
			await tick(page, 10);
			await page.waitForFunction((old) => !document.querySelector(".node-details")!.textContent!.includes(`samples ${old}`), before);
			await quiet(page);
			expect(await page.locator(".node-details b").innerText()).toBe("parse");
			const box = (await page.locator(graph).boundingBox())!;
			await page.mouse.move(box.x + 5, box.y + 2.5 * 20);
			await nextFrame(page);
			expect(await page.locator(".tooltip .name").innerText()).toBe("early");
			await other.folded({ service_name: "shop" }, NOW - MINUTE, ["main;newest 90000"]);
			await tick(page, 20);
			await page.waitForFunction(() => document.querySelector(".tooltip .name")?.textContent === "newest");
		});
	});

	it("is shared as a link with an absolute range", async () => {
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
		opened!.foreignRequests.length = 0; // the blank page
	});
});

describe("the query", () => {
	it("completes services", async () => {
		const page = await open();
		await choose(page, /^Service/, "ma");
		await quiet(page);
		expect(["mail", "machine"]).toContain((await hash(page)).get("service"));
		await page.getByRole("button", { name: /^Service/ }).click();
		await page.getByRole("button", { name: "All services" }).click();
		expect((await hash(page)).get("service")).toBeNull();
	});

	it("offers the profile types of the chosen service only", async () => {
		await withOther(async (other) => {
			await other.folded({ service_name: "shop" }, NOW - MINUTE, SHOP);
			await other.waited("pool", NOW - MINUTE, [{ stack: ["main", "futex_wait"], wait: "futex", ns: 1e9 }]);
			const types = async (service: string) => {
				const page = await open(`#service=${service}`, {}, other);
				await page.getByRole("button", { name: /^Profile type/ }).click();
				const names = await page.locator(".combobox li").allInnerTexts();
				await page.context().close();
				return names;
			};
			expect(await types("pool")).toEqual(["Off-CPU time"]);
			expect(await types("shop")).not.toContain("Off-CPU time");
			expect(await types("")).toContain("Off-CPU time");
		});
	});

	it("completes filters, which can be negated and removed", async () => {
		const page = await open("#service=shop");
		await page.getByRole("button", { name: "Add filter" }).click();
		await page.getByRole("option", { name: "region" }).click();
		await page.getByRole("option", { name: "eu" }).waitFor();
		await screenshot(page, "server-filter");
		await page.getByRole("option", { name: "eu" }).click();
		await quiet(page);
		expect((await hash(page)).getAll("where")).toEqual(["region=eu"]);
		const eu = await fact(page, "time");
		await page.getByRole("button", { name: /^Negate filter/ }).click();
		await quiet(page);
		expect((await hash(page)).getAll("where")).toEqual(["region!=eu"]);
		expect(await fact(page, "time")).toBe(eu);
		await page.getByRole("button", { name: /^Remove filter/ }).click();
		await quiet(page);
		expect((await hash(page)).getAll("where")).toEqual([]);
		expect(await fact(page, "time")).not.toBe(eu);
	});

	it("accepts regular expressions and explains invalid ones", async () => {
		const page = await open("#service=shop");
		await page.getByRole("button", { name: "Add filter" }).click();
		await page.getByRole("option", { name: "pod" }).click();
		await page.getByRole("option", { name: "a", exact: true }).waitFor();
		await page.keyboard.type("[ab]");
		await page.keyboard.press("Enter");
		await quiet(page);
		expect((await hash(page)).getAll("where")).toEqual(["pod=~[ab]"]);
		await page.evaluate(() => (location.hash = "#where=pod%3D~%28"));
		await page.locator("main h2").waitFor();
		await quiet(page);
		expect(await page.locator("main").innerText()).toMatch(/Cannot load[^]*Remove a filter/);
		opened!.errors.length = 0; // the response with an error
	});

	it("is narrowed by a click on the timeline's legend", async () => {
		const page = await open();
		await page.locator(".series button", { hasText: "mail" }).click();
		await quiet(page);
		expect((await hash(page)).get("service")).toBe("mail");
	});

	it("splits the graph by any label or none", async () => {
		const page = await open("#service=shop&split=region");
		expect((await firstRow(page)).sort()).toEqual(["eu", "us"]);
		await page.getByRole("button", { name: /^Split by/ }).click();
		await page.getByRole("button", { name: "None", exact: true }).click();
		await quiet(page);
		expect(await firstRow(page)).toEqual(["main"]);
	});
});

describe("the comparison", () => {
	it("shows increases in the graph and in the table", async () => {
		const page = await open("#service=shop&page=compare&from=now-3m");
		const first = page.locator(".changes tbody tr").first();
		expect(await first.innerText()).toMatch(/^\+\S+%[^]*parse/);
		expect(await page.locator(".plot .shade").count()).toBe(2);
		await screenshot(page, "server-compare");
		await page.getByRole("button", { name: "Absolute" }).click();
		await quiet(page);
		expect(await first.innerText()).toMatch(/^\+\S+ s[^]*parse/);
	});

	it("splits the range at a click", async () => {
		const page = await open("#service=shop&page=compare&from=now-5m");
		const box = (await page.locator(".plot .u-over").boundingBox())!;
		await page.mouse.click(box.x + box.width * 0.7, box.y + 40);
		await quiet(page);
		const p = await hash(page);
		expect(p.get("base")).toBe("custom");
		expect(p.get("baseTo")).toBe(p.get("from"));
	});

	it("accepts another service and other filters", async () => {
		const page = await open("#service=shop&page=compare");
		await page.getByRole("button", { name: "Other service or filters" }).click();
		await page.selectOption("[aria-label='Baseline period']", "same");
		await page.locator(".querybar.base .service button").first().click();
		await page.getByRole("option", { name: "mail" }).click();
		await quiet(page);
		const p = await hash(page);
		expect([p.get("base"), p.get("baseService")]).toEqual(["same", "mail"]);
		expect(await page.locator(".changes tbody").innerText()).toContain("smtp");
	});

	it("gives advice if the baseline has no samples", async () => {
		const page = await open("#service=shop&page=compare&base=week");
		expect(await page.locator("main").innerText()).toMatch(/^No samples before[^]*Choose another time range/);
	});
});

describe("groups", () => {
	it("show the share, usage and preview of each value, and link to its flame graph", async () => {
		const page = await open("#page=groups&service=shop&group=region");
		expect(await page.locator(".card h2").allInnerTexts()).toEqual(["eu", "us"]);
		expect(await page.locator(".card b").first().innerText()).toBe("50.00%");
		expect(await page.locator(".card path").first().getAttribute("d")).toMatch(/^M/);
		expect(await page.locator("canvas.thumbnail").count()).toBe(2);
		await screenshot(page, "server-groups");
		await page.getByRole("button", { name: "us", exact: true }).click();
		await quiet(page);
		const p = await hash(page);
		expect([p.get("page"), p.getAll("where")]).toEqual([null, ["region=us"]]);
	});

	it("can be compared with the others", async () => {
		const page = await open("#page=groups");
		await page.locator(".card", { hasText: "mail" }).getByRole("button", { name: "Compare with the others" }).click();
		await quiet(page);
		const p = await hash(page);
		expect([p.get("service"), p.get("base"), p.getAll("baseWhere")]).toEqual(["mail", "same", ["service_name!=mail"]]);
		expect(await page.locator(".changes tbody").innerText()).toContain("smtp");
	});
});

describe("the views of the server", () => {
	it("list agents with links to their flame graphs", async () => {
		const page = await open("#page=agents&group=pod");
		const rows = await page.locator(".data-table tbody tr").allInnerTexts();
		for (const s of SERVICES)
			expect(rows.join("\n")).toContain(s);
		await page.getByRole("button", { name: "Flame graph" }).last().click();
		await quiet(page);
		expect((await hash(page)).get("page")).toBeNull();
	});

	it("list executables and their symbols, sorted by any column", async () => {
		const page = await open("#page=binaries");
		const first = () => page.locator(".data-table tbody tr").first().innerText();
		const bySelf = await first();
		await page.getByRole("button", { name: /^Functions/ }).first().click();
		await nextFrame(page);
		expect((await hash(page)).get("order")).toBe("-functions");
		await page.getByRole("button", { name: /^Self/ }).click();
		await nextFrame(page);
		expect(await first()).toBe(bySelf);
		await screenshot(page, "server-binaries");
	});
});

describe("samples with timestamps", () => {
	/* Ten seconds of two threads with a sample every 10 ms. The first thread runs parse, and wait in the last fifth of each second. */
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

	it("have a heat map whose slices contain exactly their samples", async () => {
		const page = await open(`#page=heat&${at}`, {}, timed);
		expect(await fact(page, "samples")).toBe("2,000");
		await page.waitForFunction(() => document.querySelector<HTMLElement>(".heat")!.scrollWidth > 100);
		/* Selects 0.81 to 0.99 of the fourth second of the samples, in cells of 20 ms. */
		await drag(page, [8, 0.81], [8, 0.99]);
		const p = await hash(page);
		expect([Number(p.get("sliceFrom")) - START_MS, Number(p.get("sliceTo")) - START_MS]).toEqual([3800, 4000]);
		expect(await fact(page, "samples")).toBe("40");
		await page.fill("#search", "wait");
		await nextFrame(page);
		expect(await page.locator(".search output").innerText()).toContain("50.00% · ");
		expect(await accessibilityViolations(page)).toEqual([]);
		await screenshot(page, "server-heat");
		await page.getByRole("button", { name: "Clear time slice" }).click();
		await quiet(page);
		expect(await fact(page, "samples")).toBe("2,000");
	});

	it("have a flame chart of each thread, also of a slice", async () => {
		const page = await open(`#page=threads&${at}`, {}, timed);
		expect(await page.locator(".thread option").allInnerTexts()).toEqual([
			expect.stringMatching(/\(7\): 1,000 samples$/), expect.stringMatching(/\(8\): 1,000 samples$/)]);
		expect(await fact(page, "time")).toBe("10.0 s");
		await page.fill("#search", "wait");
		await nextFrame(page);
		expect(await page.locator(".search output").innerText()).toMatch(/^20\.00% · 10 matches/);
		await screenshot(page, "server-threads");
		await page.selectOption(".thread select", "42-8");
		await quiet(page);
		expect(await page.locator(".search output").innerText()).toBe("No matches");
		await page.evaluate((h) => (location.hash = h), `#page=threads&${at}&sliceFrom=${START_MS + 800}&sliceTo=${START_MS + 1000}`);
		await quiet(page);
		expect(await fact(page, "time")).toBe("200 ms");
		expect(await page.locator(".thread option").count()).toBe(2);
		expect(await accessibilityViolations(page)).toEqual([]);
	});

	it("keep the zoomed node when the range changes", async () => {
		const page = await open(`#page=threads&${at}`, {}, timed);
		await page.focus(graph);
		for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "Enter"])
			await page.keyboard.press(key);
		const crumbs = () => page.locator(".crumbs li button").allInnerTexts();
		await nextFrame(page);
		const [, , zoomed] = await crumbs();
		expect(["parse", "wait"]).toContain(zoomed);
		const begins = await fact(page, "time");
		const zoom = (await hash(page)).get("zoom")!;
		await page.evaluate((h) => (location.hash = h), `#page=threads&service=timed&from=${START_MS}&to=${START_MS + 8000}&zoom=${zoom}`);
		await quiet(page);
		expect((await crumbs())[2]).toBe(zoomed);
		expect(await fact(page, "time")).toBe(begins);
	});

	it("fall back to whole profiles if they are too many", async () => {
		const page = await open(`#page=heat&${at}`, {}, timed);
		await page.route("**/cameo.v1.PageService/Thread", (r) => r.fulfill({
			status: 422, contentType: "application/json", body: '{"code":"out_of_range","message":"too many samples"}',
		}));
		await drag(page, [8, 0.81], [8, 0.99]);
		expect(await page.locator(".note", { hasText: "Too many samples" }).count()).toBe(1);
		expect(await fact(page, "samples")).toBe("2,000");
		opened!.errors.length = 0; // the response with an error
	});

	it("are requested if there are none", async () => {
		for (const name of ["heat", "threads"]) {
			const page = await open(`#page=${name}&service=shop`);
			expect(await page.locator("main").innerText()).toMatch(/have no timestamps[^]*cameo record/);
			await page.context().close();
		}
	});
});

describe("off-CPU time", () => {
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

	it("is tinted and includes idle waits unless they are hidden", async () => {
		const page = await open("#split=", {}, waiting);
		expect(await page.getByRole("button", { name: /^Profile type/ }).innerText()).toContain("Off-CPU time");
		expect(await fact(page, "time")).toBe("1 min 40 s");
		expect(await page.locator(".series .cursor-time").innerText()).toBe("Mean, threads waiting");
		expect(await page.locator(".chips").count()).toBe(0);
		await screenshot(page, "server-waiting");
		await page.getByRole("button", { name: "Hide idle" }).click();
		await quiet(page);
		expect(await fact(page, "time")).toBe("30.0 s");
		expect(await page.locator(".chips").innerText()).toContain("30.00% of total shown");
		expect((await hash(page)).get("busy")).toBe("1");
		expect(await accessibilityViolations(page)).toEqual([]);
		await screenshot(page, "server-waiting-busy");
		await page.getByRole("button", { name: "Show idle waits" }).click();
		await quiet(page);
		expect(await fact(page, "time")).toBe("1 min 40 s");
	});

	it("is filtered by wait reason", async () => {
		const page = await open("#where=wait%3Dfutex&split=wait", {}, waiting);
		expect(await fact(page, "time")).toBe("50.0 s");
		expect(await firstRow(page)).toEqual(["futex"]);
	});
});

describe("agents that report about themselves", () => {
	it("are listed with all their figures", async () => {
		for (const [agent, lost] of [["n1", 0], ["n2", 12]] as const)
			await server.post("api/v1/agents", { agent, time: Date.now(), labels: { version: "0.1" },
				values: { samples: 1900, lost, completeness: 0.996, tables_bytes: 3 << 20, other: 7 } });
		const page = await open("#page=agents");
		const rows = page.locator("[aria-label=Agents] tbody tr");
		expect(await rows.count()).toBe(2);
		expect((await rows.nth(1).innerText()).split(/\s*[\t\n]\s*/)).toEqual(
			expect.arrayContaining(["n2", "active", "1,900", "12", "99.60%", "3.0 MiB", "7"]));
		await page.getByRole("button", { name: /^Lost/ }).first().click();
		await nextFrame(page);
		expect(await rows.first().innerText()).toContain("n2");
		await page.getByRole("button", { name: "Details" }).first().click();
		await nextFrame(page);
		expect(await page.locator(".agent-details").innerText()).toMatch(/Version\s+0\.1/);
		expect(await accessibilityViolations(page)).toEqual([]);
		await screenshot(page, "server-agents");
	});
});

describe("the storage", () => {
	it("is listed by day, with the retention", async () => {
		const page = await open("#page=storage");
		expect(await page.locator(".figures").innerText()).toMatch(/Total[^]*iB[^]*Retention/);
		expect(await page.locator(".data-table tbody tr").count()).toBeGreaterThan(0);
	});
});

describe("a view added to the table", () => {
	it("is in the navigation and the help and opens at its URL", async () => {
		const bundle = await build({
			entryPoints: [fileURLToPath(new URL("toy_view.tsx", import.meta.url))], bundle: true, write: false, format: "iife",
			jsx: "automatic", jsxImportSource: "preact", plugins: [forEsbuild],
		});
		const html = `<!doctype html><div id="app"></div><script>${bundle.outputFiles[0].text.replaceAll("</script", "<\\/script")}</script>`;
		const page = await open("", { html });
		await page.getByRole("button", { name: "Toy" }).click();
		await page.getByRole("heading", { name: "Toy of process_cpu" }).waitFor();
		expect((await hash(page)).get("page")).toBe("toy");
		await page.keyboard.press("?");
		expect(await page.locator("dialog").innerText()).toContain("A view for tests");
	});
});

describe("an unreachable server", () => {
	it("keeps the drawn graph and is retried until it is back", async () => {
		await withOther(async (other) => {
			await other.folded({ service_name: "shop" }, NOW - MINUTE, SHOP);
			const page = await open("", {}, other);
			expect(await firstRow(page)).toEqual(["shop"]);
			await other.stop();
			await page.getByRole("button", { name: "Earlier" }).click();
			await page.locator(".disconnected").waitFor();
			expect(await page.locator(".disconnected").innerText()).toContain("Cannot reach the server");
			await page.goBack();
			await nextFrame(page);
			await screenshot(page, "server-away");
			await other.start();
			await page.locator(".disconnected").waitFor({ state: "detached" });
			await quiet(page);
			expect(await firstRow(page)).toEqual(["shop"]);
			opened!.errors.length = 0; // refused connections
		});
	});

	it("explains how to send profiles if it is empty", async () => {
		await withOther(async (other) => {
			const page = await open("", {}, other);
			expect(await page.locator("main").innerText()).toMatch(/^No profiles yet[^]*sudo cameo agent --server http/);
			expect(await accessibilityViolations(page)).toEqual([]);
			await screenshot(page, "server-empty");
		});
	});
});

describe("hostile input", () => {
	const hostile = "<img src=x onerror=alert(1)>\u202e\"'&".replace(/[;\n]/g, "");

	it("is shown as text everywhere", async () => {
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
			await screenshot(page, "server-hostile");
		});
	});

	it("can be one sample or 200,000 stacks with truncated nodes that expand", async () => {
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
			/* The table shows the complete profile although the graph is truncated. */
			await page.fill("[aria-label='Filter functions']", "leaf17");
			await nextFrame(page);
			await page.locator("td.function .name", { hasText: /^leaf17$/ }).waitFor();
			const own = lines.filter((l) => l.includes(";leaf17 ")).reduce((s, l) => s + Number(l.split(" ")[1]), 0);
			expect(await page.locator("tr", { hasText: /leaf17$/ }).first().innerText()).toContain(`${(100 * own / total).toFixed(2)}%`);
			await page.getByRole("button", { name: "Flame graph", exact: true }).last().click();
			await quiet(page);
			await page.fill("#search", "other");
			await page.getByRole("button", { name: "Next match" }).click();
			await page.locator(".node-details", { hasText: "truncated" }).waitFor();
			await page.focus(graph);
			await page.keyboard.press("Enter");
			await page.waitForFunction(() => location.hash.includes("opened="));
			await quiet(page);
			expect(await page.locator(".crumbs li").count()).toBeGreaterThan(1);
			await screenshot(page, "server-large");
		});
	});
});

describe("every view", () => {
	const PAGES: [string, string][] = [
		...VIEWS.map((v): [string, string] => [v.id, `#page=${v.id}${v.id === "compare" ? "&from=now-5m" : ""}`]),
		["both", "#view=both"],
	];

	it.each(PAGES)("%s has no violation that axe-core finds, wide and on a phone, light and dark", async (name, at) => {
		for (const width of [1440, 390])
			for (const dark of [false, true]) {
				const page = await open(at, { width, height: width === 390 ? 844 : 900, dark, touch: width === 390 });
				expect(await accessibilityViolations(page)).toEqual([]);
				expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
				await screenshot(page, `server-${name}-${width}-${dark ? "dark" : "light"}`);
				await page.context().close();
			}
	}, 300_000);

	it("fits into 200 KiB and requests nothing from other servers", async () => {
		const page = await open();
		const rs = await page.request.get(server.url);
		const body = await rs.body();
		saveArtifact("weight.txt", `${body.length} bytes\n`);
		expect(body.length).toBeLessThanOrEqual(200 * 1024);
		const policy = rs.headers()["content-security-policy"];
		expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; /);
		expect(policy).toContain("connect-src 'self'");
	});
});
