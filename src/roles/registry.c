/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/registry.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t pids[ROLE_CHILDREN_MAX];
static size_t n_pids;

void role_registry_add(pid_t pid)
{
	pthread_mutex_lock(&lock);
	if (n_pids < ROLE_CHILDREN_MAX)
		pids[n_pids++] = pid;
	pthread_mutex_unlock(&lock);
}

void role_registry_remove(pid_t pid)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_pids; i++)
		if (pids[i] == pid) {
			pids[i] = pids[--n_pids];
			break;
		}
	pthread_mutex_unlock(&lock);
}

size_t role_registry_pids(pid_t *out, size_t max)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = n_pids < max ? n_pids : max;
	memcpy(out, pids, n * sizeof(*out));
	pthread_mutex_unlock(&lock);
	return n;
}
