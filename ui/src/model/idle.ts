// SPDX-License-Identifier: Apache-2.0
//
// Of the time that threads wait most is no delay of anything: threads of a
// pool that have nothing to do, loops that wait for the next event, timers.
// They are known by the functions that they wait in.

import type { Functions, Tree } from "./tree";

const IDLE = new RegExp(`^(${[
	"(__x64_sys_|do_)?epoll_p?wait2?", "ep_poll", "(do_sys_)?p?poll", "do_select", "core_sys_select",
	"(do|hrtimer|clock)_nanosleep", "do_sigtimedwait", "sigsuspend", "__x64_sys_pause", "do_wait",
	"inet_csk_accept", "unix_accept", "inotify_read", "signalfd_read", "timerfd_read", "io_cqring_wait",
	"_*pthread_cond_(timed|clock)?wait.*", "uv__io_poll", "runtime\\.(stopm|netpoll|usleep|sysmon)",
	".*ThreadPoolExecutor\\.getTask", ".*ForkJoinPool\\.awaitWork", ".*BlockingQueue\\.(take|poll)", ".*Thread\\.sleep0?",
	"(.*\\.)?Queue\\.get", "Kernel#sleep", "Thread::Queue#pop",
].join("|")})(\\.(isra|constprop|part)\\..*)?(\\(.*)?$`);
/* Threads of the kernel are idle where they sleep in their own loop. */
const LOOPS = /^(worker_thread|smpboot_thread_fn|rcu_gp_kthread|rcu_gp_fqs_loop|kswapd|kthreadd|kthread|kthread_worker_fn|io_wq_worker|irq_thread|kjournald2|khugepaged|ksoftirqd|kcompactd|rescuer_thread)$/;
const SLEEPS = /^(__)?schedule/;

/** Whether a node of @t is where a thread with nothing to do waits. */
export function idleNodes(t: Tree, fns: Functions): (node: number) => boolean {
	const is = (re: RegExp) => Uint8Array.from(fns.name, (name) => (re.test(name.slice(0, 300)) ? 1 : 0));
	const [idle, loops, sleeps] = [IDLE, LOOPS, SLEEPS].map(is);
	return (node) => idle[t.fn[node]] === 1 || (sleeps[t.fn[node]] === 1 && loops[t.fn[t.parent[node]]] === 1);
}

/** Is this a profile of time that was waited? */
export function isWaiting(type: string): boolean {
	return type === "off_cpu" || type.split(":")[1] === "off_cpu";
}
