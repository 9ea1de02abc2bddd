/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reading a mapping of a file that its owner may truncate meanwhile: the
 * kernel answers reads beyond the new end with SIGBUS.
 */
typedef int (*sigbus_fn)(void *ctx);

/**
 * sigbus_run() - run @fn(@ctx), which reads mapped files of strangers
 *
 * A page that is gone reads as zeros from then on, and @fn runs on to its end:
 * so what it allocated is freed, what it locked is unlocked, and it must only
 * be able to bear zeros, as it bears any other bytes. Whatever it made then is
 * the caller's to throw away; it still owns it. When not even zeros can be
 * mapped, @fn is left by siglongjmp and what it allocated is lost.
 *
 * Calls may nest; the innermost one that was running when the page was missed
 * returns the error. Any thread may call it. It takes over the
 * process's SIGBUS for good; a SIGBUS that has nothing to do with a guarded
 * read goes on to the action installed before it.
 *
 * Return: @fn's result; -EFAULT when a page was missing.
 */
int sigbus_run(sigbus_fn fn, void *ctx);
