/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From what is known of a process to its labels. service_name is always there: what a
 * rule says, else OTEL_SERVICE_NAME or another variable that may, else the
 * pod's container, the container, the systemd service, the program. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "target/containers.h"
#include "target/target_labels.h"

struct err;
struct facts_process;
struct labeler;

struct labeler_opts {
	const char *labels; /* a list with commas: which to set besides service_name */
	const char *const *rules;
	size_t n_rules;
	/* The facts' variables: of these, the first n_service name the service. */
	const char *const *env;
	size_t n_env, n_service;
	size_t max_series; /* sets of labels in an hour */
	const char *host;
	struct containers_opts containers;
};

/* 0; -EINVAL and @err for a rule or a list that is none; -ENOMEM. Texts are copied. */
int labeler_new(struct labeler **out, const struct labeler_opts *opts, struct err *err);
void labeler_free(struct labeler *l);

DEFINE_FREEP(struct labeler, labeler_free)

/* The labels of @p, sorted; NULL when a rule drops it. Borrowed as long as @p is and until the next
 * call for it. */
const struct target_labels *labeler_labels(struct labeler *l, struct facts_process *p,
					   uint64_t now_ns);

/* Is this label asked for? */
bool labeler_wants(const struct labeler *l, const char *label);

/*
 * Count @labels as a series; over the limit they lose pid and cpu, then all but
 * service_name, then even that. Returns whether something was lost.
 */
bool labeler_limit(struct labeler *l, struct target_labels *labels, uint64_t now_ns);

/* Sets of labels counted in this half hour and the one before. */
size_t labeler_series(const struct labeler *l);
