/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The opener's jobs that need the address space of a process (open_message.h). Each may hang, in a
 * page of a file or in the lock of the address space. They are role_job_fn.
 */
struct role_call;

enum { OPENER_READ = 2, OPENER_MAPS, OPENER_ENVIRON, OPENER_RESIDENT };

/* Replies with bytes of its memory. */
int memory_job(struct role_call *call);

/* Replies with its mappings (maps_message.h), or with a memory file of them if they are many. */
int maps_job(struct role_call *call);

/* Replies with a part of its environment; with none at the end. */
int environ_job(struct role_call *call);

/* Sends its resident pages, and mappings if they are requested, in parts (resident_message.h). */
int resident_job(struct role_call *call);
