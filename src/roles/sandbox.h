/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Confines the calling process permanently to what its role needs. Called in a child process with
 * one thread.
 */
#include <stdbool.h>
#include <stddef.h>

enum sandbox_kind {
	/* Parses untrusted bytes: no user, network, capabilities or files but those it receives. */
	SANDBOX_READER,
	/*
	 * Opens files and reads /proc of other processes, but parses nothing: keeps the
	 * capabilities SYS_PTRACE, DAC_READ_SEARCH and CHECKPOINT_RESTORE as far as the parent has
	 * them.
	 */
	SANDBOX_OPENER,
	/*
	 * Uses the network and TLS: no capabilities, no access to other processes, no writing of
	 * files, no programs; a user of its own if it is started as root. It reads what any user
	 * may read, since resolvers and TLS libraries have their own files.
	 */
	SANDBOX_EXPORTER,
};

struct sandbox_opts {
	enum sandbox_kind kind;
	size_t data_bytes;  /* heap limit (RLIMIT_DATA); also the largest memfd */
	int keep_fd;        /* remains open; 0, 1 and 2 become /dev/null, others are closed */
	bool in_namespaces; /* the process was started in a user namespace of its own */
};

/**
 * sandbox_enter() - drop files, network and privileges, and limit memory
 *
 * A reader leaves the caller's user: it becomes a user id that no other program has, in a user
 * namespace without a mapping where the kernel allows one, so that no process of an ordinary user
 * may signal or trace it. It loses its network, its capabilities and its dumpable flag. A seccomp
 * filter with no_new_privs allows only system calls that the role needs. A measure that this system
 * does not support is skipped and listed in @report.
 *
 * Return: 0 and a summary in @report ("uid 2147357184, no network, seccomp, ..."); -errno if the
 * filter cannot be installed. The caller must not read anything in that case.
 */
int sandbox_enter(const struct sandbox_opts *opts, char *report, size_t report_len);
