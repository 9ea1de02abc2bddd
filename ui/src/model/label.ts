// SPDX-License-Identifier: Apache-2.0
//
// What of a name is shown where all of it has no room: first its arguments go,
// then its outer packages, classes and namespaces one after the other. What is
// left says more than the beginning of the whole would.

/* Where a point parts a name; elsewhere it is a part of names (read.isra.0, libc.so.6). */
const POINTED = ["python", "jvm", "go", "v8", "ruby", "php", "dotnet", "beam", "lua"];
const OPEN = "<([{";
const CLOSE = ">)]}";

/* The end of the name proper: what follows are arguments and what a compiler adds. */
function endOf(name: string): number {
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
 * The shorter forms of @name, longest first; none where there is nothing to leave
 * out. Of an address in a file without names ([libc.so.6+0x1f]) the file is left.
 */
export function shorter(name: string, kind: string): string[] {
	const place = /^\[(.+)\+0x[\da-f]+\]$/.exec(name);
	if (place)
		return [`[${place[1]}]`];
	if (/^\[|\boperator\b/.test(name))
		return [];
	const proper = name.slice(0, endOf(name));
	const out = proper.length < name.length ? [proper] : [];
	const pointed = POINTED.includes(kind);
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
			if (/^[^<>()[\]]*[\w$]/.test(rest))
				out.push(rest);
		}
	}
	return out;
}
