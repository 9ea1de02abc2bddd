#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// take.mjs CAMEO [SECONDS]: take the screenshots of README.md. Profiles a small web
// shop of four services in four languages with `cameo up` and writes
// docs/images/flamegraph-light.png and -dark.png. Needs root, Chromium, pngquant,
// python3, node, javac, java and go.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const images = resolve(here, "../../docs/images");
const [cameo, seconds = "150"] = process.argv.slice(2);
const [GATEWAY, CATALOG, SEARCH, CHECKOUT, SERVER] = ["14100", "14101", "14102", "14103", "14140"];
/* The README must load quickly. */
const MAX_BYTES = 200_000;
/* Until then the services import modules and compile code, which is not what the pictures show. */
const WARM_UP_MS = 40_000;

if (cameo === undefined) {
	console.error("Usage: take.mjs CAMEO [SECONDS]");
	process.exit(2);
}
const work = mkdtempSync(join(tmpdir(), "cameo-screenshots-"));
const children = [];

function run(...command) {
	const made = spawnSync(command[0], command.slice(1), { cwd: here, stdio: "inherit" });
	if (made.status !== 0)
		throw new Error(`${command.join(" ")} failed`);
}

function start(service, ...command) {
	const child = spawn(command[0], command.slice(1), {
		cwd: here, stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, OTEL_SERVICE_NAME: service },
	});
	children.push(child);
	return child;
}

async function stop(child) {
	if (child.exitCode !== null || child.signalCode !== null)
		return;
	const ended = new Promise((done) => child.once("exit", done));
	child.kill("SIGTERM");
	await ended;
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function startShop() {
	run("go", "build", "-o", join(work, "gateway"), "gateway.go");
	run("javac", "-d", work, "Checkout.java");
	start("shop-catalog", "python3", "catalog.py", CATALOG);
	start("shop-search", "node", "search.js", SEARCH);
	start("shop-checkout", "java", "-cp", work, "Checkout", CHECKOUT);
	start("shop-gateway", join(work, "gateway"), GATEWAY, CATALOG, SEARCH, CHECKOUT);
	for (let client = 0; client < 2; client++)
		start("load", "python3", "load.py", GATEWAY);
}

async function screenshot(browser, colorScheme) {
	const page = await browser.newPage({ viewport: { width: 1600, height: 900 }, colorScheme, reducedMotion: "reduce" });
	/* Other processes of the machine are filtered out: the pictures must not depend on them. */
	await page.goto(`http://127.0.0.1:${SERVER}/#where=service_name%3D~shop-.*&from=now-${seconds}s`);
	await page.waitForSelector(".graph canvas");
	await page.waitForFunction(() => !document.documentElement.hasAttribute("data-loading"));
	await sleep(1000);
	const file = join(images, `flamegraph-${colorScheme}.png`);
	await page.screenshot({ path: file });
	await page.close();
	run("pngquant", "--speed", "1", "--force", "--output", file, "256", file);
	const { size } = statSync(file);
	console.log(`${file}: ${size} bytes`);
	if (size > MAX_BYTES)
		throw new Error(`${file} exceeds ${MAX_BYTES} bytes`);
}

try {
	mkdirSync(images, { recursive: true });
	startShop();
	await sleep(WARM_UP_MS);
	const profiler = start("cameo", resolve(cameo), "up", "--data", join(work, "data"), "--listen", `127.0.0.1:${SERVER}`,
		"-F", "97", "--window", "15s");
	await sleep(Number(seconds) * 1000);
	if (profiler.exitCode !== null)
		throw new Error(`${cameo} up ended with status ${profiler.exitCode}`);
	const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
	for (const colorScheme of ["light", "dark"])
		await screenshot(browser, colorScheme);
	await browser.close();
} finally {
	for (const child of children.reverse())
		await stop(child);
	rmSync(work, { recursive: true, force: true });
}
