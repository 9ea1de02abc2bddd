// SPDX-License-Identifier: Apache-2.0
//
// The state of the server's page, in addition to that of a profile's view.

import { readState, START, type Codec, type Params, type State } from "../model/url";

export const BASES = ["before", "day", "week", "same", "custom"] as const;
/** The baseline: the period before, a day earlier, a week earlier, the same range or a custom one. */
export type Base = (typeof BASES)[number];

export interface ServerState extends State {
	/** The id of the view, one of server/views.tsx; @view is that of the profile within it. */
	page: string;
	from: string;
	to: string;
	/** The profile type; "" for the default. */
	type: string;
	/** The service; "" for all. */
	service: string;
	/** The label filters, such as "name=value". */
	where: string[];
	/** The label by which the timeline is stacked. */
	by: string;
	/** The label whose values are the outermost frames of the flame graph; "" for none. */
	split: string;
	/** The label by which the groups and the agents are grouped. */
	group: string;
	base: Base;
	baseFrom: string;
	baseTo: string;
	/** True if the baseline has its own service and filters, which follow. */
	baseOwn: boolean;
	baseService: string;
	baseWhere: string[];
	/** The sorted column of the view's table, preceded by '-' for descending order. */
	order: string;
	agentOrder: string;
	/** The keys of the expanded nodes. */
	opened: string[];
}

export const SERVER_START: ServerState = {
	...START,
	page: "flame",
	from: "now-15m",
	to: "now",
	type: "",
	service: "",
	where: [],
	by: "service_name",
	split: "service_name",
	group: "service_name",
	base: "before",
	baseFrom: "",
	baseTo: "",
	baseOwn: false,
	baseService: "",
	baseWhere: [],
	order: "",
	agentOrder: "",
	opened: [],
};

const MAX_FILTERS = 30;
const MAX_EXPANDED = 20;

function read(p: Params, pages: readonly string[], views: readonly string[]): ServerState {
	const text = (key: keyof ServerState) => p.text(key, SERVER_START[key] as string);
	return {
		...readState(p, views),
		page: p.oneOf("page", pages, pages[0]),
		from: text("from"),
		to: text("to"),
		type: text("type"),
		service: text("service"),
		where: p.list("where", MAX_FILTERS),
		by: text("by"),
		split: text("split"),
		group: text("group"),
		base: p.oneOf("base", BASES, SERVER_START.base),
		baseFrom: text("baseFrom"),
		baseTo: text("baseTo"),
		baseOwn: p.flag("baseOwn"),
		baseService: text("baseService"),
		baseWhere: p.list("baseWhere", MAX_FILTERS),
		order: text("order"),
		agentOrder: text("agentOrder"),
		opened: p.list("opened", MAX_EXPANDED),
	};
}

/** @pages and @views are the ids of the views of the server and of a profile, the default first. */
export function serverCodec(pages: readonly string[], views: readonly string[]): Codec<ServerState> {
	return { start: SERVER_START, read: (p) => read(p, pages, views) };
}
