// SPDX-License-Identifier: Apache-2.0
//
// A list of options that is filtered by the typed text. The arrow keys move,
// Enter chooses.

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";

import { displayName } from "../model/format";
import { LOADING } from "./messages";

export interface ComboboxOption {
	id: string;
	text: string;
	small?: string;
}

interface ComboboxProps {
	label: string;
	placeholder: string;
	/** Null while the options are being loaded. */
	choices: ComboboxOption[] | null;
	current?: string;
	onChoose: (id: string) => void;
	/** An additional option that accepts any typed text. */
	free?: { text: (typed: string) => string; run: (typed: string) => void };
	empty: string;
}

const MAX_OPTIONS = 200;

export function Combobox(p: ComboboxProps) {
	const [typed, setTyped] = useState("");
	const [active, setActive] = useState(-1);
	const list = useRef<HTMLUListElement>(null);
	const input = useRef<HTMLInputElement>(null);
	const id = useId();
	const matching = useMemo(() => {
		const needle = typed.toLowerCase();
		return (p.choices ?? []).filter((c) => c.text.toLowerCase().includes(needle));
	}, [p.choices, typed]);
	useEffect(() => input.current?.focus(), []);
	const rows = matching.slice(0, MAX_OPTIONS);
	const free = p.free && typed !== "" && !rows.some((c) => c.id === typed) ? p.free : undefined;
	const n = rows.length + (free ? 1 : 0);
	useEffect(() => {
		const now = rows.findIndex((c) => c.id === p.current);
		setActive(typed === "" ? now : 0);
	}, [typed, p.choices]);
	useEffect(() => {
		list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
	}, [active]);
	const choose = (i: number) => {
		if (i >= 0 && i < rows.length)
			p.onChoose(rows[i].id);
		else if (free)
			free.run(typed);
	};
	const onKey = (e: KeyboardEvent) => {
		if (e.key === "ArrowDown")
			setActive(Math.min(n - 1, active + 1));
		else if (e.key === "ArrowUp")
			setActive(Math.max(0, active - 1));
		else if (e.key === "Enter")
			choose(active < 0 ? 0 : active);
		else
			return;
		e.preventDefault();
	};
	return (
		<div class="combobox">
			<input
				ref={input} type="text" role="combobox" aria-label={p.label} placeholder={p.placeholder}
				aria-expanded="true" aria-controls={id} aria-autocomplete="list" spellcheck={false} autocomplete="off"
				aria-activedescendant={active >= 0 && active < n ? `${id}-${active}` : undefined}
				value={typed} onInput={(e) => setTyped(e.currentTarget.value)} onKeyDown={onKey}
			/>
			<ul role="listbox" id={id} aria-label={p.label} ref={list}>
				{rows.map((c, i) => (
					<li key={c.id} id={`${id}-${i}`} role="option" aria-selected={i === active}
						onClick={() => choose(i)}>
						<span>{displayName(c.text, 120)}</span>{c.small && <small>{c.small}</small>}
					</li>
				))}
				{free && (
					<li id={`${id}-${rows.length}`} role="option" aria-selected={active === rows.length}
						onClick={() => choose(rows.length)}>{free.text(typed)}</li>
				)}
			</ul>
			{matching.length > MAX_OPTIONS && <p class="note">{matching.length - MAX_OPTIONS} more. Type to filter the list.</p>}
			{n === 0 && <p class="note">{p.choices === null ? LOADING : p.empty}</p>}
		</div>
	);
}
