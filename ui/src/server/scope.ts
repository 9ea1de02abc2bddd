// SPDX-License-Identifier: Apache-2.0
//
// What a page of the server is given: which profiles are meant, and how to
// change what is shown.

import type { Range } from "../model/range";
import type { UpdateOf } from "../view/state";
import type { Query } from "./api";
import type { ServerState } from "./state";

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

/** What a question depends on, as text. */
export function questionOf(q: Query, ...more: (string | number)[]): string {
	return [q.profileTypeID, q.labelSelector, q.start, q.end, ...more].join(" ");
}
