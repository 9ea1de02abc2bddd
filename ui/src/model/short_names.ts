// SPDX-License-Identifier: Apache-2.0
//
// Shortens function names for narrow bars. The arguments are dropped first,
// then the outer packages, classes and namespaces one by one, since the end of
// a qualified name says more than its beginning.

/* Frame types that separate parts of a name by dots. Elsewhere a dot is part of a name (read.isra.0, libc.so.6). */
const DOT_SEPARATED = ["python", "jvm", "go", "v8", "ruby", "php", "dotnet", "beam", "lua"];
const OPEN = "<([{";
const CLOSE = ">)]}";

/* The beginning of a part that is meaningless without the part before it: closures and other generated functions. */
const GENERATED = /^(func\d|gowrap\d|\d|\{)/;

/* Returns the end of the name itself, which arguments and suffixes of the compiler may follow. */
function endOfName(name: string): number {
	let depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i];
		if (c === "(" && depth === 0 && i > 0 && /[\w>$\])]/.test(name[i - 1]))
			return i;
		if (OPEN.includes(c))
			depth++;
		else if (CLOSE.includes(c) && name[i - 1] !== "-" && depth > 0)
			depth--;
	}
	return name.length;
}

/**
 * Returns the shorter forms of @name, longest first; none if nothing can be dropped. The
 * short form of an address without a symbol ([libc.so.6+0x1f]) is the file's name.
 */
export function shortForms(name: string, kind: string): string[] {
	const place = /^\[(.+)\+0x[\da-f]+\]$/.exec(name);
	if (place)
		return [`[${place[1]}]`];
	if (/^\[|\boperator\b/.test(name))
		return [];
	const proper = name.slice(0, endOfName(name));
	const out = proper.length < name.length ? [proper] : [];
	const pointed = DOT_SEPARATED.includes(kind);
	let depth = 0;
	for (let i = 0; i + 1 < proper.length; i++) {
		const c = proper[i];
		if (OPEN.includes(c)) {
			depth++;
		} else if (CLOSE.includes(c)) {
			depth -= depth > 0 ? 1 : 0;
		} else if (depth === 0 && (c === "/" || c === "#" || (c === "." && pointed && i > 0)
			|| (c === ":" && proper[i - 1] === ":"))) {
			const rest = proper.slice(i + 1);
			if (/^[^<>()[\]]*[\w$]/.test(rest) && !GENERATED.test(rest))
				out.push(rest);
		}
	}
	return out;
}
