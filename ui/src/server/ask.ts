// SPDX-License-Identifier: Apache-2.0
//
// Asking the server from a component: what was answered last stays on the
// screen until there is something newer, and a server that is away is asked
// again until it is back.

import { useEffect, useRef, useState } from "preact/hooks";

import { Unreachable } from "./api";

export interface Answer<T> {
	/** The last one, which may be to an older question. */
	data: T | null;
	/** Whether @data is to the question as it is now. */
	fresh: boolean;
	asking: boolean;
	error: Error | null;
}

const NOTHING = { data: null, fresh: false, asking: true, error: null };
const RETRY_MS = 2000;
const LONGEST_RETRY_MS = 15_000;

/* Who waits for a server that is away: the page says so while there is anybody. */
const waiting = new Set<object>();
const listeners = new Set<() => void>();

function setWaiting(who: object, on: boolean): void {
	const before = waiting.size;
	if (on)
		waiting.add(who);
	else
		waiting.delete(who);
	if ((before === 0) !== (waiting.size === 0))
		listeners.forEach((l) => l());
}

/** Whether the server is away. */
export function useAway(): boolean {
	const [away, setAway] = useState(waiting.size > 0);
	useEffect(() => {
		const listen = () => setAway(waiting.size > 0);
		listeners.add(listen);
		listen();
		return () => {
			listeners.delete(listen);
		};
	}, []);
	return away;
}

/* Whether anything is being asked is an attribute of the document. */
let open = 0;

function counted<T>(answer: Promise<T>): Promise<T> {
	const count = (by: number) => document.documentElement.toggleAttribute("data-asking", (open += by) > 0);
	count(1);
	return answer.finally(() => count(-1));
}

/**
 * Asks whenever @question changes; null asks nothing. @keep: whether an older
 * answer may stand meanwhile, which it may not where it would be taken for
 * something else.
 */
export function useAsk<T>(question: string | null, ask: (signal: AbortSignal) => Promise<T>,
	keep: (now: string, before: string) => boolean = () => true): Answer<T> {
	const [answer, setAnswer] = useState<Answer<T> & { to: string }>({ ...NOTHING, to: "" });
	const latest = useRef(ask);
	latest.current = ask;
	useEffect(() => {
		if (question === null) {
			setAnswer({ ...NOTHING, asking: false, to: "" });
			return;
		}
		const me = {};
		const stop = new AbortController();
		let timer: ReturnType<typeof setTimeout> | undefined;
		const run = (delay: number) => {
			counted(latest.current(stop.signal)).then((data) => {
				setWaiting(me, false);
				if (!stop.signal.aborted)
					setAnswer({ data, fresh: true, asking: false, error: null, to: question });
			}, (error: Error) => {
				if (stop.signal.aborted)
					return;
				const away = error instanceof Unreachable;
				setWaiting(me, away);
				setAnswer((a) => ({ ...a, data: away ? a.data : null, asking: false, error }));
				if (away)
					timer = setTimeout(() => run(Math.min(LONGEST_RETRY_MS, delay * 1.5)), delay);
			});
		};
		setAnswer((a) => ({
			...a, data: keep(question, a.to) ? a.data : null, fresh: false, asking: true, error: null,
		}));
		run(RETRY_MS);
		return () => {
			stop.abort();
			clearTimeout(timer);
			setWaiting(me, false);
		};
	}, [question]);
	return answer;
}
