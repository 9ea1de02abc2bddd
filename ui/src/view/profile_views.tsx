// SPDX-License-Identifier: Apache-2.0
//
// The table of the views of a profile.

import type { ComponentChildren } from "preact";

import { profileCodec } from "../model/url";
import { ProfileChart } from "./profile_chart";
import { idsOf, type OwnViewProps, type View } from "./view";

/** The parts of which most views consist, in the order in which they are shown. */
export type Part = "heat" | "table" | "graph" | "sandwich";

export interface ProfileViewEntry extends View {
	/** The view needs the timestamps of samples and is not offered without them. */
	timed?: boolean;
	parts: readonly Part[];
	/** A view that does not consist of parts. Its zoom has keys of its own, so changing the view resets it. */
	component?: (props: OwnViewProps) => ComponentChildren;
}

export const PROFILE_VIEWS: readonly ProfileViewEntry[] = [
	{ id: "graph", title: "Flame graph", help: "Call stacks; the width is the total", parts: ["graph"] },
	{ id: "both", title: "Both", help: "Function table and flame graph", parts: ["table", "graph"] },
	{ id: "table", title: "Table", help: "Self and total values of functions", parts: ["table"] },
	{ id: "sandwich", title: "Sandwich", help: "Callers and callees of a function", parts: ["table", "sandwich"] },
	{ id: "heat", title: "Heat map", help: "Usage within each second", parts: ["heat", "graph"], timed: true },
	{ id: "chart", title: "Flame chart", help: "Calls of a thread over time", parts: [], timed: true, component: ProfileChart },
];

export const PROFILE_CODEC = profileCodec(idsOf(PROFILE_VIEWS));
