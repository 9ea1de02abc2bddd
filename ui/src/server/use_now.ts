// SPDX-License-Identifier: Apache-2.0
//
// The current time for live pages. It advances in steps, and only while the page
// is visible.

import { useEffect, useState } from "preact/hooks";

const TICK_MS = 10_000;

export function useNow(live: boolean): number {
	const [now, setNow] = useState(() => Date.now());
	useEffect(() => {
		const tick = () => {
			if (!document.hidden)
				setNow(Date.now());
		};
		document.addEventListener("visibilitychange", tick);
		const timer = live ? setInterval(tick, TICK_MS) : undefined;
		tick();
		return () => {
			clearInterval(timer);
			document.removeEventListener("visibilitychange", tick);
		};
	}, [live]);
	return now;
}
