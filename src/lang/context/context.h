/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Finds the files that can publish contexts, and the layouts by which the walk reads them
 * (bpf/shared/context.h). process/runtimes.h knows the processes that have such a file mapped.
 *
 * A reader is a line in bpf/shared/contexts.def and a struct context_ops.
 */
#include <stdint.h>

#include "bpf/shared/context.h"

struct elf_image;

struct context_ops {
	/*
	 * Determines whether @img publishes contexts in this way. Called under sigbus_run().
	 * Return: 0 and *@out, whose kind is set; -ENOENT.
	 */
	int (*detect)(const struct elf_image *img, struct context_layout *out);
};

extern const struct context_ops context_otel_ops, context_custom_ops, context_golang_ops;

/*
 * Finds the layout of @img, and one address in its code with its file offset, which yield a
 * mapping's load bias. A file has one layout: the first of contexts.def that detects it. Return: 0;
 * -ENOENT if the file publishes nothing.
 */
int context_detect(const struct elf_image *img, struct context_layout *out, uint64_t *out_off,
		   uint64_t *out_vaddr);

/* Return: 0; -EBADMSG if a reader that works as intended would not send this. */
int context_layout_check(const struct context_layout *l);
