// SPDX-License-Identifier: Apache-2.0
//
// Bundles the pages: node build.mjs --out DIR [--depfile FILE] writes
// DIR/single.html, which holds a profile, and DIR/server.html, which asks a
// server. Each has its style and script in itself, named by hash in its
// Content-Security-Policy: single.html's is in the page, server.html's is sent
// by the server. DIR/ui_page.h and DIR/ui_server_page.h are the same for the C
// program, compressed; single.html has two marks that src/codec/html.c fills
// in. For Ninja there is a list of the files that were read.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync, gzipSync } from "node:zlib";

import { build } from "esbuild";

import { forEsbuild } from "./idle_def.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const option = (name) => {
	const at = process.argv.indexOf(name);
	return at > 0 ? process.argv[at + 1] : undefined;
};
const out = option("--out") ?? join(here, "dist");
const LIMIT = 200 * 1024;
const read = new Set();

async function bundle(entry) {
	const result = await build({
		entryPoints: [join(here, "src", entry)],
		bundle: true,
		minify: true,
		write: false,
		format: entry.endsWith(".css") ? undefined : "iife",
		target: ["es2020", "chrome100", "firefox100", "safari15.4"],
		jsx: "automatic",
		jsxImportSource: "preact",
		legalComments: "none",
		charset: "ascii",
		metafile: true,
		plugins: [forEsbuild],
	});
	Object.keys(result.metafile.inputs).forEach((file) => read.add(resolve(file)));
	return result.outputFiles[0].text.trim();
}

function hash(text) {
	return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

function contained(text) {
	return text.replaceAll("</script", "<\\/script");
}

/* The page from its template; throws if it is too large. */
async function make(folder, stylesheet, more) {
	const script = contained(await bundle(`${folder}/main.tsx`));
	const style = await bundle(stylesheet);
	const policy = [
		"default-src 'none'",
		`script-src ${hash(script)}`,
		`style-src ${hash(style)}`,
		"img-src data:",
		"base-uri 'none'",
		"form-action 'none'",
		...more,
	].join("; ");
	const parts = { CSP: policy, STYLE: style, SCRIPT: script };
	const template = join(here, "src", folder, "page.html");
	const page = readFileSync(template, "utf8")
		.replace(/%(CSP|STYLE|SCRIPT)%/g, (_, name) => parts[name]);
	read.add(template);
	if (Buffer.byteLength(page) > LIMIT)
		throw new Error(`${folder}: the page is ${page.length} bytes, over the limit of ${LIMIT}`);
	return { page, policy };
}

function bytes(name, data) {
	return [
		`static const unsigned char ${name}[] = {`,
		data.toString("hex").replace(/../g, "0x$&,").replace(/.{80}/g, "$&\n"),
		"};",
		"",
	];
}

const single = await make("single", "style.css", []);
for (const mark of ["%CAMEO_TITLE%", "%CAMEO_DATA%"])
	if (single.page.split(mark).length !== 2)
		throw new Error(`${mark} must occur once in the page`);
const server = await make("server", "server/style.css", ["connect-src 'self'", "frame-ancestors 'none'"]);
const etag = createHash("sha256").update(server.page).digest("hex").slice(0, 16);
const notice = ["/* SPDX-License-Identifier: Apache-2.0 */", "/* Made by ui/build.mjs. */"];

mkdirSync(out, { recursive: true });
writeFileSync(join(out, "single.html"), single.page);
writeFileSync(join(out, "ui_page.h"), [
	...notice,
	`#define UI_PAGE_LEN ${Buffer.byteLength(single.page)}`,
	...bytes("ui_page", deflateSync(single.page, { level: 9 })),
].join("\n"));
writeFileSync(join(out, "server.html"), server.page);
writeFileSync(join(out, "ui_server_page.h"), [
	...notice,
	`#define UI_SERVER_PAGE_LEN ${Buffer.byteLength(server.page)}`,
	`#define UI_SERVER_PAGE_ETAG "\\"${etag}\\""`,
	`#define UI_SERVER_PAGE_CSP "${server.policy}"`,
	...bytes("ui_server_page", gzipSync(server.page, { level: 9 })),
].join("\n"));

const depfile = option("--depfile");
if (depfile !== undefined) {
	const made = ["single.html", "ui_page.h", "server.html", "ui_server_page.h"].map((file) => join(out, file));
	const escape = (file) => file.replace(/ /g, "\\ ");
	const files = [...read, join(here, "build.mjs"), join(here, "idle_def.mjs")].map(escape);
	writeFileSync(depfile, `${made.join(" ")}: ${files.join(" ")}\n`);
}
