// SPDX-License-Identifier: Apache-2.0
import { readProfile, type Profile } from "../../src/model/profile";
import { pathOf, type Functions, type Tree } from "../../src/model/tree";
import { PageMaker, random } from "../fixture";

/** Converts lines such as "a;b;c 5" to a profile. */
export function profileOf(text: string): Profile {
	const maker = new PageMaker();
	for (const line of text.trim().split("\n")) {
		const at = line.lastIndexOf(" ");
		maker.add(line.slice(0, at).trim().split(";"), Number(line.slice(at + 1)));
	}
	return readProfile(maker.json());
}

/** Returns the self values of a tree as sorted folded stacks, which are readable in a failure. */
export function stacks(t: Tree, fns: Functions): string[] {
	const out: string[] = [];
	for (let i = 0; i < t.n; i++)
		if (t.self[i] > 0)
			out.push(`${pathOf(t, i).map((fn) => fns.name[fn]).join(";")} ${t.self[i]}`);
	return out.sort();
}

export function fnNamed(fns: Functions, name: string): number {
	const i = fns.name.indexOf(name);
	if (i < 0)
		throw new Error(`no function ${name}`);
	return i;
}

export function setOf(fns: Functions, ...names: string[]): Uint8Array {
	const set = new Uint8Array(fns.n);
	names.forEach((n) => (set[fnNamed(fns, n)] = 1));
	return set;
}

/** Returns a random profile with recursion, and its samples, from which tests compute expected values. */
export function randomProfile(seed: number): { profile: Profile; samples: [string[], number][] } {
	const rnd = random(seed);
	const maker = new PageMaker();
	const samples: [string[], number][] = [];
	for (let i = 0; i < 200; i++) {
		const path = Array.from({ length: 1 + Math.floor(rnd() * 12) },
			() => "abcdefgh"[Math.floor(rnd() * 8)]);
		const value = 1 + Math.floor(rnd() * 20);
		samples.push([path, value]);
		maker.add(path, value);
	}
	return { profile: readProfile(maker.json()), samples };
}

export function sumWhere(samples: [string[], number][], keep: (path: string[]) => boolean): number {
	return samples.reduce((sum, [path, value]) => sum + (keep(path) ? value : 0), 0);
}
