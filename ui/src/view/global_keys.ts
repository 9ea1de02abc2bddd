// SPDX-License-Identifier: Apache-2.0
//
// Keyboard shortcuts that work wherever the focus is.

import { useEffect, useRef } from "preact/hooks";

import type { State } from "../model/url";
import type { Update } from "./url_state";

/**
 * '/' focuses the search, n and N go to the next and previous match, Escape clears the search
 * first and then the zoom. The shortcuts are disabled while @busy.
 */
export function useGlobalKeys(state: State, update: Update, stepMatch: (by: 1 | -1) => void,
	busy = false): void {
	const onKey = useRef<((e: KeyboardEvent) => void) | null>(null);
	onKey.current = (e) => {
		const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement;
		if (busy || e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (e.key === "Escape") {
			if (state.query !== "")
				update({ query: "" });
			else if (state.zoom !== "")
				update({ zoom: "" });
			if (typing)
				(e.target as HTMLElement).blur();
		} else if (e.key === "/" && !typing) {
			document.getElementById("search")?.focus();
			e.preventDefault();
		} else if ((e.key === "n" || e.key === "N") && !typing) {
			stepMatch(e.key === "n" ? 1 : -1);
		}
	};
	useEffect(() => {
		const listen = (e: KeyboardEvent) => onKey.current?.(e);
		addEventListener("keydown", listen);
		return () => removeEventListener("keydown", listen);
	}, []);
}
