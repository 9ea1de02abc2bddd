/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * .eh_frame_hdr: the address of .eh_frame, and a search table of function starts, which avoids
 * reading all of .eh_frame.
 */
#include <stdint.h>

struct elf_image;

/* Finds the address of .eh_frame; -ENOENT if there is no header, or of an unknown form. */
int eh_frame_hdr_frame(const struct elf_image *img, uint64_t *out_vaddr);

/**
 * eh_frame_function_at() - find the start of the function that holds @vaddr
 *
 * The search table is not checked against .eh_frame, so a false one gives a false result, which is
 * good enough for display only.
 *
 * Return: 0; -ENOENT if no function of the table holds it, or the table has a form that no linker
 * writes.
 */
int eh_frame_function_at(const struct elf_image *img, uint64_t vaddr, uint64_t *out_start);

/*
 * Returns the end of the function that holds @vaddr, or where none does the start of the next one;
 * UINT64_MAX if the table has neither. It bounds symbols without a size; as above, a false table
 * gives a false result.
 */
uint64_t eh_frame_function_bound(const struct elf_image *img, uint64_t vaddr);
