// SPDX-License-Identifier: Apache-2.0
//
// Compares the current time range and filters ("after") with a baseline
// ("before"): another time range, other filters, or both.

import { useMemo, useState } from "preact/hooks";

import { baseRange, unionRange } from "../model/base";
import { loadProfile } from "../model/profile";
import type { Range } from "../model/range";
import { selectorOf } from "../model/selector";
import { DiffView, type FunctionChange } from "../view/diff_view";
import * as api from "./api";
import { Filters, LabelPicker, ServicePicker } from "./filters";
import { MAX_NODES } from "./flame_page";
import { Failed, Loading, Message } from "./messages";
import { RangePicker } from "./range_bar";
import { queryKey, type Scope } from "./scope";
import { BASES, type Base } from "./state";
import { Timeline } from "./timeline";
import { useQuery } from "./use_query";

const BASE_NAMES: Record<Base, string> = {
	before: "Previous period", day: "One day earlier", week: "One week earlier",
	same: "Same time range", custom: "Custom time range",
};
const MAX_CHANGES = 200;

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
		<div class="querybar base" role="region" aria-label="Baseline">
			<label><span class="dot before" />Before:{" "}
				<select aria-label="Baseline period" value={state.base} onChange={(e) => update({
					base: e.currentTarget.value as Base,
					baseFrom: String(Math.round(base.from)), baseTo: String(Math.round(base.to)),
				})}>
					{BASES.map((b) => <option key={b} value={b}>{BASE_NAMES[b]}</option>)}
				</select>
			</label>
			{state.base === "custom" && <RangePicker label="Baseline time range" live={false} range={base} now={scope.now}
				from={state.baseFrom} to={state.baseTo}
				onSet={(baseFrom, baseTo) => update({ baseFrom, baseTo })} />}
			<button aria-pressed={state.baseOwn} title="Compare with another service, version or host"
				onClick={() => own(!state.baseOwn)}>Other service or filters</button>
			{state.baseOwn && <>
				<ServicePicker service={state.baseService} range={base} onSet={(baseService) => update({ baseService })} />
				<Filters service={state.baseService} where={state.baseWhere} range={base}
					onSet={(baseWhere) => update({ baseWhere })} />
			</>}
		</div>
	);
}

function CompareTimeline({ scope, base }: { scope: Scope; base: Range }) {
	const { state, update, range } = scope;
	const [sets, setSets] = useState<"before" | "after">("after");
	const both = unionRange(range, base);
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
			onRange={onRange} onTime={onMoment}>
			<div class="drag-target" role="group" aria-label="Time range that dragging on the timeline sets">
				<span class="note">Click to compare before and after. Drag to set</span>
				{(["before", "after"] as const).map((side) => (
					<button key={side} aria-pressed={sets === side} onClick={() => setSets(side)}>{side === "before" ? "Before" : "After"}</button>
				))}
			</div>
			<LabelPicker prefix="Stack by" label={state.by} selector={scope.selector} range={range}
				onSet={(by) => update({ by })} />
		</Timeline>
	);
}

function useChanges({ left, right }: Sides, absolute: boolean): FunctionChange[] | undefined {
	const key = `${queryKey(left)} ${queryKey(right)} ${absolute}`;
	const { data, fresh } = useQuery(key,
		(signal) => api.movers(left, right, !absolute, MAX_CHANGES, signal), () => false);
	return useMemo(() => {
		if (!data || !fresh)
			return undefined;
		const total = absolute ? 1 : data.all.before || data.all.after || 1;
		return data.functions.filter((f) => f.self.before !== f.self.after).map((f) => ({
			name: f.name, binary: f.binary, noise: f.self.noise === true,
			before: f.self.before / total, after: f.self.after / total,
		}));
	}, [data, fresh]);
}

function Difference({ scope, sides }: { scope: Scope; sides: Sides }) {
	const { left, right } = sides;
	const { data, error, loading } = useQuery(`${queryKey(left)} ${queryKey(right)}`, async (signal) => {
		const { before, after } = await api.diff(left, right, MAX_NODES, signal);
		return { before: await loadProfile(before), after: await loadProfile(after) };
	});
	const moved = useChanges(sides, scope.state.absolute);
	if (!data)
		return error ? <Failed error={error} what="the comparison" /> : <Loading />;
	const empty = [data.before.tree.total[0] <= 0 && "before", data.after.tree.total[0] <= 0 && "after"].filter(Boolean);
	if (empty.length > 0)
		return (
			<Message title={empty.length === 2 ? "No samples before or after" : `No samples ${empty[0]}`}>
				<p>Choose another time range above, or click the timeline where the change occurred.</p>
			</Message>
		);
	return <DiffView before={data.before} after={data.after} changes={moved} busy={loading && !scope.live}
		state={scope.state} update={scope.update} />;
}

export function ComparePage({ scope }: { scope: Scope }) {
	const sides = sidesOf(scope);
	return (
		<>
			<BaseBar scope={scope} base={sides.base} />
			<CompareTimeline scope={scope} base={sides.base} />
			<Difference scope={scope} sides={sides} />
		</>
	);
}
