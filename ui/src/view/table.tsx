// SPDX-License-Identifier: Apache-2.0
//
// The table of functions. The document contains the visible rows only.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { css, kindColour, kindOf } from "../model/colour";
import { baseName, displayName, formatPercent, formatValue, type Scale } from "../model/format";
import { tableRows, type Sort, type Usage } from "../model/table";
import type { Functions } from "../model/tree";

const ROW = 26;
const EXTRA = 8;

interface TableProps {
	functions: Functions;
	usage: Usage;
	all: number;
	scale: Scale;
	sort: Sort;
	up: boolean;
	filter: string;
	selected: number;
	matched: Uint8Array;
	/** The profile is one of off-CPU time. */
	cold: boolean;
	onSort: (sort: Sort) => void;
	onFilter: (text: string) => void;
	onSelect: (fn: number) => void;
	onOpen: (fn: number) => void;
}

function Head({ p, id, text }: { p: TableProps; id: Sort; text: string }) {
	const order = p.sort !== id ? "none" : p.up ? "ascending" : "descending";
	return (
		<th scope="col" class={id} aria-sort={order}>
			<button onClick={() => p.onSort(id)}>
				{text}<span aria-hidden="true">{order === "none" ? "" : p.up ? " ▲" : " ▼"}</span>
			</button>
		</th>
	);
}

function Row({ p, fn, index }: { p: TableProps; fn: number; index: number }) {
	const f = p.functions;
	const kind = kindOf(f.kind[fn]);
	const place = f.binary[fn] || f.file[fn];
	const cell = (v: number) => (
		<td class="number" title={formatValue(v, p.scale)}>
			<span>{formatValue(v, p.scale)}</span> <small>{formatPercent(v, p.all)}</small>
		</td>
	);
	const found = p.matched.length > 0 && p.matched[fn] === 1;
	return (
		<tr
			aria-rowindex={index + 2} aria-selected={fn === p.selected} class={found ? "found" : ""}
			onClick={() => p.onSelect(fn)} onDblClick={() => p.onOpen(fn)}
		>
			{cell(p.usage.self[fn])}
			{cell(p.usage.total[fn])}
			<td class="function">
				<span class="dot" style={{ background: css(kindColour(f.kind[fn], p.cold)) }} title={kind.label} />
				<span class="name" title={displayName(f.name[fn], 300)}>{displayName(f.name[fn], 300)}</span>
				{place !== "" && <small title={displayName(place, 200)}>{displayName(baseName(place), 60)}</small>}
			</td>
		</tr>
	);
}

export function Table(p: TableProps) {
	const box = useRef<HTMLDivElement>(null);
	const [top, setTop] = useState(0);
	const [height, setHeight] = useState(600);
	const rows = useMemo(() => tableRows(p.functions, p.usage, p.sort, p.up, p.filter),
		[p.functions, p.usage, p.sort, p.up, p.filter]);
	useEffect(() => {
		const watch = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 600));
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, []);
	const show = (index: number) => {
		const b = box.current!;
		const room = b.clientHeight - ROW;
		if (index * ROW < b.scrollTop)
			b.scrollTop = index * ROW;
		else if ((index + 1) * ROW > b.scrollTop + room)
			b.scrollTop = (index + 1) * ROW - room;
	};
	useLayoutEffect(() => {
		const i = rows.indexOf(p.selected);
		if (i >= 0)
			show(i);
	}, [p.selected, rows]);
	const onKey = (e: KeyboardEvent) => {
		const i = rows.indexOf(p.selected);
		const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: rows.length - 1,
			PageDown: i + 15, PageUp: i - 15 }[e.key];
		if (to !== undefined && rows.length > 0)
			p.onSelect(rows[Math.max(0, Math.min(rows.length - 1, to))]);
		else if (e.key === "Enter" && i >= 0 && e.target === box.current)
			p.onOpen(p.selected);
		else
			return;
		e.preventDefault();
	};
	const first = Math.max(0, Math.floor(top / ROW) - EXTRA);
	const last = Math.min(rows.length, Math.ceil((top + height) / ROW) + EXTRA);
	return (
		<section class="table" aria-label="Functions">
			<input
				type="search" placeholder="Filter by function, file or binary" aria-label="Filter functions"
				value={p.filter} onInput={(e) => p.onFilter(e.currentTarget.value)}
			/>
			<div
				class="scroll" ref={box} tabIndex={0} role="group"
				aria-label="Functions. Use the arrow keys to select, Enter to open the sandwich view."
				onScroll={(e) => setTop(e.currentTarget.scrollTop)} onKeyDown={onKey}
			>
				<table aria-rowcount={rows.length + 1} role="grid" aria-label="Functions">
					<thead>
						<tr aria-rowindex={1}>
							<Head p={p} id="self" text="Self" />
							<Head p={p} id="total" text="Total" />
							<Head p={p} id="name" text="Function" />
						</tr>
					</thead>
					<tbody>
						{first > 0 && <tr aria-hidden="true" style={{ height: `${first * ROW}px` }} />}
						{rows.slice(first, last).map((fn, i) =>
							<Row key={fn} p={p} fn={fn} index={first + i} />)}
						{last < rows.length &&
							<tr aria-hidden="true" style={{ height: `${(rows.length - last) * ROW}px` }} />}
					</tbody>
				</table>
				{rows.length === 0 && <p class="empty">No functions match “{displayName(p.filter, 60)}”.</p>}
			</div>
		</section>
	);
}
