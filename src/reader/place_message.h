/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The request of READER_PLACE, with the descriptor of a file. The result is that of
 * probe_place_find() (symbol/probe_place.h); the reply is the offset in the file, a uint64_t.
 */
#include <stdint.h>

enum { PLACE_NAME_MAX = 8192 };

struct place_request {
	uint64_t offset;
	char name[]; /* up to the end of the request, which is a NUL; PLACE_NAME_MAX bytes at most
		      */
};
