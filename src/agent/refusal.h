/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct err;

/* Say why the kernel did not let us do @what (-errno @r), and how to mend it. Return: @r. */
int refusal(int r, const char *what, struct err *err);
