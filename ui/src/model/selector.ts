// SPDX-License-Identifier: Apache-2.0
//
// Label filters as the page stores them ("pod=~web.*"), and the label selector
// of the API ({"pod"=~"web.*"}).

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

/** Parses "name=value"; null if it is invalid. The first '=', '!' or '~' begins the operator. */
export function parseFilter(text: string): Filter | null {
	const m = /^([^=!~]+)(=~|!~|!=|=)([^]*)$/.exec(text);
	return m ? { name: m[1], op: m[2] as Op, value: m[3] } : null;
}

export function filterText(f: Filter): string {
	return f.name + f.op + f.value;
}

/** Escapes the special characters of regular expressions. */
export function quoteRegex(text: string): string {
	return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

function quoteLabel(text: string): string {
	return `"${text.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n")}"`;
}

export const SERVICE = "service_name";

/** Combines a service and filters into one selector. Invalid filters are ignored. */
export function selectorOf(service: string, filters: readonly string[]): string {
	const all: Filter[] = service === "" ? [] : [{ name: SERVICE, op: "=", value: service }];
	for (const text of filters) {
		const f = parseFilter(text);
		if (f)
			all.push(f);
	}
	return `{${all.map((f) => `${quoteLabel(f.name)}${f.op}${quoteLabel(f.value)}`).join(",")}}`;
}

/** Adds a filter for @value to @filters; it replaces other '=' filters of that label. */
export function narrowTo(filters: readonly string[], name: string, value: string): string[] {
	const kept = filters.filter((text) => {
		const f = parseFilter(text);
		return f !== null && !(f.name === name && f.op === "=");
	});
	return [...kept, filterText({ name, op: "=", value })];
}

/** Returns whether a label is shown to the user, which internal labels of the store (__name__) are not. */
export function isVisibleLabel(name: string): boolean {
	return !/^__.*__$/.test(name);
}
