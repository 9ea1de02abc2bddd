/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The reason an operation failed, for an operator to read. Fixed size, no
 * allocation: it can be filled when memory has run out.
 */
struct err {
	int code;
	char msg[240];
};

/**
 * err_set() - record why an operation fails
 *
 * @err may be NULL: callers that only branch on the code pass nothing. An
 * error already recorded is kept, because the innermost cause is the useful
 * one. @code is negative (-errno).
 *
 * Return: @code, so that a failure is one statement.
 */
int err_set(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));
