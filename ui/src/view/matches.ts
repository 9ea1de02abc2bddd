// SPDX-License-Identifier: Apache-2.0
//
// Going from one place found to the next and back.

import { useEffect, useState } from "preact/hooks";

import type { Layout } from "../model/layout";
import type { Found } from "../model/search";
import type { Tree } from "../model/tree";
import type { Update } from "./state";

export interface Match {
	/** Index into the places found, -1 before the first step. */
	at: number;
	/** Counts the steps: the same place may be shown again. */
	turn: number;
}

/** Which place is shown, and how to go on; a place outside the zoom ends the zoom. */
export function useMatches(found: Found, tree: Tree, layout: Layout, zoom: number,
	update: Update): [Match, (by: 1 | -1) => void] {
	const [match, setMatch] = useState<Match>({ at: -1, turn: 0 });
	useEffect(() => setMatch({ at: -1, turn: 0 }), [found]);
	const step = (by: 1 | -1) => {
		const n = found.nodes.length;
		if (n === 0)
			return;
		const at = match.at < 0 && by < 0 ? n - 1 : (match.at + by + n) % n;
		const start = layout.start[found.nodes[at]];
		setMatch({ at, turn: match.turn + 1 });
		if (start < layout.start[zoom] || start >= layout.start[zoom] + tree.total[zoom])
			update({ zoom: "" });
	};
	return [match, step];
}
