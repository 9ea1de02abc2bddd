/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct err;

/*
 * Records in @err why the kernel refused to do @what (a verb phrase: "open a perf event"),
 * with the remedy if one is known: lockdown, privileges. @r is the -errno of the system call.
 * Return: @r.
 */
int kernel_error(int r, const char *what, struct err *err);
