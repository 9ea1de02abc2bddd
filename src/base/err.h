/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The reason for which an operation failed, for the operator. It has a fixed size and needs no
 * allocation, so it can be filled when memory has run out. A zeroed struct is "no error".
 */
struct err {
	int code;
	char msg[240]; /* lower case, no full stop; truncated if longer */
};

/**
 * err_set() - record why an operation fails
 *
 * @err may be NULL for callers that only need the code. An error that is already recorded is
 * kept, because the innermost cause is the useful one. @code is a negative errno.
 *
 * Return: @code, so that a failure is one statement.
 */
int err_set(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));
