// SPDX-License-Identifier: Apache-2.0
//
// The pickers of the query: service, profile type and label filters, with
// completion of label names and values from the server.

import { useState } from "preact/hooks";

import { displayName } from "../model/format";
import { typeName } from "../model/profile_types";
import type { Range } from "../model/range";
import {
	filterText, isVisibleLabel, OP_TEXT, OPS, parseFilter, quoteRegex, selectorOf, SERVICE, type Op,
} from "../model/selector";
import * as api from "./api";
import { Combobox, type ComboboxOption } from "./combobox";
import { Popover } from "./popover";
import { useQuery } from "./use_query";

const NONE_IN_RANGE = "None in this time range.";

export function toOptions(texts: readonly string[] | null): ComboboxOption[] | null {
	return texts && texts.map((text) => ({ id: text, text: text === "" ? "(none)" : text }));
}

function ValueCombobox({ name, selector, range, current, placeholder, onChoose, free }: {
	name: string; selector: string; range: Range; current?: string; placeholder: string;
	onChoose: (value: string) => void; free?: { text: (t: string) => string; run: (t: string) => void };
}) {
	const { data, error } = useQuery(`${name} ${selector} ${range.from} ${range.to}`,
		(signal) => api.labelValues(name, selector, range.from, range.to, signal));
	return <Combobox label={placeholder} placeholder={placeholder} choices={toOptions(data)} current={current}
		onChoose={onChoose} free={free} empty={error ? error.message : NONE_IN_RANGE} />;
}

export function ServicePicker({ service, range, onSet }: {
	service: string; range: Range; onSet: (service: string) => void;
}) {
	return (
		<Popover label={`Service: ${service || "all"}`} class="service"
			text={<><small>Service</small> <b>{service === "" ? "all" : displayName(service, 40)}</b></>}>
			{(close) => (
				<>
					<button class="all" aria-pressed={service === ""}
						onClick={() => { onSet(""); close(); }}>All services</button>
					<ValueCombobox name={SERVICE} selector="{}" range={range} current={service} placeholder="Find a service"
						onChoose={(v) => { onSet(v); close(); }} />
				</>
			)}
		</Popover>
	);
}

export function TypePicker({ type, types, onSet }: {
	type: string; types: string[]; onSet: (type: string) => void;
}) {
	const ambiguous = (t: string) => types.some((o) => o !== t && typeName(o) === typeName(t));
	return (
		<Popover label={`Profile type: ${typeName(type)}`} text={<b>{typeName(type)}</b>} class="type">
			{(close) => (
				<Combobox label="Profile type" placeholder="Find a profile type" current={type}
					choices={types.map((t) => ({ id: t, text: typeName(t), small: ambiguous(t) ? t : undefined }))}
					onChoose={(t) => { onSet(t); close(); }} empty={NONE_IN_RANGE} />
			)}
		</Popover>
	);
}

/** Returns the label names to filter and group by; null while they are being loaded. */
export function useLabels(selector: string, range: Range): string[] | null {
	const { data } = useQuery(`${selector} ${range.from} ${range.to}`,
		(signal) => api.labelNames(selector, range.from, range.to, signal));
	return data && data.filter(isVisibleLabel);
}

/** @none is the text of the option to choose no label, if that is allowed. */
export function LabelPicker({ label, prefix, selector, range, none, onSet }: {
	label: string; prefix: string; selector: string; range: Range; none?: string; onSet: (label: string) => void;
}) {
	const name = label === "" ? (none ?? "").toLowerCase() : displayName(label, 40);
	return (
		<Popover label={`${prefix}: ${name}`} text={<><small>{prefix}</small> <b>{name}</b></>} class="by">
			{(close) => (
				<>
					{none && <button class="all" aria-pressed={label === ""} onClick={() => { onSet(""); close(); }}>{none}</button>}
					<LabelCombobox selector={selector} range={range} current={label}
						onChoose={(l) => { onSet(l); close(); }} />
				</>
			)}
		</Popover>
	);
}

function LabelCombobox({ selector, range, current, onChoose }: {
	selector: string; range: Range; current?: string; onChoose: (label: string) => void;
}) {
	return <Combobox label="Label" placeholder="Find a label" choices={toOptions(useLabels(selector, range))}
		current={current} onChoose={onChoose} empty={NONE_IN_RANGE} />;
}

/* The user chooses a label first, and then one of its values or types a regular expression. */
function AddFilter({ selector, range, onAdd }: {
	selector: string; range: Range; onAdd: (filter: string) => void;
}) {
	const [name, setName] = useState("");
	const [op, setOp] = useState<Op>("=");
	if (name === "")
		return <LabelCombobox selector={selector} range={range} onChoose={setName} />;
	const regexOp: Op = op === "=" || op === "=~" ? "=~" : "!~";
	return (
		<>
			<div class="operator">
				<b>{displayName(name, 40)}</b>
				<select aria-label="Operator" value={op} onChange={(e) => setOp(e.currentTarget.value as Op)}>
					{OPS.map((o) => <option key={o} value={o}>{OP_TEXT[o]}</option>)}
				</select>
			</div>
			<ValueCombobox name={name} selector={selector} range={range} placeholder={`Find a value of ${displayName(name, 40)}`}
				onChoose={(value) => onAdd(filterText({
					name, op, value: op === "=~" || op === "!~" ? quoteRegex(value) : value,
				}))}
				free={{
					text: (t) => `${OP_TEXT[regexOp]} ${displayName(t, 60)}`,
					run: (t) => onAdd(filterText({ name, op: regexOp, value: t })),
				}} />
		</>
	);
}

export function Filters({ service, where, range, onSet }: {
	service: string; where: string[]; range: Range; onSet: (where: string[]) => void;
}) {
	const negated: Record<Op, Op> = { "=": "!=", "!=": "=", "=~": "!~", "!~": "=~" };
	return (
		<div class="filters" role="group" aria-label="Filters">
			{where.map((text, i) => {
				const f = parseFilter(text);
				if (!f)
					return null;
				const description = `${displayName(f.name, 40)} ${f.op} ${displayName(f.value, 40)}`;
				return (
					<span class="chip" key={text}>
						<button title="Negate this filter" aria-label={`Negate filter ${description}`}
							onClick={() => onSet(where.map((w, k) => (k === i ? filterText({ ...f, op: negated[f.op] }) : w)))}>
							{displayName(f.name, 40)} <i>{f.op}</i> <b>{displayName(f.value, 40)}</b></button>
						<button aria-label={`Remove filter ${description}`}
							onClick={() => onSet(where.filter((_, k) => k !== i))}>×</button>
					</span>
				);
			})}
			<Popover label="Add filter" text="+ Filter" class="add">
				{(close) => <AddFilter selector={selectorOf(service, where)} range={range}
					onAdd={(f) => { onSet(where.includes(f) ? where : [...where, f]); close(); }} />}
			</Popover>
		</div>
	);
}
