// SPDX-License-Identifier: Apache-2.0
//
// The context menu of a bar. Escape, a click elsewhere and every action close
// it.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface Item {
	text: string;
	run: () => void;
}

interface MenuProps {
	title: string;
	x: number;
	y: number;
	items: Item[];
	onClose: () => void;
}

export function Menu({ title, x, y, items, onClose }: MenuProps) {
	const box = useRef<HTMLDivElement>(null);
	useLayoutEffect(() => {
		const b = box.current!;
		const before = document.activeElement;
		b.style.left = `${Math.max(4, Math.min(x, innerWidth - b.offsetWidth - 4))}px`;
		b.style.top = `${Math.max(4, Math.min(y, innerHeight - b.offsetHeight - 4))}px`;
		b.querySelector("button")?.focus();
		return () => (before as HTMLElement | null)?.focus?.();
	}, [x, y]);
	useEffect(() => {
		const outside = (e: Event) => {
			if (!box.current?.contains(e.target as Node))
				onClose();
		};
		addEventListener("pointerdown", outside);
		return () => removeEventListener("pointerdown", outside);
	}, [onClose]);
	const onKey = (e: KeyboardEvent) => {
		const all = [...box.current!.querySelectorAll("button")];
		const at = all.indexOf(document.activeElement as HTMLButtonElement);
		const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[e.key];
		if (to !== undefined)
			all[(to + all.length) % all.length].focus();
		else if (e.key === "Escape" || e.key === "Tab")
			onClose();
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	};
	return (
		<div class="menu" role="menu" aria-label={title} ref={box} onKeyDown={onKey}>
			<div class="title" aria-hidden="true">{title}</div>
			{items.map((i) => (
				<button key={i.text} role="menuitem" tabIndex={-1}
					onClick={() => { onClose(); i.run(); }}>{i.text}</button>
			))}
		</div>
	);
}
