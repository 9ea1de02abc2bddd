/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parent opens candidates for the debug file, by names alone. The reader checks that one
 * belongs to the executable, by its build id or the CRC in .gnu_debuglink, since that means to read
 * it.
 */
#include "reader/table_job.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sigbus.h"
#include "elf/debuglink.h"
#include "elf/image.h"
#include "elf/note.h"
#include "reader/table_message.h"
#include "roles/memfd.h"
#include "roles/role.h"
#include "unwind/file_rows.h"
#include "unwind/flat_table.h"
#include "unwind/pages.h"

enum {
	ATTEMPTS_MAX = 16,
	CRC_BYTES_MAX = 1 << 30, /* of a debug file that is found by its name */
};

_Static_assert((int)TABLE_LINK_MAX == (int)ELF_DEBUGLINK_NAME_MAX, "a link fits");

struct job {
	struct role_call *call;
	struct elf_image *img, *debug;
	int debug_fd;
	struct unwind_rows rows;
	struct unwind_pages pages;
};

/* The checksum is over the whole file: a large one would exceed the time limit. */
static bool has_crc(const struct elf_image *img, int fd, const struct elf_debuglink *link)
{
	struct stat st;

	return link->name[0] && fstat(fd, &st) == 0 && st.st_size <= CRC_BYTES_MAX &&
	       elf_debuglink_crc(img) == link->crc;
}

static bool has_build_id(const struct elf_image *img, const struct elf_build_id *expected)
{
	struct elf_build_id id;

	elf_note_gnu_build_id(img, &id);
	return id.len && id.len == expected->len && !memcmp(id.bytes, expected->bytes, id.len);
}

/* Opens the candidate @fd, which it closes, if it belongs to the file. */
static int open_candidate(struct job *j, int fd, const struct elf_build_id *id,
			  const struct elf_debuglink *link)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int owned = fd;

	if (elf_image_open(&img, fd, NULL) < 0)
		return -ENOENT;
	if (!has_build_id(img, id) && !has_crc(img, fd, link))
		return -ENOENT;
	j->debug = steal_ptr(&img);
	j->debug_fd = steal_fd(&owned);
	return 0;
}

/* Requests candidates until one belongs to the file. Return: 0; -ENOENT if none does; -errno. */
static int find_debug_file(struct job *j)
{
	struct elf_debuglink link = { 0 };
	struct table_need need = { 0 };
	struct elf_build_id id;
	int r = -ENOENT;

	elf_note_gnu_build_id(j->img, &id);
	if (elf_debuglink(j->img, &link) < 0)
		link.name[0] = '\0';
	memcpy(need.link, link.name, sizeof(need.link));
	for (; need.attempt < ATTEMPTS_MAX && r == -ENOENT; need.attempt++) {
		int fd = -1;

		r = role_call_question(j->call, READER_NEED_DEBUG, &need, sizeof(need), &fd);
		if (r == 0)
			r = fd < 0 ? -ENOENT : open_candidate(j, fd, &id, &link);
	}
	return r;
}

/* Reads the rows; those before a malformed part are valid. */
static int read_rows(struct job *j)
{
	int r = unwind_rows_from_file(&j->rows, j->img, NULL);

	if (r == 0 && !j->rows.len && find_debug_file(j) == 0)
		r = unwind_rows_from_debug_file(&j->rows, j->img, j->debug, NULL);
	return r == -EBADMSG ? 0 : r;
}

/* The reply is a sealed memory file, so the parent can check it once and then use it in place. */
static int send_table(struct job *j)
{
	struct role_memfd m;
	int r;

	/* for the limit of memory; the rules are still needed */
	vec_fini(&j->rows);
	r = role_memfd_new(&m, flat_table_len(&j->pages, j->rows.rules));

	if (r < 0)
		return r;
	flat_table_write(m.data, &j->pages, j->rows.rules, j->rows.unswept);
	r = role_memfd_seal(&m);
	if (r >= 0)
		j->call->reply_fds[j->call->n_reply_fds++] = r;
	return r < 0 ? r : 0;
}

/* Runs under sigbus_run(), because a file that is truncated meanwhile raises SIGBUS. */
static int make_table(void *ctx)
{
	struct job *j = ctx;
	int r = elf_image_open(&j->img, j->call->fds[0], NULL);

	/* -EBADMSG means to the parent that the reader failed */
	if (r == -EBADMSG)
		return -ENOEXEC;
	if (r == 0)
		r = read_rows(j);
	if (r == 0)
		r = unwind_pages_build(&j->pages, &j->rows, NULL);
	/* a file of another machine has no rules, and no table */
	return r < 0 ? r : j->rows.rules ? send_table(j) : -ENOEXEC;
}

int reader_table_job(struct role_call *call)
{
	const struct table_request *q = call->request;
	struct job j = { .call = call, .debug_fd = -1, .rows.sweep_all = q->sweep_all };
	int r;

	if (call->n_fds != 1)
		return -EINVAL;
	r = sigbus_run(make_table, &j);
	unwind_pages_fini(&j.pages);
	unwind_rows_fini(&j.rows);
	elf_image_free(j.img);
	elf_image_free(j.debug);
	closep(&j.debug_fd);
	return r;
}
