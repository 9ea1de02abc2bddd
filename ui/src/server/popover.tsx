// SPDX-License-Identifier: Apache-2.0
//
// A button that opens a panel below it. Escape, a click elsewhere and the panel's
// content close it.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface PopoverProps {
	label: string;
	class?: string;
	text: ComponentChildren;
	title?: string;
	children: (close: () => void) => ComponentChildren;
	onOpen?: () => void;
}

const MARGIN = 8;

export function Popover({ label, text, title, children, onOpen, class: kind = "" }: PopoverProps) {
	const [open, setOpen] = useState(false);
	const box = useRef<HTMLDivElement>(null);
	const panel = useRef<HTMLDivElement>(null);
	const button = useRef<HTMLButtonElement>(null);
	const close = () => {
		setOpen(false);
		button.current?.focus();
	};
	useEffect(() => {
		if (!open)
			return;
		const outside = (e: Event) => {
			if (!box.current?.contains(e.target as Node))
				setOpen(false);
		};
		addEventListener("pointerdown", outside);
		return () => removeEventListener("pointerdown", outside);
	}, [open]);
	useLayoutEffect(() => {
		const p = panel.current;
		if (!p)
			return;
		const at = box.current!.getBoundingClientRect();
		const left = Math.max(MARGIN, Math.min(at.left, innerWidth - p.offsetWidth - MARGIN));
		p.style.left = `${left - at.left}px`;
		p.style.maxHeight = `${Math.max(200, innerHeight - at.bottom - 2 * MARGIN)}px`;
		(p.querySelector("[data-first]") as HTMLElement | null)?.focus();
	}, [open]);
	return (
		<div class={`popover ${kind}`} ref={box} onKeyDown={(e) => {
			if (open && e.key === "Escape") {
				close();
				e.stopPropagation();
			}
		}}>
			<button ref={button} aria-expanded={open} aria-haspopup="dialog" aria-label={label} title={title}
				onClick={() => {
					if (!open)
						onOpen?.();
					setOpen(!open);
				}}>{text}<span class="arrow" aria-hidden="true">▾</span></button>
			{open && <div class="panel" role="dialog" aria-label={label} ref={panel}>{children(close)}</div>}
		</div>
	);
}
