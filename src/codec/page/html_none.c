/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces html.c in a build without the page (-Dui=disabled). */
#include "codec/page/html.h"

#include <errno.h>

#include "base/err.h"

int html_page_write(const void *json, size_t len, const char *title, struct buf *out,
		    struct err *err)
{
	return err_set(err, -ENOTSUP,
		       "cannot write a page: this cameo was built without it (-Dui=disabled)");
}
