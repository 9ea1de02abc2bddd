// SPDX-License-Identifier: Apache-2.0
//
// Converts src/tables/idle.def, which `cameo report` is also built with, to a module of the
// page with one regular expression per type of entry.

import { readFileSync } from "node:fs";

/* Patterns of what may follow the names of each type: suffixes of the compiler and arguments. */
const SUFFIXES = { WAIT: "(\\.(isra|constprop|part)\\..*)?(\\(.*)?", LOCK: "", LOOP: "", SLEEP: "" };

function idleModule(text) {
	const lines = [...text.matchAll(/^X\((\w+), (".*")\)$/gm)];
	return Object.entries(SUFFIXES).map(([type, suffix]) => {
		const names = lines.filter((l) => l[1] === type).map((l) => JSON.parse(l[2]));
		if (names.length === 0)
			throw new Error(`idle.def has no entry of type ${type}`);
		return `export const ${type} = /^(${names.join("|")})${suffix}$/;\n`;
	}).join("");
}

export const forEsbuild = {
	name: "idle.def",
	setup(build) {
		build.onLoad({ filter: /idle\.def$/ }, ({ path }) => ({
			contents: idleModule(readFileSync(path, "utf8")), loader: "js",
		}));
	},
};

export const forVite = {
	name: "idle.def",
	transform: (code, id) => (id.endsWith("idle.def") ? idleModule(code) : undefined),
};
