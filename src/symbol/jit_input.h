/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reads a runtime's file through a window, which moves forward when it has to. One thread. */
#include <stddef.h>
#include <stdint.h>

enum { JIT_INPUT_WINDOW = 64 * 1024 };

struct jit_input {
	int fd;
	uint64_t end; /* nothing is read from here on */
	uint64_t off; /* of the window */
	size_t len;
	uint8_t window[JIT_INPUT_WINDOW];
};

/*
 * Returns the bytes at @off, valid until the next call, and their number in *@out_len: at least
 * @need, which is at most JIT_INPUT_WINDOW, unless the file ends before that or cannot be read.
 */
const uint8_t *jit_input_at(struct jit_input *in, uint64_t off, size_t need, size_t *out_len);
