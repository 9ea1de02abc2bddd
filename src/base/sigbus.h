/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Safe reads of a mapped file that its owner may truncate at any time: the kernel raises SIGBUS
 * for a read beyond the new end.
 */
#include <stdbool.h>
#include <stddef.h>

typedef int (*sigbus_fn)(void *ctx);

/**
 * sigbus_run() - run @fn(@ctx), which reads mapped files that others can change
 *
 * A missing page reads as zeros from then on and @fn runs to its end, so it frees and unlocks as
 * usual; it must tolerate zeros as it tolerates any other content. The caller owns its result
 * but must discard it on -EFAULT. If no page of zeros can be mapped, siglongjmp()
 * leaves @fn, which leaks its allocations.
 *
 * Calls may nest: the innermost call that was active reports the error. Any thread may call it.
 * The first call installs a SIGBUS handler for the process; signals that have nothing to do with
 * guarded reads are passed on to the previous action.
 *
 * Return: the result of @fn; -EFAULT if a page was missing; -errno if the handler cannot be
 * installed.
 */
int sigbus_run(sigbus_fn fn, void *ctx);

enum { SIGBUS_MAX_WATCHED = 8192 };

/**
 * sigbus_watch() - survive missing pages of a mapping that the process uses at any time
 *
 * For mappings that code of others reads and writes without a guard. A missing page is replaced by
 * a private page of zeros, and every mapping of the owners that have it is marked as lost: from
 * then on their content means nothing, and the owners must not act on it. @owner is any address.
 * Any thread may call it.
 *
 * Return: a number for sigbus_is_lost(); -ENOSPC beyond SIGBUS_MAX_WATCHED mappings; -errno if the
 * handler cannot be installed.
 */
int sigbus_watch(const void *owner, const volatile void *at, size_t len);

/* Ends the watch of all mappings of @owner, before they are unmapped. */
void sigbus_unwatch(const void *owner);

/*
 * Returns true if a page of the mapping @number, or of another mapping of its owner, was missing.
 * Any thread.
 */
bool sigbus_is_lost(int number);
