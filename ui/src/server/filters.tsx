// SPDX-License-Identifier: Apache-2.0
//
// Which profiles: the service, the type, and filters by label with what the
// server knows of names and values.

import { useState } from "preact/hooks";

import { shown } from "../model/format";
import type { Range } from "../model/range";
import {
	filterText, isShownLabel, OP_TEXT, OPS, parseFilter, quoteRegex, selectorOf, SERVICE, type Op,
} from "../model/selector";
import { typeName } from "../model/types";
import * as api from "./api";
import { useAsk } from "./ask";
import { Choose, type Choice } from "./choose";
import { Popover } from "./popover";

export function plain(texts: readonly string[] | null): Choice[] | null {
	return texts && texts.map((text) => ({ id: text, text: text === "" ? "(none)" : text }));
}

function Values({ name, selector, range, current, placeholder, onChoose, free }: {
	name: string; selector: string; range: Range; current?: string; placeholder: string;
	onChoose: (value: string) => void; free?: { text: (t: string) => string; run: (t: string) => void };
}) {
	const { data, error } = useAsk(`${name} ${selector} ${range.from} ${range.to}`,
		(signal) => api.labelValues(name, selector, range.from, range.to, signal));
	return <Choose label={placeholder} placeholder={placeholder} choices={plain(data)} current={current}
		onChoose={onChoose} free={free} empty={error ? error.message : "There is none in this range."} />;
}

export function Service({ service, range, onSet }: {
	service: string; range: Range; onSet: (service: string) => void;
}) {
	return (
		<Popover label={`Service: ${service || "all"}`} class="service"
			text={<><small>Service</small> <b>{service === "" ? "all" : shown(service, 40)}</b></>}>
			{(close) => (
				<>
					<button class="all" aria-pressed={service === ""}
						onClick={() => { onSet(""); close(); }}>All services</button>
					<Values name={SERVICE} selector="{}" range={range} current={service} placeholder="Find a service"
						onChoose={(v) => { onSet(v); close(); }} />
				</>
			)}
		</Popover>
	);
}

export function TypePicker({ type, types, onSet }: {
	type: string; types: string[]; onSet: (type: string) => void;
}) {
	const twice = (t: string) => types.some((o) => o !== t && typeName(o) === typeName(t));
	return (
		<Popover label={`Profile type: ${typeName(type)}`} text={<b>{typeName(type)}</b>} class="type">
			{(close) => (
				<Choose label="Profile type" placeholder="Find a profile type" current={type}
					choices={types.map((t) => ({ id: t, text: typeName(t), small: twice(t) ? t : undefined }))}
					onChoose={(t) => { onSet(t); close(); }} empty="There is none in this range." />
			)}
		</Popover>
	);
}

/** The label names that people filter and group by. */
export function useLabels(selector: string, range: Range): string[] | null {
	const { data } = useAsk(`${selector} ${range.from} ${range.to}`,
		(signal) => api.labelNames(selector, range.from, range.to, signal));
	return data && data.filter(isShownLabel);
}

/** @none: what it is called to choose no label, where that may be. */
export function LabelPicker({ label, prefix, selector, range, none, onSet }: {
	label: string; prefix: string; selector: string; range: Range; none?: string; onSet: (label: string) => void;
}) {
	const name = label === "" ? (none ?? "").toLowerCase() : shown(label, 40);
	return (
		<Popover label={`${prefix}: ${name}`} text={<><small>{prefix}</small> <b>{name}</b></>} class="by">
			{(close) => (
				<>
					{none && <button class="all" aria-pressed={label === ""} onClick={() => { onSet(""); close(); }}>{none}</button>}
					<LabelChoice selector={selector} range={range} current={label}
						onChoose={(l) => { onSet(l); close(); }} />
				</>
			)}
		</Popover>
	);
}

function LabelChoice({ selector, range, current, onChoose }: {
	selector: string; range: Range; current?: string; onChoose: (label: string) => void;
}) {
	return <Choose label="Label" placeholder="Find a label" choices={plain(useLabels(selector, range))}
		current={current} onChoose={onChoose} empty="There is none in this range." />;
}

/* A label first, then one of its values, or a regular expression as typed. */
function AddFilter({ selector, range, onAdd }: {
	selector: string; range: Range; onAdd: (filter: string) => void;
}) {
	const [name, setName] = useState("");
	const [op, setOp] = useState<Op>("=");
	if (name === "")
		return <LabelChoice selector={selector} range={range} onChoose={setName} />;
	const loose: Op = op === "=" || op === "=~" ? "=~" : "!~";
	return (
		<>
			<div class="operator">
				<b>{shown(name, 40)}</b>
				<select aria-label="How the value is compared" value={op} onChange={(e) => setOp(e.currentTarget.value as Op)}>
					{OPS.map((o) => <option key={o} value={o}>{OP_TEXT[o]}</option>)}
				</select>
			</div>
			<Values name={name} selector={selector} range={range} placeholder={`Find a value of ${shown(name, 40)}`}
				onChoose={(value) => onAdd(filterText({
					name, op, value: op === "=~" || op === "!~" ? quoteRegex(value) : value,
				}))}
				free={{
					text: (t) => `${OP_TEXT[loose]} ${shown(t, 60)}`,
					run: (t) => onAdd(filterText({ name, op: loose, value: t })),
				}} />
		</>
	);
}

export function Filters({ service, where, range, onSet }: {
	service: string; where: string[]; range: Range; onSet: (where: string[]) => void;
}) {
	const turned: Record<Op, Op> = { "=": "!=", "!=": "=", "=~": "!~", "!~": "=~" };
	return (
		<div class="filters" role="group" aria-label="Filters">
			{where.map((text, i) => {
				const f = parseFilter(text);
				if (!f)
					return null;
				const said = `${shown(f.name, 40)} ${f.op} ${shown(f.value, 40)}`;
				return (
					<span class="chip" key={text}>
						<button title="Turn it round" aria-label={`${said}: turn it round`}
							onClick={() => onSet(where.map((w, k) => (k === i ? filterText({ ...f, op: turned[f.op] }) : w)))}>
							{shown(f.name, 40)} <i>{f.op}</i> <b>{shown(f.value, 40)}</b></button>
						<button aria-label={`Remove the filter ${said}`}
							onClick={() => onSet(where.filter((_, k) => k !== i))}>×</button>
					</span>
				);
			})}
			<Popover label="Add a filter" text="+ Filter" class="add">
				{(close) => <AddFilter selector={selectorOf(service, where)} range={range}
					onAdd={(f) => { onSet(where.includes(f) ? where : [...where, f]); close(); }} />}
			</Popover>
		</div>
	);
}
