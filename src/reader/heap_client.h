/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The heap profile of one Go process, which a reader reads from its memory (heap_message.h). The
 * process is not stopped. One thread; opener_start() must have been called.
 */
#include <stdint.h>

struct err;
struct golang_heap_counts;
struct profile;

/*
 * Return: 0 and a new profile, as golang_heap_read() makes it, with counts that are within their
 * limits; -errno with the reason in @err.
 */
int heap_client_read(uint32_t pid, struct profile **out, struct golang_heap_counts *counts,
		     struct err *err);
