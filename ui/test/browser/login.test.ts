// SPDX-License-Identifier: Apache-2.0
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";

import { accessibilityViolations } from "./axe";
import { Chromium, screenshot } from "./browser";
import { CameoServer } from "./server";

const PASSWORD = "password-of-ann";
const VIEW = "#page=storage";

const chromium = new Chromium();
const server = new CameoServer();

beforeAll(async () => {
	await chromium.start();
	writeFileSync(join(server.dir, "users"), `ann:${PASSWORD}\n`);
	writeFileSync(join(server.dir, "tokens"), "token-of-a-reader * read\n");
	await server.start("--auth-basic-file", join(server.dir, "users"), "--auth-token-file", join(server.dir, "tokens"));
	return async () => {
		await chromium.stop();
		await server.close();
	};
});

/* Opens the server without credentials. The browser reports the status 403 of a wrong password to the console. */
async function form(options: { dark?: boolean; width?: number; script?: boolean } = {}): Promise<Page> {
	const page = await chromium.page(options);
	await page.goto(`${server.url}/${VIEW}`);
	await page.getByRole("button", { name: "Sign in" }).waitFor();
	return page;
}

async function signIn(page: Page, user: string, secret: string): Promise<void> {
	await page.getByLabel("User name").fill(user);
	await page.getByLabel("Password or token").fill(secret);
	await page.keyboard.press("Enter");
}

describe("the form to sign in", () => {
	it("reports a wrong password, then shows the view of the address", async () => {
		const page = await form();
		expect(await page.evaluate(() => document.activeElement?.id)).toBe("user");
		await signIn(page, "ann", "password-of-bob");
		await page.getByRole("alert").waitFor();
		expect(await page.getByRole("alert").textContent()).toBe("These credentials are wrong.");
		await signIn(page, "ann", PASSWORD);
		await page.getByRole("button", { name: "Storage" }).waitFor();
		expect(new URL(page.url()).hash).toBe(VIEW);
		expect(new URL(page.url()).pathname).toBe("/");
		expect(await page.getByRole("button", { name: "Sign out" }).getAttribute("title")).toBe("Signed in as ann");
		const [cookie] = await page.context().cookies();
		expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/", expires: -1 });
		await page.context().close();
	}, 120_000);

	it("accepts a token, and works without scripts", async () => {
		const page = await form({ script: false });
		await signIn(page, "", "token-of-a-reader");
		await page.waitForURL(`${server.url}/${VIEW}`);
		expect(await page.title()).toBe("Cameo");
		await page.context().close();
	}, 120_000);

	it.each([[false, 1440], [true, 1440], [false, 390], [true, 390]])(
		"has no violation that axe-core finds (dark: %s, width: %s)", async (dark, width) => {
			const page = await form({ dark, width });
			expect(await accessibilityViolations(page)).toEqual([]);
			await screenshot(page, `login-${width}-${dark ? "dark" : "light"}`);
			await signIn(page, "ann", "password-of-bob");
			await page.getByRole("alert").waitFor();
			expect(await accessibilityViolations(page)).toEqual([]);
			await screenshot(page, `login-wrong-${width}-${dark ? "dark" : "light"}`);
			await page.context().close();
		}, 120_000);
});

describe("a session", () => {
	it("ends with Sign out", async () => {
		const page = await form();
		await signIn(page, "ann", PASSWORD);
		await page.getByRole("button", { name: "Sign out" }).click();
		await page.getByRole("button", { name: "Sign in" }).waitFor();
		expect(await page.context().cookies()).toEqual([]);
		await page.goto(`${server.url}/`);
		await page.getByRole("button", { name: "Sign in" }).waitFor();
		await page.context().close();
	}, 120_000);

	it("that has ended leads to the form, and back to the view", async () => {
		const page = await form();
		await signIn(page, "ann", PASSWORD);
		await page.getByRole("button", { name: "Sign out" }).waitFor();
		await page.getByRole("button", { name: "Flame graph" }).click();
		await page.getByRole("button", { name: "Last 24 hours" }).waitFor();
		await page.context().clearCookies();
		await page.getByRole("button", { name: "Last 24 hours" }).click();
		await page.getByText("Your session has ended.").waitFor();
		expect(new URL(page.url()).hash).toBe("#from=now-24h");
		await signIn(page, "ann", PASSWORD);
		await page.getByRole("button", { name: "Sign out" }).waitFor();
		expect(new URL(page.url()).hash).toBe("#from=now-24h");
		await page.context().close();
	}, 120_000);
});
