/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * A file to symbolize addresses of, as a caller of symbolizer_add_file() describes it. Descriptors
 * are duplicated and the path is copied: all remain the caller's.
 */
struct symbolizer_file {
	int fd;           /* the file */
	int root_fd;      /* root directory of the process; -1 for the host's */
	int debug_fd;     /* its separate debug file; -1 to search for one */
	const char *path; /* as the process sees it */
	uint64_t user;    /* of the process (proc/user.h) */
};
