/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The role cameo-exporter: processes that use the network, to send profiles to back ends and to
 * download debug files, lists of pods and profiles of programs (fetch/fetcher.h). They have a
 * network and TLS, but no capabilities, no access to other processes and, if the agent is started
 * by root, a user of their own. They hold nothing that could be lost: an item belongs to the
 * agent's queue or spool until an exporter has replied that it was delivered.
 */
#include <stddef.h>

struct role;

enum { EXPORTER_MEMORY = 64 << 20 }; /* limit of the heap of each process */

/* main() of a program that creates an exporter must pass it to role_main(). */
extern const struct role exporter_role;
