/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Credentials for programs that are scraped, by option: "ORIGIN KEY=FILE...". ORIGIN is a pattern
 * for SCHEME://HOST:PORT, in which * stands for any characters and ? for one; the first that
 * matches a target decides. So credentials are sent only to servers that the administrator has
 * named, even if service discovery or the annotations of pods list other targets. Keys are
 * bearer-file, basic-file, ca-file, cert-file and key-file.
 *
 * Secrets are read for each request and stored nowhere; errors name the file. Each entry has a
 * fetcher of its own, because a server may compromise the process that downloads; that process then
 * has only the credentials of the servers to which it connects. One thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/vec.h"
#include "fetch/fetch_files.h"
#include "fetch/pem.h"

struct err;
struct fetch_all;
struct fetcher;

enum { SCRAPE_AUTH_MAX = 4 };

struct scrape_auth {
	char *origin, *secret_file; /* the latter may be NULL */
	bool is_basic;              /* else a bearer token */
	struct pem files[FETCH_FILES];
	struct fetcher *fetcher;
};

struct scrape_auths {
	VEC(struct scrape_auth);
};

void scrape_auths_fini(struct scrape_auths *a);

/* Checks an option without reading files (struct option_spec). Returns 0 or -EINVAL. */
int scrape_auth_check(const char *text, struct err *err);

/*
 * Adds the entry of an option after reading its files once. @like is the fetcher that the entry's
 * own one is modelled on (fetcher_new_like()). Returns 0; -EINVAL with the reason; -ENOMEM.
 */
int scrape_auths_add(struct scrape_auths *a, const char *text, const struct fetcher *like,
		     struct err *err);

/* Returns the index of the entry for the target at @url, or the number of entries if none matches.
 */
size_t scrape_auths_find(const struct scrape_auths *a, const char *url);

/* Memory of the requests of one interval; freed by the caller after they have ended. */
struct scrape_credentials {
	struct buf header;
	const char *headers[1];
};

void scrape_credentials_fini(struct scrape_credentials *c);

/*
 * Reads the files again if they have changed, and sets the fetcher, the headers and the files of
 * @q, which borrows them from @a and @out. Returns 0, or -errno with the reason.
 */
int scrape_auth_use(struct scrape_auth *a, struct scrape_credentials *out, struct fetch_all *q,
		    struct err *err);
