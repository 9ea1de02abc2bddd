// SPDX-License-Identifier: Apache-2.0
//
// What changed: the range and the selector above ("after") against another
// range, or another selector, or both ("before").

import { useMemo, useState } from "preact/hooks";

import { baseRange, rangeOfBoth } from "../model/base";
import { readProfile } from "../model/profile";
import type { Range } from "../model/range";
import { selectorOf } from "../model/selector";
import { DiffView, type Moved } from "../view/diff_view";
import * as api from "./api";
import { useAsk } from "./ask";
import { Filters, LabelPicker, Service } from "./filters";
import { MAX_NODES } from "./flame_page";
import { Failed, Message, Waiting } from "./messages";
import { RangePicker } from "./range_bar";
import { questionOf, type Scope } from "./scope";
import { BASES, type Base } from "./state";
import { Timeline } from "./timeline";

const BASE_NAMES: Record<Base, string> = {
	before: "the time just before", day: "the day before", week: "the week before",
	same: "the same time", custom: "another time",
};
const MOST_MOVERS = 200;

interface Sides {
	left: api.Query;
	right: api.Query;
	base: Range;
}

function sidesOf(s: Scope): Sides {
	const base = baseRange(s.state, s.range, s.now);
	const selector = s.state.baseOwn ? selectorOf(s.state.baseService, s.state.baseWhere) : s.selector;
	return {
		base,
		right: s.query,
		left: { ...s.query, labelSelector: selector, start: base.from, end: base.to },
	};
}

function BaseBar({ scope, base }: { scope: Scope; base: Range }) {
	const { state, update } = scope;
	const own = (on: boolean) => update(on
		? { baseOwn: true, baseService: state.service, baseWhere: state.where }
		: { baseOwn: false, baseService: "", baseWhere: [] });
	return (
		<div class="querybar base" role="region" aria-label="What it is compared with">
			<label><span class="dot before" />Before:{" "}
				<select aria-label="The time compared with" value={state.base} onChange={(e) => update({
					base: e.currentTarget.value as Base,
					baseFrom: String(Math.round(base.from)), baseTo: String(Math.round(base.to)),
				})}>
					{BASES.map((b) => <option key={b} value={b}>{BASE_NAMES[b]}</option>)}
				</select>
			</label>
			{state.base === "custom" && <RangePicker label="Range compared with" live={false} range={base} now={scope.now}
				from={state.baseFrom} to={state.baseTo}
				onSet={(baseFrom, baseTo) => update({ baseFrom, baseTo })} />}
			<button aria-pressed={state.baseOwn} title="Compare with another service, version, host…"
				onClick={() => own(!state.baseOwn)}>Another service or filters</button>
			{state.baseOwn && <>
				<Service service={state.baseService} range={base} onSet={(baseService) => update({ baseService })} />
				<Filters service={state.baseService} where={state.baseWhere} range={base}
					onSet={(baseWhere) => update({ baseWhere })} />
			</>}
		</div>
	);
}

function CompareLine({ scope, base }: { scope: Scope; base: Range }) {
	const { state, update, range } = scope;
	const [sets, setSets] = useState<"before" | "after">("after");
	const both = rangeOfBoth(range, base);
	const onRange = (from: number, to: number) => update(sets === "after"
		? { from: String(from), to: String(to), base: "custom", baseFrom: String(Math.round(base.from)), baseTo: String(Math.round(base.to)) }
		: { base: "custom", baseFrom: String(from), baseTo: String(to) });
	const onMoment = (ms: number) => update({
		base: "custom", baseFrom: String(Math.round(both.from)), baseTo: String(ms),
		from: String(ms), to: String(Math.round(both.to)),
	});
	return (
		<Timeline type={scope.type} selector={scope.selector} range={both} live={scope.live} by={state.by}
			shades={[{ ...base, class: "before" }, { ...range, class: "after" }]}
			onRange={onRange} onMoment={onMoment}>
			<div class="drags" role="group" aria-label="What a drag on the time line sets">
				<span class="note">Click: before and after that moment. Drag sets</span>
				{(["before", "after"] as const).map((side) => (
					<button key={side} aria-pressed={sets === side} onClick={() => setSets(side)}>{side}</button>
				))}
			</div>
			<LabelPicker prefix="Stacked by" label={state.by} selector={scope.selector} range={range}
				onSet={(by) => update({ by })} />
		</Timeline>
	);
}

function useMoved({ left, right }: Sides, absolute: boolean): Moved[] | undefined {
	const question = `${questionOf(left)} ${questionOf(right)} ${absolute}`;
	const { data, fresh } = useAsk(question,
		(signal) => api.movers(left, right, !absolute, MOST_MOVERS, signal), () => false);
	return useMemo(() => {
		if (!data || !fresh)
			return undefined;
		const whole = absolute ? 1 : data.all.before || data.all.after || 1;
		return data.functions.filter((f) => f.self.before !== f.self.after).map((f) => ({
			name: f.name, binary: f.binary, noise: f.self.noise === true,
			before: f.self.before / whole, after: f.self.after / whole,
		}));
	}, [data, fresh]);
}

function Difference({ scope, sides }: { scope: Scope; sides: Sides }) {
	const { left, right } = sides;
	const { data, error, asking } = useAsk(`${questionOf(left)} ${questionOf(right)}`, async (signal) => {
		const { before, after } = await api.diff(left, right, MAX_NODES, signal);
		return { before: readProfile(before), after: readProfile(after) };
	});
	const moved = useMoved(sides, scope.state.absolute);
	if (!data)
		return error ? <Failed error={error} what="The difference" /> : <Waiting />;
	const empty = [data.before.tree.total[0] <= 0 && "before", data.after.tree.total[0] <= 0 && "after"].filter(Boolean);
	if (empty.length > 0)
		return (
			<Message title={empty.length === 2 ? "No samples on either side" : `No samples ${empty[0]}`}>
				<p>There is nothing to compare with: choose another time in the bar above, or click the time line
					where the change was.</p>
			</Message>
		);
	return <DiffView before={data.before} after={data.after} moved={moved} busy={asking && !scope.live}
		state={scope.state} update={scope.update} />;
}

export function Compare({ scope }: { scope: Scope }) {
	const sides = sidesOf(scope);
	return (
		<>
			<BaseBar scope={scope} base={sides.base} />
			<CompareLine scope={scope} base={sides.base} />
			<Difference scope={scope} sides={sides} />
		</>
	);
}
