/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl with GnuTLS reads certificates from paths only, which is why they are memory files: any
 * process may open one through its own /proc/self/fd.
 */
#include "fetch/fetch_files.h"

#include <errno.h>
#include <stdio.h>

#include "net/http_client.h"

uint32_t fetch_files_list(const int fds[FETCH_FILES], int out[FETCH_FILES], size_t *out_n)
{
	uint32_t bits = 0;

	*out_n = 0;
	for (int i = 0; i < FETCH_FILES; i++)
		if (fds[i] >= 0) {
			out[(*out_n)++] = fds[i];
			bits |= 1u << i;
		}
	return bits;
}

int fetch_files_use(uint32_t bits, const int *fds, size_t n_fds, struct fetch_file_paths *paths,
		    struct http_client_options *opt)
{
	const char **const options[FETCH_FILES] = { &opt->ca_file, &opt->cert_file,
						    &opt->key_file };
	size_t n = 0;

	if (bits >> FETCH_FILES || (size_t)__builtin_popcount(bits) != n_fds)
		return -EINVAL;
	for (int i = 0; i < FETCH_FILES; i++) {
		if (!(bits >> i & 1))
			continue;
		snprintf(paths->of[i], sizeof(paths->of[i]), "/proc/self/fd/%d", fds[n++]);
		*options[i] = paths->of[i];
	}
	return 0;
}
