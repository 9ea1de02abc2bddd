/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Config files: lines of KEY = VALUE, where a key is the name of an option. Blank lines and lines
 * that begin with # or ; are skipped. A key of type TEXTS may be repeated.
 */
#include <stddef.h>

struct err;
struct option_set;

enum { CONFIG_FILE_MAX = 1 << 20 };

/* Assigns @value to the option called @key. Returns 0; -EINVAL with the reason; -ENOMEM. */
int config_file_assign(const struct option_set *set, const char *key, const char *value,
		       struct err *err);

/*
 * Reads @len bytes of @text line by line. Errors begin with "@name:LINE: ". The lines before an
 * error have been assigned. Results as above.
 */
int config_file_parse(const struct option_set *set, const char *name, const char *text, size_t len,
		      struct err *err);

/* Reads the file @path, of at most CONFIG_FILE_MAX bytes. Results as above, or -errno. */
int config_file_read(const struct option_set *set, const char *path, struct err *err);
