// SPDX-License-Identifier: Apache-2.0
//
// Derives the package, module or namespace of a function from its name and
// path, following the conventions of its language. A function whose name says
// nothing about it belongs to its binary.

import { baseName } from "./format";
import type { Functions } from "./tree";

const MAX_LENGTH = 300;

/* Returns the module of a file below @mark (site-packages/, node_modules/), or else the name of its directory. */
function packageOfFile(file: string, mark: string): string {
	const at = file.lastIndexOf(mark);
	if (at >= 0) {
		const parts = file.slice(at + mark.length).split("/");
		return parts[0].startsWith("@") ? parts.slice(0, 2).join("/") : parts[0].replace(/\.\w+$/, "");
	}
	const parts = file.split("/");
	return parts.length > 1 ? parts[parts.length - 2] || baseName(file) : file;
}

/* Returns what precedes the type in a/b/Type.method or a.b.Type.method, up to three components. */
function packageOfJava(name: string): string {
	const parts = name.split("(")[0].replace(/\//g, ".").split(".");
	return parts.slice(0, Math.max(1, Math.min(3, parts.length - 2))).join(".");
}

/* Returns the import path in host/path/package.Func or package.(*Type).Func. */
function packageOfGo(name: string): string {
	const path = name.split("[")[0];
	const slash = path.lastIndexOf("/");
	const dot = path.indexOf(".", slash + 1);
	return dot > 0 ? path.slice(0, dot) : path;
}

/* Returns the first component of a::b::c, without the template or trait syntax before it. */
function packageOfColons(name: string): string {
	const at = name.indexOf("::");
	return at > 0 ? name.slice(0, at).replace(/^[<&*\s]*(?:dyn |mut |const )*/, "").replace(/^.*\s/, "") : "";
}

export function packageOf(fns: Functions, fn: number): string {
	const name = fns.name[fn].slice(0, MAX_LENGTH);
	const binary = baseName(fns.binary[fn]) || fns.kind[fn];
	switch (fns.kind[fn]) {
	case "kernel": return "kernel";
	case "python": return packageOfFile(fns.file[fn], "site-packages/") || binary;
	case "v8": return packageOfFile(fns.file[fn], "node_modules/") || binary;
	case "jvm": return packageOfJava(name);
	case "go": return packageOfGo(name);
	case "native":
	case "rust": return packageOfColons(name) || binary;
	default: return fns.file[fn] === "" ? packageOfColons(name) || fns.binary[fn] || name : packageOfFile(fns.file[fn], "/lib/");
	}
}
