/* SPDX-License-Identifier: Apache-2.0 */
#include "roles/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

int role_memfd_extend(struct role_memfd *m, int fd, size_t len)
{
	void *data = ftruncate(fd, (off_t)len) < 0
			     ? MAP_FAILED
			     : mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (data == MAP_FAILED)
		return -errno;
	*m = (struct role_memfd){ data, len, fd };
	return 0;
}

int role_memfd_lend(void)
{
	int fd = memfd_create("cameo", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

int role_memfd_accept(int fd, size_t len)
{
	struct stat st;

	if (fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) < 0 || fstat(fd, &st) < 0)
		return -EBADMSG;
	return (uint64_t)st.st_size == len ? 0 : -EBADMSG;
}

void role_memfd_reclaim(int fd)
{
	if (ftruncate(fd, 0) == 0)
		(void)fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL);
	close(fd);
}

int role_memfd_new(struct role_memfd *m, size_t len)
{
	int fd = role_memfd_lend(), r;

	if (fd < 0)
		return fd;
	r = role_memfd_extend(m, fd, len);
	if (r < 0)
		close(fd);
	return r;
}

int role_memfd_seal(struct role_memfd *m)
{
	int r;

	/* a writable mapping would prevent the seal against writing */
	munmap(m->data, m->len);
	m->data = NULL;
	r = fcntl(m->fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) < 0 ? -errno : m->fd;
	if (r < 0)
		close(m->fd);
	m->fd = -1;
	return r;
}

int role_memfd_map(struct role_memfd *m, int fd, size_t max)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *data;

	if (seals < 0 || (seals & SEALS) != SEALS)
		return -EBADMSG;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || (size_t)st.st_size > max)
		return -EFBIG;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED)
		return -errno;
	*m = (struct role_memfd){ data, (size_t)st.st_size, -1 };
	return 0;
}

void role_memfd_unmap(struct role_memfd *m)
{
	if (m->data)
		munmap(m->data, m->len);
	m->data = NULL;
}
