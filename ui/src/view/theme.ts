// SPDX-License-Identifier: Apache-2.0
//
// Reads the colours of the canvas from the style sheet, so that light and dark
// mode are defined in one place.

import { useEffect, useState } from "preact/hooks";

import type { Theme } from "./painter";

export function readTheme(): Theme {
	const style = getComputedStyle(document.documentElement);
	const get = (name: string) => style.getPropertyValue(name).trim();
	return {
		background: get("--bg"),
		dim: get("--bar-dim"),
		dimText: get("--bar-dim-text"),
		text: get("--bar-text"),
		root: get("--bar-root"),
		outline: get("--fg"),
		mark: get("--mark"),
		shade: Number(get("--bar-shade")) || 1,
	};
}

export function useTheme(): Theme {
	const [theme, setTheme] = useState(readTheme);
	useEffect(() => {
		const dark = matchMedia("(prefers-color-scheme: dark)");
		const change = () => setTheme(readTheme());
		dark.addEventListener("change", change);
		return () => dark.removeEventListener("change", change);
	}, []);
	return theme;
}
