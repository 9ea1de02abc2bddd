// SPDX-License-Identifier: Apache-2.0
//
// The table of the server's views.

import type { ComponentChildren } from "preact";

import { PROFILE_VIEWS } from "../view/profile_views";
import { idsOf, type View } from "../view/view";
import { AgentsPage } from "./agents_page";
import { ComparePage } from "./compare_page";
import { ExecutablesPage } from "./executables_page";
import { FlamePage, SplitPicker } from "./flame_page";
import { GroupsPage } from "./groups_page";
import { HeatPage } from "./heat_page";
import type { Scope } from "./scope";
import { serverCodec } from "./state";
import { StoragePage } from "./storage_page";
import { ThreadsPage } from "./threads_page";

type ScopeComponent = (props: { scope: Scope }) => ComponentChildren;

export interface ServerView extends View {
	component: ScopeComponent;
	/** The part above the view: the query bar with the timeline, the query bar alone, or nothing. */
	header: "timeline" | "query" | "none";
	/** A control of the view next to the timeline's legend. */
	control?: ScopeComponent;
}

export const VIEWS: readonly ServerView[] = [
	{ id: "flame", title: "Flame graph", help: "Call stacks of all matching profiles", header: "timeline", component: FlamePage, control: SplitPicker },
	{ id: "compare", title: "Compare", help: "Difference from a baseline", header: "query", component: ComparePage },
	{ id: "groups", title: "Groups", help: "A preview for each value of a label", header: "timeline", component: GroupsPage },
	{ id: "heat", title: "Heat map", help: "Usage within each second", header: "query", component: HeatPage },
	{ id: "threads", title: "Threads", help: "Calls of a thread over time", header: "timeline", component: ThreadsPage },
	{ id: "agents", title: "Agents", help: "Senders of profiles and their status", header: "timeline", component: AgentsPage },
	{ id: "binaries", title: "Executables", help: "Executables, libraries and their symbols", header: "timeline", component: ExecutablesPage },
	{ id: "storage", title: "Storage", help: "Stored data by day", header: "none", component: StoragePage },
];

export function codecOf(views: readonly View[]) {
	return serverCodec(idsOf(views), idsOf(PROFILE_VIEWS));
}
