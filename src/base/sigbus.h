/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Safe reads of a mapped file that its owner may truncate at any time: the kernel raises SIGBUS
 * for a read beyond the new end.
 */
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
