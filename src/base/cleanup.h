/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ownership by scope. f(&variable) runs when a local marked _cleanup_(f) goes out of scope;
 * steal_ptr() and steal_fd() return its value and leave NULL or -1, which f ignores.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

/* Defines fn##p() for _cleanup_(), from a function that takes the pointer itself. */
#define DEFINE_FREEP(type, fn)                                                                     \
	static inline void fn##p(type **p)                                                         \
	{                                                                                          \
		fn(*p);                                                                            \
	}

#define steal_ptr(pp)                                                                              \
	({                                                                                         \
		__auto_type steal_ptr_pp_ = (pp);                                                  \
		__auto_type steal_ptr_v_ = *steal_ptr_pp_;                                         \
		*steal_ptr_pp_ = NULL;                                                             \
		steal_ptr_v_;                                                                      \
	})

static inline int steal_fd(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}
