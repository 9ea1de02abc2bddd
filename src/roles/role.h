/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The child's side: a process that was started to work in one role, and nothing else. It confines
 * itself before it reads the first byte, then runs jobs until its socket closes. It has one thread.
 *
 * To add a job: define the structs of its request and reply in a header that both sides include,
 * write a role_job_fn, and add a line to the table of a role. The parent's side is pool.h.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roles/message.h"
#include "roles/sandbox.h"

/* One request while its job runs. */
struct role_call {
	uint32_t kind;
	const void *request; /* at least role_job.request_len bytes; aligned to 8 */
	size_t request_len;
	const int *fds; /* closed after the job */
	size_t n_fds;
	/* The reply: the job writes up to ROLE_BODY_MAX bytes and sets their number. */
	void *reply;
	size_t reply_len;
	int reply_fds[ROLE_FDS_MAX]; /* closed after they were sent */
	size_t n_reply_fds;
	void *state; /* what role.init() returned */

	int sock;            /* private to role.c */
	uint32_t request_id; /* private to role.c */
};

/*
 * Runs a job. The result goes to the parent: 0 or -errno. The reply's bytes and descriptors are
 * sent in both cases.
 */
typedef int (*role_job_fn)(struct role_call *call);

struct role_job {
	uint32_t kind;
	uint32_t request_len; /* bytes of its fixed struct: shorter requests are refused */
	role_job_fn run;
};

struct role {
	const char *name; /* argv[0] and comm of the child: "cameo-opener" */
	enum sandbox_kind sandbox;
	const struct role_job *jobs;
	size_t n_jobs;
	/*
	 * Called before the child confines itself, for what it cannot open afterwards, such as a
	 * library that only this role needs; may be NULL. It reads no foreign data.
	 */
	void (*prepare)(void);
	/*
	 * Called once before the first job; may be NULL. Returns 0 or -errno, which ends the child.
	 */
	int (*init)(size_t memory_bytes, void **out_state);
	/* It may be started by a launcher (launcher.h), which forks. init must be NULL then. */
	bool may_launch;
};

/*
 * Runs the role of this process and exits, if it was started for one of @roles; returns otherwise.
 * main() must call it first in every program that uses pool.h.
 */
void role_main(int argc, char **argv, const struct role *const *roles, size_t n);

/* Sends a piece of a long result. Returns 0; the child ends if the parent is gone. */
int role_call_part(struct role_call *call, uint32_t kind, const void *data, size_t len);

/* Sends @len bytes as pieces of one stream of @kind. Returns 0. */
int role_call_stream(struct role_call *call, uint32_t kind, const void *data, size_t len);

/**
 * role_call_question() - send a question to the parent in the middle of a job
 *
 * Return: the result of the answer, 0 or -errno. Its first descriptor is in *@out_fd, or -1.
 */
int role_call_question(struct role_call *call, uint32_t kind, const void *data, size_t len,
		       int *out_fd);
