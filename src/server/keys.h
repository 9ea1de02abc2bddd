/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The PEM files of a server with TLS, as texts. */
#include "base/buf.h"

struct err;
struct server_options;

/* Each is terminated by NUL, or empty if the server has none. */
struct keys {
	struct buf cert, key, client_ca;
};

/*
 * Reads the files that @opt names. Returns 0; -EINVAL if the options do not belong together;
 * -errno. Free with keys_fini() in any case.
 */
int keys_read(struct keys *k, const struct server_options *opt, struct err *err);
/* Overwrites the texts. */
void keys_fini(struct keys *k);
