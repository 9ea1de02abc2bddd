/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The self-contained page: the program of ui/ with one profile in it, as one
 * HTML file that asks nothing of any host.
 */
#include <stddef.h>

struct buf;
struct err;

/**
 * html_page_write() - the page around data that is JSON already
 *
 * @json is what codec/page_json.h writes; it may hold any names, as
 * everything that could end the element it stands in is escaped here. @title
 * may be NULL.
 *
 * Return: 0; -ENOTSUP if this build has no page; -ENOMEM.
 */
int html_page_write(const void *json, size_t len, const char *title, struct buf *out,
		    struct err *err);
