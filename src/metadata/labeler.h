/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Determines the labels of a process from its attributes and the configuration. service_name is
 * always set; the first of these applies: a rule, OTEL_SERVICE_NAME or another configured variable,
 * the container with its namespace, the pod, the container id, the systemd service, the program. It
 * also limits the number of series. One thread, the symbolizer thread.
 *
 * Every distinct label set is a series in the back end. A machine that starts processes
 * continuously would create series without limit if the pid is a label. The limit counts sets per
 * hour and degrades in steps instead of dropping samples.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "metadata/containers.h"
#include "metadata/labels.h"

struct process_info;
struct labeler;

struct labeler_opts {
	const char *labels; /* comma-separated list of labels to set besides service_name */
	const char *const *rules;
	size_t n_rules;
	/*
	 * Names of the environment variables in struct process_info; the first n_service of
	 * them name the service.
	 */
	const char *const *env;
	size_t n_env, n_service;
	size_t max_series; /* maximal number of label sets per hour */
	const char *host;
	struct containers_opts containers;
};

/* All texts are copied. Returns 0; -EINVAL with @err for an invalid rule or list; -ENOMEM. */
int labeler_new(struct labeler **out, const struct labeler_opts *opts, struct err *err);
void labeler_free(struct labeler *l);

DEFINE_FREEP(struct labeler, labeler_free)

/*
 * Returns the sorted labels of @p, or NULL if a rule drops the process or memory ran out. Borrowed
 * as long as @p exists and until the next call for it. NULL for lack of memory is not remembered:
 * the next call tries again.
 */
const struct metadata_labels *labeler_get(struct labeler *l, struct process_info *p,
					  uint64_t now_ns);

/* Returns true if @label is in the configured list. */
bool labeler_uses(const struct labeler *l, const char *label);

/*
 * Counts @labels as a series. Above the limit they lose pid and cpu; far above it, everything but
 * service_name; further above, service_name becomes "other". Returns true if something was lost.
 * Values are never dropped, only merged into a coarser series.
 *
 * A user can start programs of any number of names. So the series of one @user (proc/user.h) other
 * than root may be at most three times as many as there is room for, which leaves a quarter of the
 * limit to others.
 */
bool labeler_limit_series(struct labeler *l, struct metadata_labels *labels, uint64_t user,
			  uint64_t now_ns);

/* Number of label sets counted in this half hour and the previous one. */
size_t labeler_n_series(const struct labeler *l);
