/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Decides by the rules of the process table which programs are profiled, and publishes the
 * decisions to the BPF programs (bpf/lib/select.h). Part of the process table; one thread.
 *
 * A program is decided about when it starts, and when its name or executable changes. Its cgroup
 * and its user change without an event, so each program is decided about again after about ten
 * seconds. Until a program is decided about it has the decision about the program that ran in the
 * process before, or about the parent. The work of one turn is limited, whatever programs do.
 */
#include <stdint.h>

struct process_rules;
struct program;
struct programs;
struct selection;

/* Replaces the rules, which are copied, and decides about all programs. */
void program_selection_set(struct programs *p, const struct process_rules *rules);

/* Decides about those programs for which that is due, up to a fixed number. */
void program_selection_run(struct programs *p, uint64_t now_ns);

/*
 * Returns the decision about a program, which is made now if it is due. @e may be NULL. Borrowed
 * until the next decision.
 */
const struct selection *program_selection_get(struct programs *p, struct program *e);
