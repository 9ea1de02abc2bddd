/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The self-contained flame graph page: the program of ui/ and one profile in one HTML file that
 * loads nothing over the network.
 */
#include <stddef.h>

struct buf;
struct err;

/**
 * html_page_write() - append the page with its data
 *
 * @json is the output of page_json_write(). Characters that could end the element which contains
 * it are escaped here. @title may be NULL.
 *
 * After an error @out may hold a part of the page. The template and its hashes are checked when the
 * page is built, not here.
 *
 * Return: 0; -ENOTSUP if the program was built without the page; -ENOMEM.
 */
int html_page_write(const void *json, size_t len, const char *title, struct buf *out,
		    struct err *err);
