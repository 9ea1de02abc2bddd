// SPDX-License-Identifier: Apache-2.0
//
// What is on the screen, as the part of the URL behind '#'. Whatever a URL
// says that is not understood is left out: an old link still opens the page.

import { COLOUR_BY, type ColourBy } from "./colour";
import { SORTS, type Sort } from "./table";

export const VIEWS = ["graph", "both", "table", "sandwich", "heat", "chart"] as const;
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
	/** Chains of wrappers folded. */
	unwrapped: boolean;
	/** A diff of values as they are, not of shares. */
	absolute: boolean;
	/** Keys of functions. */
	selected: string;
	focused: string;
	hidden: string[];
	/** Waits of threads that have nothing to do are left out. */
	busy: boolean;
	sort: Sort;
	up: boolean;
	filter: string;
	/** What is chosen in the heat map, milliseconds since 1970. */
	sliceFrom: string;
	sliceTo: string;
	/** Of the flame chart. */
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

const LONGEST = 1000;

/** The state that a page starts with, and how it is read from a URL. */
export interface Codec<S> {
	start: S;
	read: (p: Params) => S;
}

/** Reads a hash; whatever is too long or not one of the words allowed is not there. */
export class Params {
	private p: URLSearchParams;

	constructor(hash: string) {
		this.p = new URLSearchParams(hash.replace(/^#/, ""));
	}

	text(key: string, otherwise = ""): string {
		return (this.p.get(key) ?? otherwise).slice(0, LONGEST);
	}

	flag(key: string): boolean {
		return this.p.get(key) === "1";
	}

	oneOf<T extends string>(key: string, all: readonly T[], otherwise: T): T {
		const v = this.p.get(key) as T;
		return all.includes(v) ? v : otherwise;
	}

	list(key: string, most: number): string[] {
		return this.p.getAll(key).slice(0, most).map((v) => v.slice(0, LONGEST));
	}
}

const MOST_HIDDEN = 50;

export function readState(p: Params): State {
	return {
		view: p.oneOf("view", VIEWS, START.view),
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
		hidden: p.list("hidden", MOST_HIDDEN),
		busy: p.flag("busy"),
		sort: p.oneOf("sort", SORTS, START.sort),
		up: p.flag("up"),
		filter: p.text("filter"),
		sliceFrom: p.text("sliceFrom"),
		sliceTo: p.text("sliceTo"),
		thread: p.text("thread"),
	};
}

export const SINGLE: Codec<State> = { start: START, read: readState };

/** "" for the state a page starts with. */
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
