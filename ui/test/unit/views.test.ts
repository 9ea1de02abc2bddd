// SPDX-License-Identifier: Apache-2.0
//
// A view is one entry of a table. These tests add a toy view to each table and
// check that the navigation, the URL state, the help and the routing know it;
// test/browser/server.test.ts does the same in Chromium.
import type { ComponentChildren, VNode } from "preact";
import { describe, expect, it } from "vitest";

import { fromHash, profileCodec, toHash } from "../../src/model/url";
import { Nav } from "../../src/server/app";
import { SERVER_START } from "../../src/server/state";
import { codecOf, VIEWS, type ServerView } from "../../src/server/views";
import { ViewSwitcher } from "../../src/view/controls";
import { helpEntries } from "../../src/view/help";
import { PROFILE_VIEWS, type ProfileViewEntry } from "../../src/view/profile_views";
import { idsOf, viewOf } from "../../src/view/view";

const Toy = () => null;
const SERVER_TOY: ServerView = { id: "toy", title: "Toy", help: "A view for tests", header: "none", component: Toy };
const PROFILE_TOY: ProfileViewEntry = { id: "toy", title: "Toy", help: "A view for tests", parts: [], component: Toy };
const serverViews = [...VIEWS, SERVER_TOY];
const profileViews = [...PROFILE_VIEWS, PROFILE_TOY];

/* The buttons in a tree of virtual nodes. */
function buttons(node: ComponentChildren): VNode<{ children: string; title: string; onClick: () => void }>[] {
	if (Array.isArray(node))
		return node.flatMap(buttons);
	if (node === null || typeof node !== "object")
		return [];
	const v = node as VNode<{ children: string; title: string; onClick: () => void }>;
	return v.type === "button" ? [v] : buttons(v.props.children);
}

describe("a view added to the server's table", () => {
	it("gets a button in the navigation that leads to it", () => {
		let page = "";
		const nav = Nav({ views: serverViews, state: SERVER_START, update: (change) => (page = change.page!) });
		const toy = buttons(nav).find((b) => b.props.children === "Toy")!;
		expect(toy.props.title).toBe("A view for tests");
		toy.props.onClick();
		expect(page).toBe("toy");
	});

	it("is reached by its URL", () => {
		const hash = toHash({ ...SERVER_START, page: "toy" }, SERVER_START);
		expect(fromHash(hash, codecOf(serverViews)).page).toBe("toy");
		expect(viewOf(serverViews, "toy").component).toBe(Toy);
		expect(fromHash(hash, codecOf(VIEWS)).page).toBe(VIEWS[0].id);
	});

	it("is listed in the help", () => {
		expect(helpEntries(serverViews, []).views).toContainEqual({ key: "Toy", text: "A view for tests" });
	});
});

describe("a view added to the profile's table", () => {
	it("gets a button in the view switcher", () => {
		let chosen = "";
		const switcher = ViewSwitcher({ views: profileViews, current: profileViews[0], onChoose: (id) => (chosen = id) });
		buttons(switcher).find((b) => b.props.children === "Toy")!.props.onClick();
		expect(chosen).toBe("toy");
	});

	it("is reached by its URL and listed in the help", () => {
		expect(fromHash("#view=toy", profileCodec(idsOf(profileViews))).view).toBe("toy");
		expect(viewOf(profileViews, "toy").component).toBe(Toy);
		expect(helpEntries(profileViews, []).views).toContainEqual({ key: "Toy", text: "A view for tests" });
	});
});

describe.each([["server", VIEWS], ["profile", PROFILE_VIEWS]] as const)("the table of the %s's views", (_, views) => {
	it("has unique ids and titles, and a help text for each view", () => {
		expect(new Set(idsOf(views)).size).toBe(views.length);
		expect(new Set(views.map((v) => v.title)).size).toBe(views.length);
		for (const v of views)
			expect(v.help).toMatch(/^[A-Z].{9,}[^.]$/);
	});
});
