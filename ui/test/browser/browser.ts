// SPDX-License-Identifier: Apache-2.0
//
// Opens pages in Debian's Chromium and records their requests and errors.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium, type Browser, type Page } from "playwright-core";
import { beforeEach } from "vitest";

export interface Frame {
	name: string;
	kind?: string;
	binary?: string;
	file?: string;
	line?: number;
}

export type Stack = [(string | Frame)[], number];

export interface OpenedPage {
	page: Page;
	/** Console messages and exceptions of the page. */
	errors: string[];
	/** The URLs that the page requested from others than its own server. */
	foreignRequests: string[];
}

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
	"--disable-background-networking", "--disable-component-update", "--disable-sync"];

export class Chromium {
	private browser: Browser | null = null;
	private dir = mkdtempSync(join(tmpdir(), "cameo-ui-"));
	private n = 0;

	/* vitest runs a test that fails a second time (--retry 1). This ends the second run unless the browser crashed. */
	constructor() {
		beforeEach(({ task }) => {
			if (task.result?.retryCount && this.browser?.isConnected())
				throw new Error("The test is not repeated, because the browser has not crashed.");
			if (task.result?.retryCount)
				process.stderr.write(`Chromium has crashed; repeating: ${task.name}\n`);
		});
	}

	async start(): Promise<void> {
		await this.running();
	}

	/* Starts the browser, again if it has crashed, so that a crash fails only the test in which it happens. */
	private async running(): Promise<Browser> {
		if (!this.browser?.isConnected())
			this.browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
		return this.browser;
	}

	async stop(): Promise<void> {
		await this.browser?.close();
		rmSync(this.dir, { recursive: true, force: true });
	}

	/** Writes the page of @stacks to a file. */
	write(title: string, stacks: Stack[]): { url: string; html: string } {
		const text = stacks.map(([frames, count]) =>
			[...frames.map(frameText), count].join("\t") + "\n").join("");
		const made = spawnSync(process.env.CAMEO_MAKE_PAGE!, [title],
			{ input: text, maxBuffer: 1 << 28, encoding: "utf8" });
		if (made.status !== 0)
			throw new Error(`make-page: ${made.stderr} ${made.error ?? ""}`);
		const file = join(this.dir, `${this.n++}.html`);
		writeFileSync(file, made.stdout);
		return { url: pathToFileURL(file).href, html: made.stdout };
	}

	/** Returns an empty page in a context of its own, which the caller closes. */
	async page(options: { dark?: boolean; width?: number; script?: boolean } = {}): Promise<Page> {
		const context = await (await this.running()).newContext({
			viewport: { width: options.width ?? 1440, height: 900 },
			colorScheme: options.dark ? "dark" : "light",
			javaScriptEnabled: options.script ?? true,
		});
		return context.newPage();
	}

	/** Opens @url, or @html as if @url returned it. */
	async open(url: string, options: { width?: number; height?: number; dark?: boolean; touch?: boolean; motion?: boolean; now?: number; html?: string } = {}): Promise<OpenedPage> {
		const context = await (await this.running()).newContext({
			viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
			colorScheme: options.dark ? "dark" : "light",
			reducedMotion: options.motion ? "no-preference" : "reduce",
			hasTouch: options.touch ?? false,
			acceptDownloads: true,
		});
		const page = await context.newPage();
		const complaints: string[] = [];
		const requests: string[] = [];
		page.on("console", (m) => complaints.push(m.text()));
		page.on("pageerror", (e) => complaints.push(String(e)));
		page.on("dialog", (d) => {
			complaints.push(`dialog ${d.message()}`);
			void d.dismiss();
		});
		page.on("request", (r) => {
			const own = url.startsWith("http") && new URL(r.url()).origin === new URL(url).origin;
			if (!own && r.url().split("#")[0] !== url.split("#")[0] && !/^(data|blob):/.test(r.url()))
				requests.push(r.url());
		});
		if (options.html !== undefined)
			await page.route(url.split("#")[0], (r) => r.fulfill({ contentType: "text/html", body: options.html }));
		if (options.now !== undefined)
			await page.clock.setFixedTime(options.now);
		await page.goto(url);
		await page.waitForFunction(() => document.querySelector("#app > *") !== null
			&& document.querySelector("#app > main.message[aria-busy=true]") === null);
		await nextFrame(page);
		return { page, errors: complaints, foreignRequests: requests };
	}
}

function frameText(f: string | Frame): string {
	const { name, kind = "native", binary = "", file = "", line = 0 } = typeof f === "string" ? { name: f } : f;
	return [kind, name, binary, file, line].join("\x1f");
}

/** Waits for two frames of the browser, after which all changes of state are drawn. */
export async function nextFrame(page: Page): Promise<void> {
	await page.evaluate(() => new Promise<void>((done) =>
		requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
}

/** Writes a file to the directory $CAMEO_SHOTS, if that is set. */
export function saveArtifact(name: string, content: Uint8Array | string): void {
	const dir = process.env.CAMEO_SHOTS;
	if (dir === undefined)
		return;
	mkdirSync(dir, { recursive: true });
	writeFileSync(join(dir, name), content);
}

export async function screenshot(page: Page, name: string): Promise<void> {
	if (process.env.CAMEO_SHOTS !== undefined)
		saveArtifact(`${name}.png`, await page.screenshot());
}
