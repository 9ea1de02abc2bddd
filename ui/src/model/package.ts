// SPDX-License-Identifier: Apache-2.0
//
// The package, module or namespace that a function belongs to, as far as its
// language puts that into names and paths; its binary where it does not.

import { baseName } from "./format";
import type { Functions } from "./tree";

const LONGEST = 300;

/* module of a file below site-packages or node_modules, else its folder's name */
function ofFile(file: string, mark: string): string {
	const at = file.lastIndexOf(mark);
	if (at >= 0) {
		const parts = file.slice(at + mark.length).split("/");
		return parts[0].startsWith("@") ? parts.slice(0, 2).join("/") : parts[0].replace(/\.\w+$/, "");
	}
	const parts = file.split("/");
	return parts.length > 1 ? parts[parts.length - 2] || baseName(file) : file;
}

/* a/b/Type.method or a.b.Type.method: what comes before the type */
function ofJava(name: string): string {
	const parts = name.split("(")[0].replace(/\//g, ".").split(".");
	return parts.slice(0, Math.max(1, Math.min(3, parts.length - 2))).join(".");
}

/* host/path/package.Func or package.(*Type).Func */
function ofGo(name: string): string {
	const path = name.split("[")[0];
	const slash = path.lastIndexOf("/");
	const dot = path.indexOf(".", slash + 1);
	return dot > 0 ? path.slice(0, dot) : path;
}

/* a::b::c, with what a template or a trait puts in front */
function ofColons(name: string): string {
	const at = name.indexOf("::");
	return at > 0 ? name.slice(0, at).replace(/^[<&*\s]*(?:dyn |mut |const )*/, "").replace(/^.*\s/, "") : "";
}

export function packageOf(fns: Functions, fn: number): string {
	const name = fns.name[fn].slice(0, LONGEST);
	const binary = baseName(fns.binary[fn]) || fns.kind[fn];
	switch (fns.kind[fn]) {
	case "kernel": return "kernel";
	case "python": return ofFile(fns.file[fn], "site-packages/") || binary;
	case "v8": return ofFile(fns.file[fn], "node_modules/") || binary;
	case "jvm": return ofJava(name);
	case "go": return ofGo(name);
	case "native":
	case "rust": return ofColons(name) || binary;
	default: return fns.file[fn] === "" ? ofColons(name) || fns.binary[fn] || name : ofFile(fns.file[fn], "/lib/");
	}
}
