/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `cameo top` on a terminal. */
struct err;
struct top_source;
struct top_view;

/* Show what @s gives, first as @view, until the user quits: 0, or -errno. @what is named at the
 * top. */
int top_screen_run(struct top_source *s, const struct top_view *view, const char *what,
		   struct err *err);
