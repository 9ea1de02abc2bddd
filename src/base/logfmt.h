/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Lines of logs in logfmt: KEY=VALUE pairs, separated by spaces. */
struct buf;

/*
 * Appends @key="@text" to @line. Quotes and backslashes in the text are escaped, and so are control
 * characters, because the text may come from elsewhere and must stay one value of one line.
 */
void logfmt_put(struct buf *line, const char *key, const char *text);
