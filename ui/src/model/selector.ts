// SPDX-License-Identifier: Apache-2.0
//
// Filters by label, as the page keeps them ("pod=~web.*"), and the selector
// that the API takes ({"pod"=~"web.*"}).

export const OPS = ["=", "!=", "=~", "!~"] as const;
export type Op = (typeof OPS)[number];

export interface Filter {
	name: string;
	op: Op;
	value: string;
}

export const OP_TEXT: Record<Op, string> = {
	"=": "is", "!=": "is not", "=~": "matches", "!~": "does not match",
};

/** "name=value": names have no '=', '!' or '~' in them that is not the operator. */
export function parseFilter(text: string): Filter | null {
	const m = /^([^=!~]+)(=~|!~|!=|=)([^]*)$/.exec(text);
	return m ? { name: m[1], op: m[2] as Op, value: m[3] } : null;
}

export function filterText(f: Filter): string {
	return f.name + f.op + f.value;
}

/** Numbers of a regular expression's special signs are few: each is one character. */
export function quoteRegex(text: string): string {
	return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

function quoted(text: string): string {
	return `"${text.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")}"`;
}

export const SERVICE = "service_name";

/** A service and filters as one selector. */
export function selectorOf(service: string, filters: readonly string[]): string {
	const all: Filter[] = service === "" ? [] : [{ name: SERVICE, op: "=", value: service }];
	for (const text of filters) {
		const f = parseFilter(text);
		if (f)
			all.push(f);
	}
	return `{${all.map((f) => `${quoted(f.name)}${f.op}${quoted(f.value)}`).join(",")}}`;
}

/** @filters with one that lets only @value through; others of that label with '=' are gone. */
export function narrowed(filters: readonly string[], name: string, value: string): string[] {
	const kept = filters.filter((text) => {
		const f = parseFilter(text);
		return f !== null && !(f.name === name && f.op === "=");
	});
	return [...kept, filterText({ name, op: "=", value })];
}

/** Labels that the store makes itself are not for people. */
export function isShownLabel(name: string): boolean {
	return !/^__.*__$/.test(name);
}
