/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The identity and the rights of an authenticated client. A value; it holds no pointers. */
#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

enum { CLIENT_NAME_MAX = 96, CLIENT_CREDENTIAL = 16 };

enum client_scope {
	CLIENT_READ = 1u << 0,  /* queries */
	CLIENT_WRITE = 1u << 1, /* pushes */
	CLIENT_ADMIN = 1u << 2, /* changes of the server and its data; includes the other two */
};

/* The scopes of a credential that names none. */
#define CLIENT_DEFAULT_SCOPES (CLIENT_READ | CLIENT_WRITE)

struct client {
	unsigned int scopes;
	char tenant[STORE_TENANT_MAX + 1]; /* "" for any */
	/* For logs: a user, "token LINE", the subject of a certificate or of an OIDC token. */
	char name[CLIENT_NAME_MAX];
	/* A keyed hash of the line in a file of credentials; zeros for clients without one. */
	uint8_t credential[CLIENT_CREDENTIAL];
	bool is_session; /* identified by a session of the web page */
};

/* Reads "read,write,admin" or a part of it, separated by commas or spaces. False if malformed. */
bool client_parse_scopes(const char *text, unsigned int *out);

/* Copies at most CLIENT_NAME_MAX - 1 bytes; control characters, quotes and spaces become '?'. */
void client_set_name(struct client *c, const char *name);
