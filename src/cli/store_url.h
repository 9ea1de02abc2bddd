/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The URL of a ClickHouse database, as the store expects it, with the password, which must not be
 * on a command line, because every user of the machine can read those.
 */
struct err;

/*
 * Inserts the password after the user in @url. It comes from the file @password_file or, if that is
 * NULL, from $CAMEO_STORE_PASSWORD. Without either the URL is copied. Returns 0, -EINVAL if @url
 * has a password, or has no user for one, or -errno. The caller frees *@out.
 */
int store_url_complete(const char *url, const char *password_file, char **out, struct err *err);
