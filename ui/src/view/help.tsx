// SPDX-License-Identifier: Apache-2.0
//
// The help that '?' opens: the views of the page and its keyboard shortcuts.

import { useEffect, useRef, useState } from "preact/hooks";

import type { View } from "./view";

export interface HelpEntry {
	key: string;
	text: string;
}

const KEYS: [string, string][] = [
	["/", "Search functions"], ["n  N", "Next, previous match"], ["Esc", "Clear the search, then the zoom"],
	["← ↑ → ↓", "Move in the graph or table"], ["Enter", "Zoom in; in the table: sandwich view"],
	["m", "Open the menu of a bar"], ["Home", "Go to the root"], ["?", "Show this help"],
];

/** The entries of the help: the shortcuts, with those that only this page has, and the views. */
export function helpEntries(views: readonly View[], keys: [string, string][]): { keys: HelpEntry[]; views: HelpEntry[] } {
	return {
		keys: [...KEYS, ...keys].map(([key, text]) => ({ key, text })),
		views: views.map((v) => ({ key: v.title, text: v.help })),
	};
}

export function Help({ views, keys = [] }: { views: readonly View[]; keys?: [string, string][] }) {
	const dialog = useRef<HTMLDialogElement>(null);
	const [open, setOpen] = useState(false);
	useEffect(() => {
		const onKey = (e: KeyboardEvent) => {
			if (e.key === "?" && !(e.target instanceof HTMLInputElement))
				setOpen(true);
		};
		addEventListener("keydown", onKey);
		return () => removeEventListener("keydown", onKey);
	}, []);
	useEffect(() => {
		if (open)
			dialog.current?.showModal();
	}, [open]);
	if (!open)
		return null;
	const entries = helpEntries(views, keys);
	return (
		<dialog class="help" ref={dialog} aria-label="Help" onClose={() => setOpen(false)}
			onKeyDown={(e) => e.stopPropagation()}>
			<h2>Keyboard shortcuts</h2>
			<dl>{entries.keys.map(({ key, text }) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{text}</dd></div>)}</dl>
			<h2>Views</h2>
			<dl>{entries.views.map(({ key, text }) => <div key={key}><dt>{key}</dt><dd>{text}</dd></div>)}</dl>
			<button onClick={() => dialog.current?.close()}>Close</button>
		</dialog>
	);
}
