// SPDX-License-Identifier: Apache-2.0
//
// A table of what a server tells, sorted by any column.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

export interface Column<R> {
	id: string;
	text: string;
	/** By which it is sorted. */
	value: (row: R) => number | string;
	cell: (row: R) => ComponentChildren;
	/** Numbers stand right and are sorted falling first. */
	number?: boolean;
	wide?: boolean;
}

interface DataTableProps<R> {
	label: string;
	columns: Column<R>[];
	rows: R[];
	keyOf: (row: R) => string;
	/** Column and direction; "" for @usual, or the first column. */
	order: string;
	usual?: string;
	onOrder: (order: string) => void;
	onOpen?: (row: R) => void;
	openText?: string;
}

function compare(a: number | string, b: number | string): number {
	return a < b ? -1 : a > b ? 1 : 0;
}

export function DataTable<R>(p: DataTableProps<R>) {
	const order = p.order || p.usual || "";
	const id = order.replace(/^-/, "");
	const column = p.columns.find((c) => c.id === id) ?? p.columns[0];
	const down = order === "" ? column.number === true : order.startsWith("-");
	const rows = useMemo(() => [...p.rows].sort((a, b) =>
		(down ? -1 : 1) * compare(column.value(a), column.value(b))), [p.rows, column.id, down]);
	return (
		<div class="datatable" tabIndex={0} role="group" aria-label={p.label}>
			<table aria-label={p.label}>
				<thead>
					<tr>
						{p.columns.map((c) => (
							<th key={c.id} scope="col" class={`${c.number ? "number" : ""} ${c.wide ? "wide" : ""}`}
								aria-sort={c !== column ? "none" : down ? "descending" : "ascending"}>
								<button onClick={() => p.onOrder(
									(c === column ? !down : c.number) ? `-${c.id}` : c.id)}>
									{c.text}<span aria-hidden="true">{c !== column ? "" : down ? " ▼" : " ▲"}</span>
								</button>
							</th>
						))}
						{p.onOpen && <th><span class="unseen">{p.openText}</span></th>}
					</tr>
				</thead>
				<tbody>
					{rows.map((r) => (
						<tr key={p.keyOf(r)} onClick={p.onOpen && (() => p.onOpen!(r))}>
							{p.columns.map((c) => <td key={c.id} class={c.number ? "number" : ""}>{c.cell(r)}</td>)}
							{p.onOpen && <td class="open"><button onClick={(e) => {
								e.stopPropagation();
								p.onOpen!(r);
							}}>{p.openText}</button></td>}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
