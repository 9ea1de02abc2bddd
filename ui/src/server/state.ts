// SPDX-License-Identifier: Apache-2.0
//
// What a server's page shows, beside what is shown of one profile.

import { readState, START, type Codec, type Params, type State } from "../model/url";

export const PAGES = ["flame", "compare", "groups", "heat", "threads", "agents", "binaries", "storage"] as const;
export type PageName = (typeof PAGES)[number];

export const BASES = ["before", "day", "week", "same", "custom"] as const;
/** What is compared with: the time just before, yesterday, last week, the very same, or as chosen. */
export type Base = (typeof BASES)[number];

export interface ServerState extends State {
	page: PageName;
	from: string;
	to: string;
	/** "" for the best there is. */
	type: string;
	/** "" for all. */
	service: string;
	/** "name=value" and the like. */
	where: string[];
	/** The label by which the time line is stacked. */
	by: string;
	/** The label whose values are the first row of the flame graph; "" for none. */
	split: string;
	/** The label by which the small graphs are grouped. */
	group: string;
	base: Base;
	baseFrom: string;
	baseTo: string;
	/** Whether the base has a service and filters of its own: these. */
	baseOwn: boolean;
	baseService: string;
	baseWhere: string[];
	/** The column by which a table of the server is sorted, with '-' for falling. */
	order: string;
	agentOrder: string;
	/** Places whose cut children were asked for. */
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

const MOST_FILTERS = 30;
const MOST_OPENED = 20;

function read(p: Params): ServerState {
	const text = (key: keyof ServerState) => p.text(key, SERVER_START[key] as string);
	return {
		...readState(p),
		page: p.oneOf("page", PAGES, SERVER_START.page),
		from: text("from"),
		to: text("to"),
		type: text("type"),
		service: text("service"),
		where: p.list("where", MOST_FILTERS),
		by: text("by"),
		split: text("split"),
		group: text("group"),
		base: p.oneOf("base", BASES, SERVER_START.base),
		baseFrom: text("baseFrom"),
		baseTo: text("baseTo"),
		baseOwn: p.flag("baseOwn"),
		baseService: text("baseService"),
		baseWhere: p.list("baseWhere", MOST_FILTERS),
		order: text("order"),
		agentOrder: text("agentOrder"),
		opened: p.list("opened", MOST_OPENED),
	};
}

export const SERVER: Codec<ServerState> = { start: SERVER_START, read };
