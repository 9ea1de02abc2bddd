/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Certificates and keys of a request, as memory files (pem.h): descriptors in the parent, and paths
 * in the process that downloads. Pure functions.
 */
#include <stddef.h>
#include <stdint.h>

struct http_client_options;

enum fetch_file { FETCH_CA, FETCH_CERT, FETCH_KEY, FETCH_FILES };

/* The paths of the files; they must outlive the options that point to them. */
struct fetch_file_paths {
	char of[FETCH_FILES][32];
};

/* Copies the valid ones of @fds to @out. Returns the bits 1 << enum fetch_file; *@out_n counts. */
uint32_t fetch_files_list(const int fds[FETCH_FILES], int out[FETCH_FILES], size_t *out_n);

/* Sets the files @bits, of the descriptors @fds, in @opt. Returns 0, or -EINVAL for other numbers.
 */
int fetch_files_use(uint32_t bits, const int *fds, size_t n_fds, struct fetch_file_paths *paths,
		    struct http_client_options *opt);
