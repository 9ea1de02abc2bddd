/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the path and the line of documentation of each API method, for tests of the docs. */
#include <stdio.h>

#include "server/api.h"

int main(void)
{
	for (const struct api_list *const *list = api_lists; *list; list++)
		for (size_t i = 0; i < (*list)->n; i++)
			printf("%s\t%s\n", (*list)->methods[i].path, (*list)->methods[i].doc);
	return 0;
}
