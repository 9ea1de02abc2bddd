/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/**
 * same_file() - compare two ELF files for identical symbol information
 *
 * Compares all headers and the content of every section except code. Files
 * that cannot be read, or whose sections exceed 64 MiB, count as different.
 * The caller then symbolizes them separately, which costs memory but is
 * correct. The function runs under sigbus_run() itself; descriptors are
 * borrowed.
 */
bool same_file(int fd_a, int fd_b);
