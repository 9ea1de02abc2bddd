// SPDX-License-Identifier: Apache-2.0
//
// What stands where there is nothing to show, and what to do about it.

import type { ComponentChildren } from "preact";

import { ApiError, Unreachable } from "./api";

export function Message({ title, children }: { title: string; children?: ComponentChildren }) {
	return (
		<main class="message">
			<h2>{title}</h2>
			{children}
		</main>
	);
}

export function Waiting() {
	return <main class="waiting" aria-busy="true"><p role="status">Asking the server…</p></main>;
}

const ADVICE: Record<string, string> = {
	resource_exhausted: "The server is short of memory for this: choose a shorter range or fewer series, or try again in a moment.",
	deadline_exceeded: "This took too long: choose a shorter range or fewer series.",
	invalid_argument: "Remove a filter, or choose another range.",
	unimplemented: "This server does not know the question: it may be older than this page. Load the page again.",
};

export function Failed({ error, what }: { error: Error; what: string }) {
	if (error instanceof Unreachable)
		return <Waiting />;
	const advice = error instanceof ApiError && Object.hasOwn(ADVICE, error.code) ? ADVICE[error.code]
		: "Load the page again; if it stays so, the server's log says more.";
	return (
		<Message title={`${what} cannot be shown`}>
			<p>{error.message}</p>
			<p>{advice}</p>
		</Message>
	);
}
