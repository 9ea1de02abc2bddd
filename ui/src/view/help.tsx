// SPDX-License-Identifier: Apache-2.0
//
// What the keys do, on '?'.

import { useEffect, useRef, useState } from "preact/hooks";

const KEYS: [string, string][] = [
	["/", "search"], ["n  N", "next, previous match"], ["Esc", "end the search, then the zoom"],
	["← ↑ → ↓", "move in the graph or the table"], ["Enter", "zoom; in the table: the sandwich"],
	["m", "menu of the bar"], ["Home", "to the root"], ["[  ]", "earlier, later (on a server)"], ["?", "this list"],
];

export function Help() {
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
	return (
		<dialog class="help" ref={dialog} aria-label="Keys" onClose={() => setOpen(false)}
			onKeyDown={(e) => e.stopPropagation()}>
			<h2>Keys</h2>
			<dl>{KEYS.map(([key, text]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{text}</dd></div>)}</dl>
			<button onClick={() => dialog.current?.close()}>Close</button>
		</dialog>
	);
}
