/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client.h"

#include <string.h>

static unsigned int scope_of(const char *text, size_t len)
{
	static const struct {
		const char *name;
		unsigned int scopes;
	} all[] = { { "read", CLIENT_READ },
		    { "write", CLIENT_WRITE },
		    { "admin", CLIENT_READ | CLIENT_WRITE | CLIENT_ADMIN } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strlen(all[i].name) == len && !memcmp(all[i].name, text, len))
			return all[i].scopes;
	return 0;
}

bool client_parse_scopes(const char *text, unsigned int *out)
{
	static const char separators[] = ", ";
	unsigned int scopes = 0;

	for (text += strspn(text, separators); *text; text += strspn(text, separators)) {
		size_t len = strcspn(text, separators);
		unsigned int one = scope_of(text, len);

		if (!one)
			return false;
		scopes |= one;
		text += len;
	}
	if (scopes)
		*out = scopes;
	return scopes != 0;
}

void client_set_name(struct client *c, const char *name)
{
	size_t n = 0;

	for (; name[n] && n + 1 < CLIENT_NAME_MAX; n++) {
		unsigned char byte = (unsigned char)name[n];

		c->name[n] =
			byte <= ' ' || byte == 0x7f || byte == '"' || byte == '\\' ? '?' : name[n];
	}
	c->name[n] = '\0';
}
