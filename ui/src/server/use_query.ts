// SPDX-License-Identifier: Apache-2.0
//
// Queries the server from a component. The last result stays on the screen until
// a newer one arrives, and a query is retried while the server is unreachable.

import { useEffect, useRef, useState } from "preact/hooks";

import { ServerUnreachable } from "./api";

export interface QueryResult<T> {
	/** The last result, which may belong to an older query. */
	data: T | null;
	/** True if @data belongs to the current query. */
	fresh: boolean;
	loading: boolean;
	error: Error | null;
}

const NO_RESULT = { data: null, fresh: false, loading: true, error: null };
const RETRY_MS = 2000;
const MAX_RETRY_MS = 15_000;

/* The callers that wait for an unreachable server. The page shows a message while there are any. */
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

/** Returns whether the server is unreachable. */
export function useDisconnected(): boolean {
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

/* The number of pending requests. The attribute data-loading of the document says if there are any. */
let open = 0;

function trackLoading<T>(request: Promise<T>): Promise<T> {
	const count = (by: number) => document.documentElement.toggleAttribute("data-loading", (open += by) > 0);
	count(1);
	return request.finally(() => count(-1));
}

/**
 * Runs @request whenever @key changes, which must identify its result; a null key runs
 * nothing. @keepPrevious decides whether the previous result stays visible meanwhile. It must
 * not where it could be mistaken for the new one.
 */
export function useQuery<T>(key: string | null, request: (signal: AbortSignal) => Promise<T>,
	keepPrevious: (now: string, before: string) => boolean = () => true): QueryResult<T> {
	const [result, setResult] = useState<QueryResult<T> & { to: string }>({ ...NO_RESULT, to: "" });
	const latest = useRef(request);
	latest.current = request;
	useEffect(() => {
		if (key === null) {
			setResult({ ...NO_RESULT, loading: false, to: "" });
			return;
		}
		const caller = {};
		const stop = new AbortController();
		let timer: ReturnType<typeof setTimeout> | undefined;
		const run = (delay: number) => {
			trackLoading(latest.current(stop.signal)).then((data) => {
				setWaiting(caller, false);
				if (!stop.signal.aborted)
					setResult({ data, fresh: true, loading: false, error: null, to: key });
			}, (error: Error) => {
				if (stop.signal.aborted)
					return;
				const away = error instanceof ServerUnreachable;
				setWaiting(caller, away);
				setResult((a) => ({ ...a, data: away ? a.data : null, loading: false, error }));
				if (away)
					timer = setTimeout(() => run(Math.min(MAX_RETRY_MS, delay * 1.5)), delay);
			});
		};
		setResult((a) => ({
			...a, data: keepPrevious(key, a.to) ? a.data : null, fresh: false, loading: true, error: null,
		}));
		run(RETRY_MS);
		return () => {
			stop.abort();
			clearTimeout(timer);
			setWaiting(caller, false);
		};
	}, [key]);
	return result;
}
