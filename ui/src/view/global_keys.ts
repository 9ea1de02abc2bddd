// SPDX-License-Identifier: Apache-2.0
//
// Keys that work wherever the focus is.

import { useEffect, useRef } from "preact/hooks";

import type { State } from "../model/url";
import type { Update } from "./state";

/** '/' searches, n and N step, Escape undoes the search, then the zoom; nothing while @busy. */
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
