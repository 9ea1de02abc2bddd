/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/symbol/tempdir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tempdir_make(void **state)
{
	char path[] = "/tmp/cameo-test-XXXXXX";

	*state = mkdtemp(path) ? strdup(path) : NULL;
	return *state ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

int tempdir_remove(void **state)
{
	nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(*state);
	return 0;
}
