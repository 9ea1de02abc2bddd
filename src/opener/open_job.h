/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The opener's side of OPENER_OPEN (open_message.h). */
struct role_call;

enum { OPENER_OPEN = 1 };

/*
 * Opens a file and replies with a descriptor of it, or of a copy if its file system may hang. A
 * role_job_fn.
 */
int open_job(struct role_call *call);
