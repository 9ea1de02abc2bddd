// SPDX-License-Identifier: Apache-2.0
//
// Bundles the page: node build.mjs --out DIR [--depfile FILE] writes
// DIR/single.html, which has its style and script in itself, named by hash in
// its own Content-Security-Policy, and two marks that src/codec/html.c fills
// in; DIR/ui_page.h, the same for the C program, deflated; and for Ninja a
// list of the files it read.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";

import { build } from "esbuild";

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
	});
	Object.keys(result.metafile.inputs).forEach((file) => read.add(resolve(file)));
	return result.outputFiles[0].text.trim();
}

function hash(text) {
	return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

const script = (await bundle("single/main.tsx")).replaceAll("</script", "<\\/script");
const style = await bundle("style.css");
const policy = [
	"default-src 'none'",
	`script-src ${hash(script)}`,
	`style-src ${hash(style)}`,
	"img-src data:",
	"base-uri 'none'",
	"form-action 'none'",
].join("; ");
const parts = { CSP: policy, STYLE: style, SCRIPT: script };
const page = readFileSync(join(here, "src/single/page.html"), "utf8")
	.replace(/%(CSP|STYLE|SCRIPT)%/g, (_, name) => parts[name]);

for (const mark of ["%CAMEO_TITLE%", "%CAMEO_DATA%"])
	if (page.split(mark).length !== 2)
		throw new Error(`${mark} must occur once in the page`);
if (page.length > LIMIT)
	throw new Error(`the page is ${page.length} bytes, over the limit of ${LIMIT}`);

const deflated = deflateSync(page, { level: 9 });
const header = [
	"/* SPDX-License-Identifier: Apache-2.0 */",
	"/* Made by ui/build.mjs. */",
	`#define UI_PAGE_LEN ${Buffer.byteLength(page)}`,
	"static const unsigned char ui_page[] = {",
	deflated.toString("hex").replace(/../g, "0x$&,").replace(/.{80}/g, "$&\n"),
	"};",
	"",
].join("\n");

mkdirSync(out, { recursive: true });
writeFileSync(join(out, "single.html"), page);
writeFileSync(join(out, "ui_page.h"), header);

const depfile = option("--depfile");
if (depfile !== undefined) {
	const files = [...read, join(here, "src/single/page.html"), join(here, "build.mjs")];
	const escape = (file) => file.replace(/ /g, "\\ ");
	writeFileSync(depfile, `${join(out, "single.html")} ${join(out, "ui_page.h")}: ${files.map(escape).join(" ")}\n`);
}
