/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The web page, which asks the rest of the server through its API. */

struct http_request;
struct http_response;

/* Answer a GET of the page; a build without it (-Dui=disabled) says so. */
void page_serve(const struct http_request *rq, struct http_response *rs);
