// SPDX-License-Identifier: Apache-2.0
//
// src/query/idle.def, which `cameo report` is built with, as a module of the page: a
// regular expression of each sort.

import { readFileSync } from "node:fs";

const BEHIND = { WAIT: "(\\.(isra|constprop|part)\\..*)?(\\(.*)?", LOCK: "", LOOP: "", SLEEP: "" };

function idleModule(text) {
	const lines = [...text.matchAll(/^X\((\w+), (".*")\)$/gm)];
	return Object.entries(BEHIND).map(([sort, behind]) => {
		const names = lines.filter((l) => l[1] === sort).map((l) => JSON.parse(l[2]));
		if (names.length === 0)
			throw new Error(`idle.def has no ${sort}`);
		return `export const ${sort} = /^(${names.join("|")})${behind}$/;\n`;
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
