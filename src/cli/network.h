/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The processes that use the network on behalf of a command: a launcher of processes in the
 * exporter's role (export/exporter_role.h), and fetchers that download files through such a
 * process. They are started before the command drops its privileges, because they have to leave
 * root's user. One thread.
 */
#include <stdbool.h>

struct err;
struct fetcher;
struct role_launcher;

struct network {
	struct role_launcher *launcher; /* NULL: the command does not use the network */
	struct fetcher *fetcher;        /* NULL: it downloads nothing */
	struct fetcher *scraping;       /* for the scraper; NULL: it scrapes nothing */
};

enum network_use {
	NETWORK_SENDS = 1u << 0,
	NETWORK_DOWNLOADS = 1u << 1,
	NETWORK_SCRAPES = 1u << 2,
};

/* @uses: bits of enum network_use, or none. Returns 0 or -errno with the reason. */
int network_open(struct network *n, unsigned int uses, struct err *err);
/* Ends the processes. Users of the launcher and the fetcher must be gone. */
void network_close(struct network *n);

/* Returns true if the launcher was killed, after which no new process can use the network. */
bool network_has_died(const struct network *n);
