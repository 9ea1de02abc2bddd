/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct lang_process;
struct lang_side_file;

/*
 * Opens a file next to the one that the process has mapped at file->addr, as the process sees it.
 * Call lang_side_file_is_valid() first. Return: a descriptor that the caller closes; -ENOENT;
 * another -errno.
 */
int side_path_open(const struct lang_process *p, const struct lang_side_file *file);
