// SPDX-License-Identifier: Apache-2.0
//
// Recognizes idle waits. Most off-CPU time delays nothing: threads of a pool
// without work, event loops, timers. These waits are recognized by the
// functions that the threads wait in, which src/tables/idle.def lists.

import { LOCK, LOOP, SLEEP, WAIT } from "../../../src/tables/idle.def";
import type { Functions, Tree } from "./tree";

/** Returns a predicate for nodes of @t in which an idle thread waits. */
export function idleNodes(t: Tree, fns: Functions): (node: number) => boolean {
	const [wait, lock, loop, sleep] = [WAIT, LOCK, LOOP, SLEEP].map((re) =>
		fns.name.map((name) => re.test(name.slice(0, 300))));
	const locked = [false];
	for (let i = 1; i < t.n; i++)
		locked[i] = locked[t.parent[i]] || lock[t.fn[i]];
	return (i) => !locked[i] && (wait[t.fn[i]] || (sleep[t.fn[i]] && loop[t.fn[t.parent[i]]]));
}

/** Returns whether @type, a sample type or a profile type, is off-CPU time. */
export function isOffCpu(type: string): boolean {
	return type === "off_cpu" || type.split(":")[1] === "off_cpu";
}
