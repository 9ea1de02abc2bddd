/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Giving up, for good, whatever a parser of strangers' files does not need. */
#include <stddef.h>

struct sandbox_opts {
	size_t data_bytes; /* RLIMIT_DATA: heap */
	size_t map_bytes;  /* RLIMIT_AS beyond that: files it maps */
	int keep_fd;       /* the one descriptor that stays open; 0, 1 and 2 become /dev/null */
};

/**
 * sandbox_enter() - no files, no network, no privileges, bounded memory
 *
 * Another user (nobody) or else a user namespace; no network of its own; no
 * capabilities; no_new_privs; not dumpable; a seccomp filter that lets through
 * what reading and mapping open descriptors and allocating memory take, and
 * refuses everything else. What this system does not allow is left out and named.
 *
 * Return: 0 with what holds in @report ("uid 65534, no network, seccomp, ...");
 * -errno if not even the filter can be set: then nothing must be parsed.
 */
int sandbox_enter(const struct sandbox_opts *opts, char *report, size_t report_len);

/* Only descriptors (but @keep_fd), user and capabilities: for a child that needs the network. */
void sandbox_drop(int keep_fd);
