// SPDX-License-Identifier: Apache-2.0
//
// A table that the user can sort by any column.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";

export interface Column<R> {
	id: string;
	text: string;
	/** The sort key. */
	value: (row: R) => number | string;
	cell: (row: R) => ComponentChildren;
	/** Numbers are aligned to the right and sorted in descending order first. */
	number?: boolean;
	wide?: boolean;
}

interface DataTableProps<R> {
	label: string;
	columns: Column<R>[];
	rows: R[];
	keyOf: (row: R) => string;
	/** The id of the sorted column, preceded by "-" for descending order; "" for @defaultOrder. */
	order: string;
	defaultOrder?: string;
	onOrder: (order: string) => void;
	onOpen?: (row: R) => void;
	openText?: string;
}

function compare(a: number | string, b: number | string): number {
	return a < b ? -1 : a > b ? 1 : 0;
}

export function DataTable<R>(p: DataTableProps<R>) {
	const order = p.order || p.defaultOrder || "";
	const id = order.replace(/^-/, "");
	const column = p.columns.find((c) => c.id === id) ?? p.columns[0];
	const descending = order === "" ? column.number === true : order.startsWith("-");
	const rows = useMemo(() => [...p.rows].sort((a, b) =>
		(descending ? -1 : 1) * compare(column.value(a), column.value(b))), [p.rows, column.id, descending]);
	return (
		<div class="data-table" tabIndex={0} role="group" aria-label={p.label}>
			<table aria-label={p.label}>
				<thead>
					<tr>
						{p.columns.map((c) => (
							<th key={c.id} scope="col" class={`${c.number ? "number" : ""} ${c.wide ? "wide" : ""}`}
								aria-sort={c !== column ? "none" : descending ? "descending" : "ascending"}>
								<button onClick={() => p.onOrder(
									(c === column ? !descending : c.number) ? `-${c.id}` : c.id)}>
									{c.text}<span aria-hidden="true">{c !== column ? "" : descending ? " ▼" : " ▲"}</span>
								</button>
							</th>
						))}
						{p.onOpen && <th><span class="visually-hidden">{p.openText}</span></th>}
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
