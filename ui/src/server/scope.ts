// SPDX-License-Identifier: Apache-2.0
//
// The context of a view of the server: the current query, the state of the page
// and how to change it.

import type { Range } from "../model/range";
import type { UpdateOf } from "../view/url_state";
import type { Query } from "./api";
import type { ServerState } from "./state";

/** All derived from the URL and the clock. */
export interface Scope {
	state: ServerState;
	update: UpdateOf<ServerState>;
	now: number;
	live: boolean;
	range: Range;
	type: string;
	selector: string;
	query: Query;
}

/** Returns a key of a query's result for useQuery(). @more are its further parameters. */
export function queryKey(q: Query, ...more: (string | number)[]): string {
	return [q.profileTypeID, q.labelSelector, q.start, q.end, ...more].join(" ");
}
