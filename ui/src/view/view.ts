// SPDX-License-Identifier: Apache-2.0
//
// The interface of all views. A page has one table of its views, from which
// its navigation, URL state, help and tests are derived: adding a view means
// adding one entry to the table (profile_views.tsx, server/views.tsx).

import type { ComponentChildren } from "preact";

import type { Profile } from "../model/profile";
import type { State } from "../model/url";
import type { Update } from "./url_state";

export interface View {
	/** The value in the URL. */
	id: string;
	title: string;
	/** A description of the view, for the help and the tooltip of its button. */
	help: string;
}

/** Returns the view with @id, or else the first one. */
export function viewOf<V extends View>(views: readonly V[], id: string): V {
	return views.find((v) => v.id === id) ?? views[0];
}

export function idsOf(views: readonly View[]): string[] {
	return views.map((v) => v.id);
}

/** The properties of a profile's view that does not consist of the usual parts. */
export interface OwnViewProps {
	profile: Profile;
	state: State;
	update: Update;
	/** The view switcher, which the view shows among its controls. */
	switcher: ComponentChildren;
}
