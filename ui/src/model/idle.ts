// SPDX-License-Identifier: Apache-2.0
//
// Of the time that threads wait most is no delay of anything: threads of a
// pool that have nothing to do, loops that wait for the next event, timers.
// They are known by the functions that they wait in, which are in idle.def.

import { LOCK, LOOP, SLEEP, WAIT } from "../../../src/query/idle.def";
import type { Functions, Tree } from "./tree";

/** Whether a node of @t is where a thread with nothing to do waits. */
export function idleNodes(t: Tree, fns: Functions): (node: number) => boolean {
	const [wait, lock, loop, sleep] = [WAIT, LOCK, LOOP, SLEEP].map((re) =>
		fns.name.map((name) => re.test(name.slice(0, 300))));
	const locked = [false];
	for (let i = 1; i < t.n; i++)
		locked[i] = locked[t.parent[i]] || lock[t.fn[i]];
	return (i) => !locked[i] && (wait[t.fn[i]] || (sleep[t.fn[i]] && loop[t.fn[t.parent[i]]]));
}

/** Is this a profile of time that was waited? */
export function isWaiting(type: string): boolean {
	return type === "off_cpu" || type.split(":")[1] === "off_cpu";
}
