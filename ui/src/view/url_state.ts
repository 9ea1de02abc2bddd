// SPDX-License-Identifier: Apache-2.0
//
// Keeps the state of the page in the URL's fragment. A change by a click adds
// an entry to the history, so that Back undoes it; a change by typing replaces
// the current entry.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { fromHash, toHash, type Codec, type State } from "../model/url";

export type UpdateOf<S> = (change: Partial<S>, how?: "push" | "replace") => void;
export type Update = UpdateOf<State>;

export function useUrlState<S extends object>(codec: Codec<S>): [S, UpdateOf<S>] {
	const [state, setState] = useState(() => fromHash(location.hash, codec));
	const now = useRef(state);
	now.current = state;
	useEffect(() => {
		const back = () => setState(fromHash(location.hash, codec));
		addEventListener("popstate", back);
		addEventListener("hashchange", back);
		return () => {
			removeEventListener("popstate", back);
			removeEventListener("hashchange", back);
		};
	}, []);
	const update = useCallback<UpdateOf<S>>((change, how = "push") => {
		const next = { ...now.current, ...change };
		const hash = toHash(next, codec.start);
		const url = hash || location.pathname + location.search;
		if (hash !== toHash(now.current, codec.start))
			history[how === "push" ? "pushState" : "replaceState"](null, "", url);
		now.current = next;
		setState(next);
	}, []);
	return [state, update];
}
