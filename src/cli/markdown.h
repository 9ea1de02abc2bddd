/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Untrusted text in Markdown, in the dialect that GitHub and GitLab share. */
struct buf;

/*
 * Appends @text as a code span that may stand in a cell of a table: no character of it is markup,
 * HTML, a mention or a reference, and it cannot end the line. Longer text is cut after about 200
 * bytes. Empty text becomes "(no name)".
 */
void markdown_code(struct buf *out, const char *text);
