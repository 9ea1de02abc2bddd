/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each list of api.def is declared here and defined in the file that implements its methods, so a
 * list without a definition is an error of the linker and not a missing method.
 */
#include "server/api.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "net/http_server.h"
#include "server/connect.h"

#define X(list) extern const struct api_list list;
#include "server/api.def"
#undef X

const struct api_list *const api_lists[] = {
#define X(list) &list,
#include "server/api.def"
#undef X
	NULL,
};

/* The root has a length of 1: it is a page of its own and not the prefix of all paths. */
static bool is_below(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	return len > 1 && prefix[len - 1] == '/' && !strncmp(path, prefix, len);
}

const struct api_method *api_find(const struct api_list *const *lists, const char *path)
{
	const struct api_method *below = NULL;

	for (; *lists; lists++) {
		for (size_t i = 0; i < (*lists)->n; i++) {
			const struct api_method *m = &(*lists)->methods[i];

			if (!strcmp(m->path, path))
				return m;
			if (is_below(path, m->path))
				below = m;
		}
	}
	return below;
}

bool api_reads_body(const struct api_method *m)
{
	return m && m->framing != connect_get;
}

int api_unknown_method(struct rpc *rpc)
{
	return err_set(rpc->err, -ENXIO, "unknown method \"%.60s\"",
		       http_request_path(rpc->rq) + strlen(rpc->api->path));
}
