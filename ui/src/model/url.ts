// SPDX-License-Identifier: Apache-2.0
//
// Converts the state of the page to and from the URL's fragment. Unknown or
// invalid parameters are ignored, so that old links still open the page.

import { COLOUR_BY, type ColourBy } from "./colour";
import { SORTS, type Sort } from "./table";

export interface State {
	/** The id of the view, one of view/profile_views.tsx. */
	view: string;
	/** The key of the zoomed node; "" if nothing is zoomed. */
	zoom: string;
	query: string;
	regex: boolean;
	inverted: boolean;
	/** Draws the root at the bottom. */
	flame: boolean;
	colour: ColourBy;
	/** Collapses recursion. */
	folded: boolean;
	/** Collapses chains of wrappers. */
	unwrapped: boolean;
	/** Compares recorded values instead of shares. */
	absolute: boolean;
	/** The keys of functions. */
	selected: string;
	focused: string;
	hidden: string[];
	/** Hides idle waits. */
	busy: boolean;
	sort: Sort;
	/** Sorts the table in ascending order. */
	up: boolean;
	filter: string;
	/** The time slice [from, to) selected in the heat map, in milliseconds since 1970; "" for none. */
	sliceFrom: string;
	sliceTo: string;
	/** The key of the flame chart's thread; "" for the busiest. */
	thread: string;
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
	unwrapped: false,
	absolute: false,
	selected: "",
	focused: "",
	hidden: [],
	busy: false,
	sort: "self",
	up: false,
	filter: "",
	sliceFrom: "",
	sliceTo: "",
	thread: "",
};

const MAX_LENGTH = 1000;

/** The initial state of a page, and how a state is read from a URL. */
export interface Codec<S> {
	start: S;
	read: (p: Params) => S;
}

/** Reads the parameters of a fragment. Texts are truncated to MAX_LENGTH; invalid values yield the default. */
export class Params {
	private p: URLSearchParams;

	constructor(hash: string) {
		this.p = new URLSearchParams(hash.replace(/^#/, ""));
	}

	text(key: string, otherwise = ""): string {
		return (this.p.get(key) ?? otherwise).slice(0, MAX_LENGTH);
	}

	flag(key: string): boolean {
		return this.p.get(key) === "1";
	}

	oneOf<T extends string>(key: string, all: readonly T[], otherwise: T): T {
		const v = this.p.get(key) as T;
		return all.includes(v) ? v : otherwise;
	}

	list(key: string, most: number): string[] {
		return this.p.getAll(key).slice(0, most).map((v) => v.slice(0, MAX_LENGTH));
	}
}

const MAX_HIDDEN = 50;

/** @views are the ids of all views, the default first. */
export function readState(p: Params, views: readonly string[]): State {
	return {
		view: p.oneOf("view", views, views[0]),
		zoom: p.text("zoom"),
		query: p.text("query"),
		regex: p.flag("regex"),
		inverted: p.flag("inverted"),
		flame: p.flag("flame"),
		colour: p.oneOf("colour", COLOUR_BY, START.colour),
		folded: p.flag("folded"),
		unwrapped: p.flag("unwrapped"),
		absolute: p.flag("absolute"),
		selected: p.text("selected"),
		focused: p.text("focused"),
		hidden: p.list("hidden", MAX_HIDDEN),
		busy: p.flag("busy"),
		sort: p.oneOf("sort", SORTS, START.sort),
		up: p.flag("up"),
		filter: p.text("filter"),
		sliceFrom: p.text("sliceFrom"),
		sliceTo: p.text("sliceTo"),
		thread: p.text("thread"),
	};
}

export function profileCodec(views: readonly string[]): Codec<State> {
	return { start: START, read: (p) => readState(p, views) };
}

/** Returns the fragment of a state: its differences from @start, or "" if there are none. */
export function toHash<S extends object>(s: S, start: S): string {
	const p = new URLSearchParams();
	for (const key of Object.keys(start) as (keyof S & string)[]) {
		const v: unknown = s[key];
		if (Array.isArray(v))
			v.forEach((x) => p.append(key, x));
		else if (v !== start[key])
			p.set(key, typeof v === "boolean" ? "1" : String(v));
	}
	const text = p.toString();
	return text === "" ? "" : "#" + text;
}

export function fromHash<S>(hash: string, codec: Codec<S>): S {
	return codec.read(new Params(hash));
}
