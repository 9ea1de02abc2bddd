/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for page.c in a build without the page (-Dui=disabled). */
#include <errno.h>

#include "base/err.h"
#include "server/rpc.h"

int page_get(struct rpc *rpc)
{
	return err_set(rpc->err, -ENOENT, "this cameo was built without the page (-Dui=disabled)");
}
