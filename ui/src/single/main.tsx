// SPDX-License-Identifier: Apache-2.0
//
// The page that holds one profile in itself.

import { render, type ComponentChildren } from "preact";

import { amount, duration, grouped, samplesOf, shown } from "../model/format";
import { BadProfile, readProfile, type Profile } from "../model/profile";
import { ProfileView } from "../view/profile_view";
import { useUrlState } from "../view/state";

function load(): Profile | string {
	try {
		return readProfile(JSON.parse(document.getElementById("profile")?.textContent ?? ""));
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

function Header({ profile }: { profile: Profile }) {
	return (
		<header>
			<h1>{profile.title === "" ? "Profile" : shown(profile.title, 200)}</h1>
			<p>{summary(profile)}</p>
		</header>
	);
}

function Message({ children }: { children: ComponentChildren }) {
	return <main class="message">{children}</main>;
}

function Page({ profile }: { profile: Profile }) {
	const [state, update] = useUrlState();
	return (
		<>
			<Header profile={profile} />
			{profile.tree.total[0] > 0
				? <ProfileView profile={profile} state={state} update={update} />
				: <Message>
					<h2>No samples</h2>
					<p>Nothing that was watched ran on a CPU while this profile was taken.</p>
					<p>Record for longer (<code>-d 30</code>), more often (<code>-F 999</code>), or the
						whole machine (<code>-a</code>).</p>
				</Message>}
		</>
	);
}

const profile = load();
render(typeof profile === "string" ? <Message><h2>{profile}</h2></Message> : <Page profile={profile} />,
	document.getElementById("app")!);
