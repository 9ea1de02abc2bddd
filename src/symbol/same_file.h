/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/**
 * same_file() - do two ELF files have the same names at the same addresses?
 *
 * Compares bytes: all headers and every section but code. Where that is much
 * (a gigabyte of DWARF) or a file can't be read, they count as different, which
 * costs memory only. Runs under sigbus_run() itself.
 */
bool same_file(int fd_a, int fd_b);
