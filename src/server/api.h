/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The registry of API methods. An entry describes a method completely: its path, how requests and
 * responses are framed, who may call it, what it costs, its handler, and one line of documentation.
 * Routing, authentication, counters, memory reservations, gRPC and the check of docs/api.md
 * (tests/server/examples.py) all follow from it.
 *
 * To add a method, add an entry to the list of the file that implements it; to add a file, define
 * a list there and name it in api.def.
 *
 * An entry with the path "/service/" catches every method of a service that has no entry of its
 * own, so that clients get an error of the right protocol instead of a plain 404. Everything is
 * constant; any thread.
 */
#include <stddef.h>

#include "server/rpc.h"

/*
 * A client's tenant is its own (server/auth.h), the one that it names in X-Scope-OrgID, or
 * "anonymous".
 */
enum api_access {
	API_FORGOTTEN, /* nobody: every method states its access */
	API_OPEN,      /* anyone */
	API_CLIENT,    /* authenticated clients of any scope; neither reads nor changes data */
	API_READ,      /* clients that may read; rpc->tenant is set */
	API_READ_ALL,  /* clients that may read and are not restricted to one tenant */
	API_WRITE,     /* clients that may write; rpc->tenant and rpc->sink are set */
	API_ADMIN,     /* clients that may administrate; rpc->tenant and rpc->sink are set */
};

/*
 * The cost of a request, which also decides who runs it (server/pools.h). All but free ones are
 * counted and reserve memory beforehand. The numbers begin at 1, so that an entry without a cost
 * fails a test.
 */
enum api_cost {
	API_FREE = 1, /* constant work; answered even when memory is short */
	API_LOOKUP,   /* reads names, labels or sizes from the store, but no profiles */
	API_QUERY,    /* reads profiles from the store */
	API_PUSH,     /* stores its body */
	API_VERIFY,   /* verifies a password, which takes milliseconds of a processor */
};

struct api_method {
	const char *path; /* of HTTP, Connect and gRPC; a trailing / matches every path below */
	void (*framing)(struct rpc *rpc, rpc_fn run); /* connect.h, grpc.h */
	rpc_fn run;
	enum api_access access;
	enum api_cost cost;
	const char *doc;  /* what it does, in the imperative */
	const void *args; /* for run, which finds them in rpc->api */
	/*
	 * The names of its arguments in the URL, with spaces in between; NULL for none. Others are
	 * refused (arguments.h), or reported if "*" is one of the names. Free methods have any.
	 */
	const char *arguments;
};

struct api_list {
	const struct api_method *methods;
	size_t n;
};

/* Defines the list @name from the array @array. */
#define API_LIST(name, array)                                                                      \
	const struct api_list name = { array, sizeof(array) / sizeof((array)[0]) }

/* All lists of this server, ended by NULL. */
extern const struct api_list *const api_lists[];

/*
 * Finds the method for a path: the one with exactly this path, else one whose path ends in / and
 * begins it. Returns NULL if there is none. The root "/" is not a prefix. The search is linear over
 * some forty entries, a small part of a request. Among paths that end in / the last match in the
 * lists is used.
 */
const struct api_method *api_find(const struct api_list *const *lists, const char *path);

/*
 * Returns true if the method uses the body of a request. @m may be NULL: an unknown path. The
 * bodies of other requests are discarded as they arrive.
 */
bool api_reads_body(const struct api_method *m);

/* A handler for paths below a service: fails with -ENXIO and names the unknown method. */
int api_unknown_method(struct rpc *rpc);
