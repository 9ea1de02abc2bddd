// SPDX-License-Identifier: Apache-2.0
//
// The state of the page lives in the URL's hash: a change by a click is a new
// entry in the history (so Back undoes it), a change by typing replaces the
// one there is.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { fromHash, toHash, type State } from "../model/url";

export type Update = (change: Partial<State>, how?: "push" | "replace") => void;

export function useUrlState(): [State, Update] {
	const [state, setState] = useState(() => fromHash(location.hash));
	const now = useRef(state);
	now.current = state;
	useEffect(() => {
		const back = () => setState(fromHash(location.hash));
		addEventListener("popstate", back);
		addEventListener("hashchange", back);
		return () => {
			removeEventListener("popstate", back);
			removeEventListener("hashchange", back);
		};
	}, []);
	const update = useCallback<Update>((change, how = "push") => {
		const next = { ...now.current, ...change };
		const url = toHash(next) || location.pathname + location.search;
		if (toHash(next) !== toHash(now.current))
			history[how === "push" ? "pushState" : "replaceState"](null, "", url);
		now.current = next;
		setState(next);
	}, []);
	return [state, update];
}
