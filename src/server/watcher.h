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

/* Runs in the watcher's thread. Returns 0, or -errno with the reason in @err. */
typedef int (*watcher_fn)(void *ctx, struct err *err);

/* Called with the result of each call; @err has the reason of a failure. */
typedef void (*watcher_report_fn)(void *ctx, const char *path, int result, const struct err *err);

int watcher_new(struct watcher **out, watcher_report_fn report, void *ctx);
void watcher_free(struct watcher *w);

DEFINE_FREEP(struct watcher, watcher_free)

/*
 * Calls @fn when the file changes after this call. A failed call is not repeated before the file
 * changes again. @path is borrowed; NULL is ignored. Returns 0 or -ENOMEM.
 */
int watcher_add(struct watcher *w, const char *path, watcher_fn fn, void *ctx);

/* Returns 0 or -EAGAIN. */
int watcher_start(struct watcher *w);
