// SPDX-License-Identifier: Apache-2.0
//
// A list to choose from, narrowed by what is typed: arrows move, Enter takes.

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";

import { shown } from "../model/format";

export interface Choice {
	id: string;
	text: string;
	small?: string;
}

interface ChooseProps {
	label: string;
	placeholder: string;
	/** null: not known yet. */
	choices: Choice[] | null;
	current?: string;
	onChoose: (id: string) => void;
	/** What becomes of a text that is not in the list. */
	free?: { text: (typed: string) => string; run: (typed: string) => void };
	empty: string;
}

const MOST = 200;

export function Choose(p: ChooseProps) {
	const [typed, setTyped] = useState("");
	const [at, setAt] = useState(-1);
	const list = useRef<HTMLUListElement>(null);
	const input = useRef<HTMLInputElement>(null);
	const id = useId();
	const fitting = useMemo(() => {
		const wanted = typed.toLowerCase();
		return (p.choices ?? []).filter((c) => c.text.toLowerCase().includes(wanted));
	}, [p.choices, typed]);
	useEffect(() => input.current?.focus(), []);
	const rows = fitting.slice(0, MOST);
	const free = p.free && typed !== "" && !rows.some((c) => c.id === typed) ? p.free : undefined;
	const n = rows.length + (free ? 1 : 0);
	useEffect(() => {
		const now = rows.findIndex((c) => c.id === p.current);
		setAt(typed === "" ? now : 0);
	}, [typed, p.choices]);
	useEffect(() => {
		list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
	}, [at]);
	const take = (i: number) => {
		if (i >= 0 && i < rows.length)
			p.onChoose(rows[i].id);
		else if (free)
			free.run(typed);
	};
	const onKey = (e: KeyboardEvent) => {
		if (e.key === "ArrowDown")
			setAt(Math.min(n - 1, at + 1));
		else if (e.key === "ArrowUp")
			setAt(Math.max(0, at - 1));
		else if (e.key === "Enter")
			take(at < 0 ? 0 : at);
		else
			return;
		e.preventDefault();
	};
	return (
		<div class="choose">
			<input
				ref={input} type="text" role="combobox" aria-label={p.label} placeholder={p.placeholder}
				aria-expanded="true" aria-controls={id} aria-autocomplete="list" spellcheck={false} autocomplete="off"
				aria-activedescendant={at >= 0 && at < n ? `${id}-${at}` : undefined}
				value={typed} onInput={(e) => setTyped(e.currentTarget.value)} onKeyDown={onKey}
			/>
			<ul role="listbox" id={id} aria-label={p.label} ref={list}>
				{rows.map((c, i) => (
					<li key={c.id} id={`${id}-${i}`} role="option" aria-selected={i === at}
						onClick={() => take(i)}>
						<span>{shown(c.text, 120)}</span>{c.small && <small>{c.small}</small>}
					</li>
				))}
				{free && (
					<li id={`${id}-${rows.length}`} role="option" aria-selected={at === rows.length}
						onClick={() => take(rows.length)}>{free.text(typed)}</li>
				)}
			</ul>
			{fitting.length > MOST && <p class="note">{fitting.length - MOST} more: type to find them</p>}
			{n === 0 && <p class="note">{p.choices === null ? "Asking the server…" : p.empty}</p>}
		</div>
	);
}
