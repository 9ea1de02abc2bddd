/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/debug_search.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "symbol/debugfile.h"
#include "symbol/file.h"

enum { ATTEMPTS_MAX = 32 };

/* A candidate must have the build id or the CRC. */
struct proof {
	struct elf_build_id id; /* no bytes: any file is right unless @link is set */
	const char *link;
	uint32_t crc;
};

static bool is_proved(const struct proof *p, int fd)
{
	if (p->id.len && debugfile_check(fd, &p->id))
		return true;
	return p->link ? debugfile_has_crc(fd, p->crc) : !p->id.len;
}

/* Requests candidates until one is proved to be the file. */
static int search(struct protocol_need *need, const struct proof *p, debug_need_fn fn, void *ctx)
{
	int fd = -ENOENT;

	for (; need->attempt < ATTEMPTS_MAX && fd != -ERANGE; need->attempt++) {
		fd = fn(ctx, need);
		if (fd < 0)
			continue;
		if (is_proved(p, fd))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

int debug_search(const struct symbol_file *own, debug_need_fn need, void *ctx)
{
	struct proof p = { .id = *symbol_file_build_id(own) };
	struct protocol_need n = { .kind = PROTOCOL_NEED_DEBUG, .name = "", .dir = "" };

	p.link = symbol_file_debuglink(own, &p.crc);
	if (!p.id.len && !p.link)
		return -ENOENT;
	if (p.link)
		n.name = p.link;
	n.id = p.id.bytes;
	n.id_len = p.id.len;
	return search(&n, &p, need, ctx);
}

int debug_search_alt(const char *name, const uint8_t *id, size_t id_len, debug_need_fn need,
		     void *ctx)
{
	struct proof p = { 0 };
	struct protocol_need n = { PROTOCOL_NEED_ALT, 0, name, "", id, id_len };

	if (id_len > ELF_BUILD_ID_MAX)
		return -ENOENT;
	p.id.len = (uint8_t)id_len;
	memcpy(p.id.bytes, id, id_len);
	return search(&n, &p, need, ctx);
}
