// SPDX-License-Identifier: Apache-2.0
//
// The same graphs for every value of a label, side by side: who takes the
// time, since when, and in what shape.

import { useEffect, useRef, useState } from "preact/hooks";

import { percent, shown } from "../model/format";
import { readProfile } from "../model/profile";
import { stepFor, type Range } from "../model/range";
import { filterText, narrowed, selectorOf, SERVICE } from "../model/selector";
import { rateUnit } from "../model/stack_lines";
import * as api from "./api";
import { useAsk } from "./ask";
import { LabelPicker } from "./filters";
import { Failed, Message, Waiting } from "./messages";
import { questionOf, type Scope } from "./scope";
import { SmallFlame } from "./small_flame";

const MOST_GROUPS = 60;
const STEPS = 60;
const SMALL_NODES = 600;
const WIDTH = 300;
const HEIGHT = 44;

/* All sparklines share one scale, so that they can be compared. */
function Spark({ points, range, stepMs, max }: { points: [number, number][]; range: Range; stepMs: number; max: number }) {
	const x = (ms: number) => ((ms - range.from) / (range.to - range.from)) * WIDTH;
	const y = (v: number) => HEIGHT - (max > 0 ? (v / max) * (HEIGHT - 2) : 0);
	const bars = points.map(([ms, v]) =>
		`M${x(ms - stepMs).toFixed(1)},${HEIGHT}V${y(v).toFixed(1)}H${x(ms).toFixed(1)}V${HEIGHT}`).join("");
	return (
		<svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
			<path d={bars} />
		</svg>
	);
}

/* Asked for when it comes into sight. */
function useSeen() {
	const box = useRef<HTMLLIElement>(null);
	const [seen, setSeen] = useState(false);
	useEffect(() => {
		const watch = new IntersectionObserver(([e]) => {
			if (e.isIntersecting)
				setSeen(true);
		}, { rootMargin: "200px" });
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, []);
	return { box, seen };
}

interface CardProps {
	scope: Scope;
	label: string;
	group: api.Group;
	all: number;
	max: number;
	stepMs: number;
}

/* The state that shows only the group. */
function only(scope: Scope, label: string, value: string) {
	const { state } = scope;
	return label === SERVICE ? { service: value } : { where: narrowed(state.where, label, value) };
}

function Card({ scope, label, group, all, max, stepMs }: CardProps) {
	const { state, update } = scope;
	const { box, seen } = useSeen();
	const narrow = only(scope, label, group.value);
	const query = {
		...scope.query,
		labelSelector: selectorOf(narrow.service ?? state.service, narrow.where ?? state.where),
	};
	const { data } = useAsk(seen ? questionOf(query) : null,
		async (signal) => readProfile(await api.tree({ ...query, maxNodes: SMALL_NODES }, signal)));
	const name = group.value === "" ? `(no ${label})` : shown(group.value, 120);
	const unit = rateUnit(scope.type);
	const rate = group.total * unit.factor / ((scope.range.to - scope.range.from) / 1000);
	const rest = filterText({ name: label, op: "!=", value: group.value });
	return (
		<li class="card" ref={box}>
			<h2><button onClick={() => update({ ...narrow, page: "flame", opened: [], zoom: "" })}
				title="The flame graph of this alone">{name}</button></h2>
			<p><b>{percent(group.total, all)}</b> <span>{unit.text(rate)}</span></p>
			<Spark points={group.points ?? []} range={scope.range} stepMs={stepMs} max={max} />
			{data ? <SmallFlame profile={data} label={`Shape of the flame graph of ${name}`} /> : <div class="smallflame" />}
			<button class="versus" onClick={() => update({
				...narrow, page: "compare", base: "same", baseOwn: true, zoom: "",
				baseService: label === SERVICE ? "" : state.service,
				baseWhere: [...state.where.filter((w) => w !== rest), rest],
			})}>Compare with the others</button>
		</li>
	);
}

export function GroupsPage({ scope }: { scope: Scope }) {
	const { state, update, range } = scope;
	const step = Math.max(30, stepFor(range, STEPS));
	const { data, error, asking } = useAsk(questionOf(scope.query, state.group, step), (signal) =>
		api.groups({ ...scope.query, label: state.group, limit: MOST_GROUPS, step }, signal));
	const max = Math.max(0, ...(data?.groups ?? []).flatMap((g) => (g.points ?? []).map(([, v]) => v)));
	return (
		<>
			<div class="querybar" role="region" aria-label="Groups">
				<LabelPicker prefix="One graph for each" label={state.group} selector={scope.selector} range={range}
					onSet={(group) => update({ group })} />
				{data && data.found > data.groups.length &&
					<span class="note">The {data.groups.length} largest of {data.found}</span>}
			</div>
			{!data ? error ? <Failed error={error} what="The groups" /> : <Waiting />
				: data.groups.length === 0
				? <Message title="No samples in this range"><p>Choose a longer range, or fewer filters.</p></Message>
				: (
					<main class="cards" aria-busy={asking && !scope.live}>
						<ul aria-label={`By ${state.group}`}>
							{data.groups.map((g) => <Card key={g.value} scope={scope} label={state.group} group={g}
								all={data.total} max={max} stepMs={step * 1000} />)}
						</ul>
					</main>
				)}
		</>
	);
}
