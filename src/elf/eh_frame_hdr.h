/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * .eh_frame_hdr: the address of .eh_frame, and a search table of function starts, which avoids
 * reading all of .eh_frame.
 */
#include <stdbool.h>
#include <stdint.h>

struct elf_image;

/* Finds the address of .eh_frame; -ENOENT if there is no header, or of an unknown form. */
int eh_frame_hdr_frame(const struct elf_image *img, uint64_t *out_vaddr);

/* The function that holds an address or, if none does, the code between two functions. */
struct eh_frame_around {
	bool is_function;
	/*
	 * the function's start, or the end of the one before (its start if its FDE is unreadable)
	 */
	uint64_t lo; /* 0 if there is none */
	uint64_t hi; /* the function's end, or the start of the next; UINT64_MAX if there is none */
};

/**
 * eh_frame_functions_around() - find the function that holds @vaddr, or its neighbors
 *
 * The search table is not checked against .eh_frame, so a false one gives a false result, which is
 * good enough for display only.
 *
 * Return: 0; -ENOENT if there is no table, or one of a form that no linker writes.
 */
int eh_frame_functions_around(const struct elf_image *img, uint64_t vaddr,
			      struct eh_frame_around *out);
