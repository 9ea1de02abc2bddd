/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Detects Go. Its programs are native code and have no virtual machine, but a new version may
 * change the table of functions, without which a stripped program has neither names nor unwind
 * rules.
 */
struct elf_image;

enum { GOLANG_VERSION_BYTES = 24 };

/*
 * Determines whether @img was linked by Go 1.13 or later, which leaves its version in the file:
 * "1.27.1" in @version, "" if it is unknown. Return: 0; -ENOENT if it was not; -ENOTSUP if it was
 * but its table of functions is not readable.
 */
int golang_detect(const struct elf_image *img, char version[GOLANG_VERSION_BYTES]);
