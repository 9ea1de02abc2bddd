/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Users, as those who pay for what their processes cause. Subordinate ids, which a user assigns to
 * processes in namespaces of its own, are one user, by the ranges of shadow.
 */
#include <stdint.h>
#include <sys/types.h>

/* Identifies the user with id @uid. 0: root. */
uint64_t proc_user(uid_t uid);

/* Identifies the user of a process. All processes that are gone are one user. */
uint64_t proc_user_of(uint32_t pid);
