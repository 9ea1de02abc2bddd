/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A directory that looks like a host's root, or /proc. */
struct tree {
	char dir[64];
};

void tree_init(struct tree *t);
void tree_fini(struct tree *t);

/* Write a file, and the folders above it. */
void tree_file(const struct tree *t, const char *path, const void *data, unsigned long len);
void tree_text(const struct tree *t, const char *path, const char *text);
void tree_dir(const struct tree *t, const char *path);
