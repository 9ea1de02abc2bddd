/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Calls functions when files have changed. One thread looks at all files once a second, by what
 * stat() returns, so a file that was replaced, written or touched is noticed, also where inotify
 * does not reach (network file systems, mounted Kubernetes secrets). Call order: watcher_new(),
 * watcher_add() for each file, watcher_start(), watcher_free(), which waits for a call in progress.
 */
#include "base/cleanup.h"

struct err;
struct watcher;

/*
 * Called in the watcher's thread, one call at a time. Returns 0, or -errno with the reason in @err.
 */
typedef int (*watcher_fn)(void *ctx, struct err *err);

/*
 * Called in the watcher's thread with the result of each watcher_fn; @err has the reason of a
 * failure.
 */
typedef void (*watcher_report_fn)(void *ctx, const char *path, int result, const struct err *err);

/* @report must not be NULL. Nothing is watched before watcher_start(). Returns 0 or -ENOMEM. */
int watcher_new(struct watcher **out, watcher_report_fn report, void *ctx);
/* Must not be called from a watcher_fn. @w may be NULL. */
void watcher_free(struct watcher *w);

DEFINE_FREEP(struct watcher, watcher_free)

/*
 * Calls @fn when the file changes after this call. A failed call is not repeated before the file
 * changes again. @path is borrowed; NULL is ignored. Returns 0 or -ENOMEM.
 */
int watcher_add(struct watcher *w, const char *path, watcher_fn fn, void *ctx);

/* Starts the thread, unless no file was added. Returns 0 or -EAGAIN. */
int watcher_start(struct watcher *w);
