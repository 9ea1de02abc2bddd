/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `cameo record --memory=heap`: the heap profiles that Go programs record themselves, read once
 * from their memory (reader/heap_client.h). Unlike a recording (recording.h), it needs neither
 * privileges over the kernel nor time, and does not slow the processes down.
 */
struct err;
struct recording_opts;

/* Uses pids, path and format of @o, and writes the profile. Returns 0 or -errno with @err. */
int heap_recording_run(const struct recording_opts *o, struct err *err);
