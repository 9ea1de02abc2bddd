/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The opener's side of OPENER_READ (open_message.h). */
struct role_call;

enum { OPENER_READ = 2 };

/* Replies with bytes of a process's memory. A role_job_fn. */
int memory_job(struct role_call *call);
