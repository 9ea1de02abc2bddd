// SPDX-License-Identifier: Apache-2.0
//
// The page of one profile. It contains its data as JSON: a profile, or two that
// are compared, as {"before":...,"after":...}.

import { render, type ComponentChildren } from "preact";

import { gzip, toPprof, toSpeedscope } from "../model/export";
import { displayName, formatDuration, formatSamples, formatValue, toSamples } from "../model/format";
import { InvalidProfile, loadProfile, type Profile } from "../model/profile";
import type { Download } from "../view/controls";
import { DiffView } from "../view/diff_view";
import { Help } from "../view/help";
import { ProfileView } from "../view/profile_view";
import { PROFILE_CODEC, PROFILE_VIEWS } from "../view/profile_views";
import { fileName, save } from "../view/save";
import { useUrlState } from "../view/url_state";

type Data = { before: Profile | null; profile: Profile };

async function load(): Promise<Data | string> {
	try {
		const json = JSON.parse(document.getElementById("profile")?.textContent ?? "");
		if (json && typeof json === "object" && "before" in json)
			return { before: await loadProfile(json.before), profile: await loadProfile(json.after) };
		return { before: null, profile: await loadProfile(json) };
	} catch (e) {
		const why = e instanceof InvalidProfile ? e.message : "its data is incomplete";
		return `Cannot show this profile: ${why}.`;
	}
}

function summary(p: Profile): string {
	const all = p.tree.total[0];
	const samples = toSamples(all, p);
	const parts = [
		samples !== null ? formatSamples(samples) : "",
		p.periodNs > 0 || p.unit === "nanoseconds" ? `${formatValue(all, p)}${p.type === "samples" ? "" : ` ${p.type}`}` : "",
		p.durationNs > 0 ? `in ${formatDuration(p.durationNs)}` : "",
		p.timeNs > 0 ? new Date(p.timeNs / 1e6).toLocaleString(undefined, {
			dateStyle: "medium", timeStyle: "medium" }) : "",
	];
	return parts.filter((s) => s !== "").join(" · ");
}

function Header({ profile, before }: Data) {
	const title = (p: Profile) => (p.title === "" ? "Profile" : displayName(p.title, 200));
	return (
		<header>
			<h1>{before ? `${title(before)} → ${title(profile)}` : title(profile)}</h1>
			{before && <p>Before: {summary(before)}</p>}
			<p>{before && "After: "}{summary(profile)}</p>
		</header>
	);
}

function Message({ children }: { children: ComponentChildren }) {
	return <main class="message">{children}</main>;
}

function downloadsOf(p: Profile): Download[] {
	const name = (suffix: string) => fileName(p.title, suffix);
	return [
		{ text: "pprof", run: () => void gzip(toPprof(p)).then((data) => save(name(".pb.gz"), data)) },
		{ text: "speedscope", run: () => save(name(".speedscope.json"), toSpeedscope(p), "application/json") },
	];
}

function Page({ profile, before }: Data) {
	const [state, update] = useUrlState(PROFILE_CODEC);
	return (
		<>
			<Header profile={profile} before={before} />
			<Help views={PROFILE_VIEWS} />
			{before && profile.tree.total[0] + before.tree.total[0] > 0
				? <DiffView before={before} after={profile} state={state} update={update} />
				: profile.tree.total[0] > 0
				? <ProfileView profile={profile} state={state} update={update} downloads={downloadsOf(profile)} />
				: <Message>
					<h2>No samples</h2>
					<p>None of the profiled threads ran on a CPU during the recording.</p>
					<p>Record for longer (<code>-d 30</code>), at a higher frequency (<code>-F 999</code>), or
						all processes (<code>-a</code>).</p>
				</Message>}
		</>
	);
}

const app = document.getElementById("app")!;
render(<main class="message" aria-busy="true"><p>Loading…</p></main>, app);
void load().then((data) =>
	render(typeof data === "string" ? <Message><h2>{data}</h2></Message> : <Page {...data} />, app));
