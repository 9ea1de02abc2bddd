/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files of certificates and keys for a process that may not open them: copies in sealed memory
 * files, renewed when the files change. One thread.
 */
#include <stdbool.h>
#include <sys/stat.h>

#include "base/cleanup.h"

struct err;

/* PEM_NONE before pem_open(). */
struct pem {
	char *path;     /* NULL: none */
	bool is_secret; /* other users may not have access (secret_file.h) */
	struct stat st; /* of the file, when it was copied */
	int fd;         /* the copy; -1: none */
};

#define PEM_NONE ((struct pem){ .fd = -1 })

/*
 * Copies the file @path, which may be NULL: then there is none. Returns 0; -EINVAL with the reason
 * if it cannot be read; -ENOMEM.
 */
int pem_open(struct pem *p, const char *path, struct err *err);
/*
 * Copies a private key; a file to which other users have access is refused. Returns the same values
 * as pem_open().
 */
int pem_open_secret(struct pem *p, const char *path, struct err *err);
void pem_close(struct pem *p);

/* Copies the file again if it has changed. Returns 0, or -errno with the reason. */
int pem_refresh(struct pem *p, struct err *err);
