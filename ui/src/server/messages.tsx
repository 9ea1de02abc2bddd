// SPDX-License-Identifier: Apache-2.0
//
// The messages shown instead of data: loading, empty results and errors, with
// advice.

import type { ComponentChildren } from "preact";

import { ApiError, ServerUnreachable } from "./api";

export function Message({ title, children }: { title: string; children?: ComponentChildren }) {
	return (
		<main class="message">
			<h2>{title}</h2>
			{children}
		</main>
	);
}

export const LOADING = "Loading…";
export const LAST_HOUR = "Showing the last hour. Choose a shorter time range to see another part.";
export const NO_SAMPLES = "No samples in this time range";

export function NoSamples() {
	return <Message title={NO_SAMPLES}><p>Choose a longer time range or remove filters.</p></Message>;
}

export function Loading() {
	return <main class="waiting" aria-busy="true"><p role="status">{LOADING}</p></main>;
}

const ADVICE: Record<string, string> = {
	resource_exhausted: "A limit of the server was reached. Choose a shorter time range or fewer series, or retry later.",
	deadline_exceeded: "The query took too long. Choose a shorter time range or fewer series.",
	invalid_argument: "Remove a filter or choose another time range.",
	unimplemented: "The server does not support this query. It may have been updated: reload the page.",
};

/** Says that @what ("the flame graph") could not be loaded, and why. */
export function Failed({ error, what }: { error: Error; what: string }) {
	if (error instanceof ServerUnreachable)
		return <Loading />;
	const advice = error instanceof ApiError && Object.hasOwn(ADVICE, error.code) ? ADVICE[error.code]
		: "Reload the page. If the error persists, see the server's log.";
	return (
		<Message title={`Cannot load ${what}`}>
			<p>{error.message}</p>
			<p>{advice}</p>
		</Message>
	);
}
