// SPDX-License-Identifier: Apache-2.0
//
// One card per value of a label: its share, its usage over time and a preview
// of its flame graph.

import { useEffect, useRef, useState } from "preact/hooks";

import { displayName, formatPercent } from "../model/format";
import { loadProfile } from "../model/profile";
import { stepSeconds, type Range } from "../model/range";
import { filterText, narrowTo, selectorOf, SERVICE } from "../model/selector";
import { rateUnit } from "../model/stacked_series";
import * as api from "./api";
import { LabelPicker } from "./filters";
import { Failed, Loading, NoSamples } from "./messages";
import { queryKey, type Scope } from "./scope";
import { FlameThumbnail } from "./thumbnail";
import { useQuery } from "./use_query";

const MAX_GROUPS = 60;
const STEPS = 60;
const THUMBNAIL_NODES = 600;
const WIDTH = 300;
const HEIGHT = 44;

/* All sparklines share one vertical scale, so that they can be compared. */
function Sparkline({ points, range, stepMs, max }: { points: [number, number][]; range: Range; stepMs: number; max: number }) {
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

/* Returns whether the card has been visible; its flame graph is loaded only then. */
function useVisible() {
	const box = useRef<HTMLLIElement>(null);
	const [visible, setVisible] = useState(false);
	useEffect(() => {
		const watch = new IntersectionObserver(([e]) => {
			if (e.isIntersecting)
				setVisible(true);
		}, { rootMargin: "200px" });
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, []);
	return { box, seen: visible };
}

interface CardProps {
	scope: Scope;
	label: string;
	group: api.Group;
	all: number;
	max: number;
	stepMs: number;
}

/* Returns the change of state that shows only the group. */
function narrowScope(scope: Scope, label: string, value: string) {
	const { state } = scope;
	return label === SERVICE ? { service: value } : { where: narrowTo(state.where, label, value) };
}

function Card({ scope, label, group, all, max, stepMs }: CardProps) {
	const { state, update } = scope;
	const { box, seen } = useVisible();
	const narrowed = narrowScope(scope, label, group.value);
	const query = {
		...scope.query,
		labelSelector: selectorOf(narrowed.service ?? state.service, narrowed.where ?? state.where),
	};
	const { data } = useQuery(seen ? queryKey(query) : null,
		async (signal) => loadProfile(await api.tree({ ...query, maxNodes: THUMBNAIL_NODES }, signal)));
	const name = group.value === "" ? `(no ${label})` : displayName(group.value, 120);
	const unit = rateUnit(scope.type);
	const rate = group.total * unit.factor / ((scope.range.to - scope.range.from) / 1000);
	const others = filterText({ name: label, op: "!=", value: group.value });
	return (
		<li class="card" ref={box}>
			<h2><button onClick={() => update({ ...narrowed, page: "flame", opened: [], zoom: "" })}
				title="Show the flame graph of this group">{name}</button></h2>
			<p><b>{formatPercent(group.total, all)}</b> <span>{unit.text(rate)}</span></p>
			<Sparkline points={group.points ?? []} range={scope.range} stepMs={stepMs} max={max} />
			{data ? <FlameThumbnail profile={data} label={`Flame graph preview of ${name}`} /> : <div class="thumbnail" />}
			<button class="compare-others" onClick={() => update({
				...narrowed, page: "compare", base: "same", baseOwn: true, zoom: "",
				baseService: label === SERVICE ? "" : state.service,
				baseWhere: [...state.where.filter((w) => w !== others), others],
			})}>Compare with the others</button>
		</li>
	);
}

export function GroupsPage({ scope }: { scope: Scope }) {
	const { state, update, range } = scope;
	const step = Math.max(30, stepSeconds(range, STEPS));
	const { data, error, loading } = useQuery(queryKey(scope.query, state.group, step), (signal) =>
		api.groups({ ...scope.query, label: state.group, limit: MAX_GROUPS, step }, signal));
	const max = Math.max(0, ...(data?.groups ?? []).flatMap((g) => (g.points ?? []).map(([, v]) => v)));
	return (
		<>
			<div class="querybar" role="region" aria-label="Groups">
				<LabelPicker prefix="Group by" label={state.group} selector={scope.selector} range={range}
					onSet={(group) => update({ group })} />
				{data && data.found > data.groups.length &&
					<span class="note">Showing the {data.groups.length} largest of {data.found}</span>}
			</div>
			{!data ? error ? <Failed error={error} what="the groups" /> : <Loading />
				: data.groups.length === 0
				? <NoSamples />
				: (
					<main class="cards" aria-busy={loading && !scope.live}>
						<ul aria-label={`By ${state.group}`}>
							{data.groups.map((g) => <Card key={g.value} scope={scope} label={state.group} group={g}
								all={data.total} max={max} stepMs={step * 1000} />)}
						</ul>
					</main>
				)}
		</>
	);
}
