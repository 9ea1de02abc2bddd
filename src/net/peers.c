/* SPDX-License-Identifier: Apache-2.0 */
#include "net/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 64 };

void peers_init(struct peers *p)
{
	*p = (struct peers){ 0 };
	pthread_mutex_init(&p->lock, NULL);
}

void peers_fini(struct peers *p)
{
	free(p->by_fd);
	pthread_mutex_destroy(&p->lock);
}

/* Descriptors are the lowest that are free, so the array is as long as connections are many. */
static int reserve(struct peers *p, size_t n)
{
	struct http_peer *more;

	if (n <= p->n)
		return 0;
	n += STEP + n / 2;
	more = realloc(p->by_fd, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + p->n, 0, (n - p->n) * sizeof(*more));
	p->by_fd = more;
	p->n = n;
	return 0;
}

int peers_put(struct peers *p, int fd, const struct http_peer *peer)
{
	int r;

	pthread_mutex_lock(&p->lock);
	r = reserve(p, (size_t)fd + 1);
	if (r == 0)
		p->by_fd[fd] = *peer;
	pthread_mutex_unlock(&p->lock);
	return r;
}

void peers_find(struct peers *p, int fd, struct http_peer *out)
{
	*out = (struct http_peer){ 0 };
	pthread_mutex_lock(&p->lock);
	if (fd >= 0 && (size_t)fd < p->n)
		*out = p->by_fd[fd];
	pthread_mutex_unlock(&p->lock);
}
