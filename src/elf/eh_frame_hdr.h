/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* .eh_frame_hdr: where .eh_frame is; where functions begin, without reading all of that. */
#include <stdint.h>

struct elf_image;

/* The address of .eh_frame; -ENOENT: there is no header, or of no known form. */
int eh_frame_hdr_frame(const struct elf_image *img, uint64_t *out_vaddr);

/**
 * eh_frame_function_at() - the beginning of the function that holds @vaddr
 *
 * The search table may lie: then so does the answer, which is good for showing only.
 *
 * Return: 0; -ENOENT if no function of the table does, or it is of a form that
 * no linker writes.
 */
int eh_frame_function_at(const struct elf_image *img, uint64_t vaddr, uint64_t *out_start);
