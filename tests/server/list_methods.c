/* SPDX-License-Identifier: Apache-2.0 */
/* Prints path, documentation, access and cost of each API method, for tests. */
#include <stdio.h>

#include "server/api.h"

static const char *access_of(const struct api_method *m)
{
	switch (m->access) {
	case API_OPEN:
		return "open";
	case API_CLIENT:
		return "client";
	case API_READ:
		return "read";
	case API_READ_ALL:
		return "read_all";
	case API_WRITE:
		return "write";
	case API_ADMIN:
		return "admin";
	case API_FORGOTTEN:
		break;
	}
	return "forgotten";
}

static void print(const struct api_method *m)
{
	printf("%s\t%s\t%s\t%s\n", m->path, m->doc, access_of(m),
	       m->cost == API_PUSH     ? "push"
	       : m->cost == API_QUERY  ? "query"
	       : m->cost == API_LOOKUP ? "lookup"
				       : "free");
}

int main(void)
{
	for (const struct api_list *const *list = api_lists; *list; list++)
		for (size_t i = 0; i < (*list)->n; i++)
			print(&(*list)->methods[i]);
	return 0;
}
