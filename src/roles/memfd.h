/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Results too large for a message: the child fills a memory file and seals it, so that it can
 * change no more, and sends its descriptor. The parent maps it read-only and still checks every
 * byte that it uses: sealed means unchanging, not valid.
 */
#include <stddef.h>

struct role_memfd {
	void *data; /* read-only after role_memfd_map() */
	size_t len;
	int fd; /* -1 in the parent, whose descriptor belongs to the reply */
};

/* The child's side. @len is limited by the memory of the role. Returns 0 or -errno. */
int role_memfd_new(struct role_memfd *m, size_t len);
/* Unmaps and seals. Returns the descriptor, which passes to the caller, or -errno. */
int role_memfd_seal(struct role_memfd *m);

/* Makes the memory file @fd, which stays the caller's, @len bytes long and maps it for writing. */
int role_memfd_extend(struct role_memfd *m, int fd, size_t len);

/*
 * A memory file of the parent that a child fills (role_memfd_extend()): it can be emptied without
 * the child, which may hang. Returns a descriptor or -errno.
 */
int role_memfd_lend(void);
/* Seals a file that the child has filled with @len bytes. Returns 0, or -EBADMSG if it has not. */
int role_memfd_accept(int fd, size_t len);
/* Frees the memory of the file for good, even if the child has it mapped. Closes @fd. */
void role_memfd_reclaim(int fd);

/*
 * The parent's side: maps @fd, which stays the caller's. Returns 0; -EBADMSG if it is not a sealed
 * memory file; -EFBIG if it is empty or larger than @max; -errno.
 */
int role_memfd_map(struct role_memfd *m, int fd, size_t max);
void role_memfd_unmap(struct role_memfd *m);
