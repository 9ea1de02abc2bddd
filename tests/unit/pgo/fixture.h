/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Profiles of one sample type with a mapping, function and location for each frame. */
#include <stddef.h>
#include <stdint.h>

struct profile;

struct fixture_frame {
	const char *binary, *function, *file;
	uint32_t line, start_line;
};

struct profile *fixture_new(const char *type, const char *unit);

/* Adds a sample whose stack is these frames, leaf first, until one without a binary. */
void fixture_sample(struct profile *p, const struct fixture_frame *frames, int64_t value);
