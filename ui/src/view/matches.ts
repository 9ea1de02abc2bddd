// SPDX-License-Identifier: Apache-2.0
//
// Steps through the matches of a search.

import { useEffect, useState } from "preact/hooks";

import type { Layout } from "../model/layout";
import type { SearchResult } from "../model/search";
import type { Tree } from "../model/tree";
import type { Update } from "./url_state";

export interface Match {
	/** The index of the current match; -1 before the first step. */
	index: number;
	/** Counts the steps, so that the same match can be shown again. */
	sequence: number;
}

/** Returns the current match and a function to step. A match outside the zoomed node resets the zoom. */
export function useMatches(found: SearchResult, tree: Tree, layout: Layout, zoom: number,
	update: Update): [Match, (by: 1 | -1) => void] {
	const [match, setMatch] = useState<Match>({ index: -1, sequence: 0 });
	useEffect(() => setMatch({ index: -1, sequence: 0 }), [found]);
	const step = (by: 1 | -1) => {
		const n = found.nodes.length;
		if (n === 0)
			return;
		const at = match.index < 0 && by < 0 ? n - 1 : (match.index + by + n) % n;
		const start = layout.start[found.nodes[at]];
		setMatch({ index: at, sequence: match.sequence + 1 });
		if (start < layout.start[zoom] || start >= layout.start[zoom] + tree.total[zoom])
			update({ zoom: "" });
	};
	return [match, step];
}
