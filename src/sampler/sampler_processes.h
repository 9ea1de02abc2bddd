/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The processes that are sampled, and where their mappings and runtimes are. */
#include <stdbool.h>
#include <stdint.h>

struct executable;
struct executable_key;
struct sampler;
struct selection;
struct unwind_process;

/*
 * With targets_only: samples @pid and, unless no_children is set, its later children. Returns
 * 0 or -errno.
 */
int sampler_add_target(struct sampler *s, uint32_t pid);
/*
 * With by_rules: whether sampler_select() decides what is profiled; until then, everything is.
 * Processes for which it was not called are profiled.
 */
void sampler_select_by_rules(struct sampler *s, bool by_rules);
/* Stores the decision about @pid. Returns 0, or -E2BIG if there are too many processes. */
int sampler_select(struct sampler *s, uint32_t pid, const struct selection *selection);
/*
 * Publishes where the mappings and runtimes of @pid are, so that the BPF program can walk its
 * stacks. Returns 0 or -errno.
 */
int sampler_put_process(struct sampler *s, uint32_t pid, const struct unwind_process *p);
/*
 * Announces that process @pid may use @languages (bits 1 << enum vm_lang): if it is sampled,
 * requests their BPF programs, so that they are loaded when the process is published.
 */
void sampler_expect(struct sampler *s, uint32_t pid, uint32_t languages);
/* Waits until these programs are loaded, at most for a second. */
void sampler_wait_for_programs(struct sampler *s);
/*
 * Publishes an executable that is an interpreter, so that the frames of its processes are read even
 * before these are published. Returns 0 or -errno.
 */
int sampler_put_executable(struct sampler *s, const struct executable_key *key,
			   const struct executable *e);
void sampler_remove_executable(struct sampler *s, const struct executable_key *key);
/*
 * Withdraws the process description, because its mappings are not known at present: the
 * process's samples arrive raw.
 */
void sampler_remove_process(struct sampler *s, uint32_t pid);
/*
 * Like sampler_remove_process(), for a process that has ended, which started at @start_ns (struct
 * program_id): it is no longer a target either.
 */
void sampler_end_process(struct sampler *s, uint32_t pid, uint64_t start_ns);
