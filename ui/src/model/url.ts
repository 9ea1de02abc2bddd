// SPDX-License-Identifier: Apache-2.0
//
// What is on the screen, as the part of the URL behind '#'. Whatever a URL
// says that is not understood is left out: an old link still opens the page.

import { COLOUR_BY, type ColourBy } from "./colour";
import { SORTS, type Sort } from "./table";

export const VIEWS = ["graph", "both", "table", "sandwich"] as const;
export type ViewName = (typeof VIEWS)[number];

export interface State {
	view: ViewName;
	/** Key of the zoomed place, "" for all. */
	zoom: string;
	query: string;
	regex: boolean;
	inverted: boolean;
	/** Root at the bottom. */
	flame: boolean;
	colour: ColourBy;
	/** Recursion folded. */
	folded: boolean;
	/** A diff of values as they are, not of shares. */
	absolute: boolean;
	/** Keys of functions. */
	selected: string;
	focused: string;
	hidden: string[];
	sort: Sort;
	up: boolean;
	filter: string;
}

export const START: State = {
	view: "graph",
	zoom: "",
	query: "",
	regex: false,
	inverted: false,
	flame: false,
	colour: "kind",
	folded: false,
	absolute: false,
	selected: "",
	focused: "",
	hidden: [],
	sort: "self",
	up: false,
	filter: "",
};

const LONGEST = 1000;
const MOST_HIDDEN = 50;

/** "" for the state a page starts with. */
export function toHash(s: State): string {
	const p = new URLSearchParams();
	for (const key of Object.keys(START) as (keyof State)[]) {
		const v = s[key];
		if (Array.isArray(v))
			v.forEach((x) => p.append(key, x));
		else if (v !== START[key])
			p.set(key, typeof v === "boolean" ? "1" : String(v));
	}
	const text = p.toString();
	return text === "" ? "" : "#" + text;
}

export function fromHash(hash: string): State {
	const p = new URLSearchParams(hash.replace(/^#/, ""));
	const text = (key: string) => (p.get(key) ?? "").slice(0, LONGEST);
	const flag = (key: string) => p.get(key) === "1";
	const oneOf = <T extends string>(key: keyof State, all: readonly T[]): T => {
		const v = p.get(key) as T;
		return all.includes(v) ? v : (START[key] as T);
	};
	return {
		view: oneOf("view", VIEWS),
		zoom: text("zoom"),
		query: text("query"),
		regex: flag("regex"),
		inverted: flag("inverted"),
		flame: flag("flame"),
		colour: oneOf("colour", COLOUR_BY),
		folded: flag("folded"),
		absolute: flag("absolute"),
		selected: text("selected"),
		focused: text("focused"),
		hidden: p.getAll("hidden").slice(0, MOST_HIDDEN).map((h) => h.slice(0, LONGEST)),
		sort: oneOf("sort", SORTS),
		up: flag("up"),
		filter: text("filter"),
	};
}
