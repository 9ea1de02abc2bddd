/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A tree is a temporary directory that imitates a host's root directory or /proc. */
struct tree {
	char dir[64];
};

void tree_init(struct tree *t);
void tree_fini(struct tree *t);

/* Writes a file, after creating the directories above it. */
void tree_file(const struct tree *t, const char *path, const void *data, unsigned long len);
void tree_text(const struct tree *t, const char *path, const char *text);
void tree_dir(const struct tree *t, const char *path);
