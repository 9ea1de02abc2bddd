// SPDX-License-Identifier: Apache-2.0
//
// The page that holds its data in itself: a profile, or two to be compared
// as {"before":...,"after":...}.

import { render, type ComponentChildren } from "preact";

import { gzip, toPprof, toSpeedscope } from "../model/export";
import { amount, duration, grouped, samplesOf, shown } from "../model/format";
import { BadProfile, readProfile, type Profile } from "../model/profile";
import { SINGLE } from "../model/url";
import { DiffView } from "../view/diff_view";
import { Help } from "../view/help";
import type { Download } from "../view/bar";
import { ProfileView } from "../view/profile_view";
import { fileName, save } from "../view/save";
import { useUrlState } from "../view/state";

type Data = { before: Profile | null; profile: Profile };

function load(): Data | string {
	try {
		const json = JSON.parse(document.getElementById("profile")?.textContent ?? "");
		if (json && typeof json === "object" && "before" in json)
			return { before: readProfile(json.before), profile: readProfile(json.after) };
		return { before: null, profile: readProfile(json) };
	} catch (e) {
		const why = e instanceof BadProfile ? e.message : "the data in this page is not whole";
		return `This profile cannot be shown: ${why}.`;
	}
}

function summary(p: Profile): string {
	const all = p.tree.total[0];
	const samples = samplesOf(all, p);
	const parts = [
		samples !== null ? `${grouped(samples)} samples` : "",
		p.periodNs > 0 || p.unit === "nanoseconds" ? `${amount(all, p)}${p.type === "samples" ? "" : ` ${p.type}`}` : "",
		p.durationNs > 0 ? `in ${duration(p.durationNs)}` : "",
		p.timeNs > 0 ? new Date(p.timeNs / 1e6).toLocaleString(undefined, {
			dateStyle: "medium", timeStyle: "medium" }) : "",
	];
	return parts.filter((s) => s !== "").join(" · ");
}

function Header({ profile, before }: Data) {
	const title = (p: Profile) => (p.title === "" ? "Profile" : shown(p.title, 200));
	return (
		<header>
			<h1>{before ? `${title(before)} → ${title(profile)}` : title(profile)}</h1>
			{before && <p>before: {summary(before)}</p>}
			<p>{before && "after: "}{summary(profile)}</p>
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
	const [state, update] = useUrlState(SINGLE);
	return (
		<>
			<Header profile={profile} before={before} />
			<Help />
			{before && profile.tree.total[0] + before.tree.total[0] > 0
				? <DiffView before={before} after={profile} state={state} update={update} />
				: profile.tree.total[0] > 0
				? <ProfileView profile={profile} state={state} update={update} downloads={downloadsOf(profile)} />
				: <Message>
					<h2>No samples</h2>
					<p>Nothing that was watched ran on a CPU while this profile was taken.</p>
					<p>Record for longer (<code>-d 30</code>), more often (<code>-F 999</code>), or the
						whole machine (<code>-a</code>).</p>
				</Message>}
		</>
	);
}

const data = load();
render(typeof data === "string" ? <Message><h2>{data}</h2></Message> : <Page {...data} />,
	document.getElementById("app")!);
