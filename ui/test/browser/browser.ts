// SPDX-License-Identifier: Apache-2.0
//
// Opens pages that the C program wrote in Debian's Chromium and watches that
// they ask nothing of anybody and complain of nothing.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium, type Browser, type Page } from "playwright-core";

export interface Frame {
	name: string;
	kind?: string;
	binary?: string;
	file?: string;
	line?: number;
}

export type Stack = [(string | Frame)[], number];

export interface Opened {
	page: Page;
	/** What the page said on the console or threw. */
	complaints: string[];
	/** URLs it asked for, but for itself and its own server. */
	requests: string[];
}

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
	"--disable-background-networking", "--disable-component-update", "--disable-sync"];

export class Chromium {
	private browser!: Browser;
	private dir = mkdtempSync(join(tmpdir(), "cameo-ui-"));
	private n = 0;

	async start(): Promise<void> {
		this.browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: FLAGS });
	}

	async stop(): Promise<void> {
		await this.browser?.close();
		rmSync(this.dir, { recursive: true, force: true });
	}

	/** The page of @stacks as a file; the bytes too. */
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

	async open(url: string, options: { width?: number; height?: number; dark?: boolean; touch?: boolean; motion?: boolean; now?: number } = {}): Promise<Opened> {
		const context = await this.browser.newContext({
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
		if (options.now !== undefined)
			await page.clock.setFixedTime(options.now);
		await page.goto(url);
		await settled(page);
		return { page, complaints, requests };
	}
}

function frameText(f: string | Frame): string {
	const { name, kind = "native", binary = "", file = "", line = 0 } = typeof f === "string" ? { name: f } : f;
	return [kind, name, binary, file, line].join("\x1f");
}

/** Waits until what was asked for is drawn: two frames of the browser. */
export async function settled(page: Page): Promise<void> {
	await page.evaluate(() => new Promise<void>((done) =>
		requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
}

/** Keeps a file to look at in $CAMEO_SHOTS, where somebody wants them. */
export function keep(name: string, content: Uint8Array | string): void {
	const dir = process.env.CAMEO_SHOTS;
	if (dir === undefined)
		return;
	mkdirSync(dir, { recursive: true });
	writeFileSync(join(dir, name), content);
}

export async function shot(page: Page, name: string): Promise<void> {
	if (process.env.CAMEO_SHOTS !== undefined)
		keep(`${name}.png`, await page.screenshot());
}
