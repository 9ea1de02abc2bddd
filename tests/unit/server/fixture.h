/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A whole server on a directory of its own, and a client. Its data are three small profiles whose
 * answers a Pyroscope server was recorded to give; the tests compare with these.
 */
#include <stddef.h>
#include <stdint.h>

#include "net/http_client.h"
#include "server/server_options.h"

/* The time of the first profile. The range of the queries covers all. */
#define DATA_S     1795200000LL
#define DATA_RANGE "\"start\":1795199985000,\"end\":1795200030000"
#define CPU_TYPE   "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
/* The fields of a query of CPU time; @selector is a string literal in JSON's escapes. */
#define CPU_QUERY(selector)                                                                        \
	"\"profileTypeID\":\"" CPU_TYPE "\",\"labelSelector\":\"" selector "\"," DATA_RANGE
#define QUERIER "/querier.v1.QuerierService/"
#define PAGE    "/cameo.v1.PageService/"

struct server;

struct scene {
	char *dir;
	struct server *server;
	struct http_client *client;
	struct http_client_response
		answer; /* the last response; its body is NUL-terminated beyond len */
};

/*
 * Starts a server without data, or with shop's profiles of 11 samples at DATA_S and 10 samples
 * 15 s later, and mail's of 9 samples then. @opt may be NULL; address and directory are set here.
 */
void scene_begin(struct scene *s, const struct server_options *opt);
void scene_begin_with_data(struct scene *s, const struct server_options *opt);
void scene_end(struct scene *s);

/* Sends a request to @path and returns the status; the NULL-terminated @headers may be NULL. */
int scene_send(struct scene *s, const char *method, const char *path, const char *const *headers,
	       const void *body, size_t len);
int scene_get(struct scene *s, const char *path);
/* POSTs JSON. */
int scene_post(struct scene *s, const char *path, const char *json);
const char *scene_text(const struct scene *s);
/* Fails unless the response begins with @text. */
void scene_begins(const struct scene *s, const char *text);

/* Fails unless a POST of @json has this response. */
void scene_expect(struct scene *s, const char *path, const char *json, int status,
		  const char *answer);
/* Fails unless a POST of @json is refused as @code, with @words in the message. */
void scene_refuses(struct scene *s, const char *path, const char *json, int status,
		   const char *code, const char *words);
/* The total of the CPU time selected, 10 ms for each sample; @range is fields in JSON. */
int64_t scene_total(struct scene *s, const char *selector, const char *range);

/*
 * The flame graph in a response, of Connect or of /pyroscope/render: a line for each level and a
 * word for each bar, NAME:OFFSET/TOTAL/SELF, the last three once for each of @n_sides. Free it.
 */
char *scene_flame(const struct scene *s, int n_sides);
