/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A CPU profile as `go build -pgo` reads it: the call stacks of one Go program with function names,
 * lines and the lines where functions begin. Frames of the kernel and of C are omitted, so that
 * their time counts for the Go function that called them.
 */
#include <stddef.h>
#include <stdint.h>

struct profile;

/* Returns true if the location is Go code with a line. For struct pgo_choice. */
int go_profile_accepts(const struct profile *p, uint32_t location);

/**
 * go_profile_make() - extract the profile of the program @file (string id of its path)
 *
 * Labels are dropped, and stacks that become equal are merged.
 *
 * Return: 0 and a new profile; -EINVAL if sample type @value_num is neither CPU time nor a count;
 * -ENODATA if no function has the line where it begins, without which Go refuses a profile;
 * -ENOMEM.
 */
int go_profile_make(struct profile **out, const struct profile *p, size_t value_num, uint32_t file);
