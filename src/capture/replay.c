/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a capture. Each file of the core is opened on this machine or put together from its
 * parts in a memory file; then the walk runs on the memory in the core.
 *
 * Files are passed on as /proc/self/fd/N, a path that is unique for each file of the core even
 * where two captured paths were equal, and stays valid if the file is replaced meanwhile. A missing
 * file gets a path that cannot exist, which makes the walk use frame pointers as the agent does
 * without a file.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/regular_file.h"
#include "base/utf8.h"
#include "capture/capture.h"
#include "capture/core.h"
#include "capture/stack_trace.h"
#include "elf/image.h"

struct replay_file {
	int fd; /* -1: the file is missing */
	bool is_partial;
};

struct replaying {
	struct core core;
	struct stack_trace *trace;
	struct {
		VEC(struct replay_file);
	} files; /* the same index as the core's */
};

static void replaying_fini(struct replaying *r)
{
	for (size_t i = 0; i < r->files.len; i++)
		closep(&r->files.data[i].fd);
	vec_fini(&r->files);
	stack_trace_free(r->trace);
	core_fini(&r->core);
}

/*
 * A file without a build id matches only a capture that has none; size is then the only evidence.
 * The core files of other programs record neither, so any file at the path is accepted.
 */
static bool has_build_id(int fd, const struct elf_build_id *id)
{
	_cleanup_(elf_image_freep) struct elf_image *elf = NULL;
	struct elf_build_id have;

	if (elf_image_open(&elf, fd, NULL) < 0)
		return false;
	elf_note_gnu_build_id(elf, &have);
	return have.len == id->len && !memcmp(have.bytes, id->bytes, id->len);
}

/* This machine's file at the path, if it is the one that was mapped; -1 otherwise. */
static int open_same(const struct core_file *f)
{
	struct stat st;
	_cleanup_(closep) int fd = regular_file_open(f->path, &st);

	if (fd >= 0 && f->size &&
	    ((uint64_t)st.st_size != f->size || !has_build_id(fd, &f->build_id)))
		return -1;
	return steal_fd(&fd);
}

/*
 * Puts the file together from its parts, with zeros in between. A memory file is sparse, so the
 * size that a hostile core claims costs nothing; it is limited nevertheless, because elf code maps
 * it. Parts may overlap, in which case is_partial is only a hint.
 */
static struct replay_file assemble(const struct core_file *f)
{
	const struct replay_file missing = { .fd = -1 };
	_cleanup_(closep) int fd = -1;
	uint64_t len = 0;

	if (!f->parts.len || f->size > CORE_FILE_BYTES_MAX)
		return missing;
	fd = memfd_create("file", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)f->size) < 0)
		return missing;
	for (size_t i = 0; i < f->parts.len; i++) {
		const struct core_part *p = &f->parts.data[i];

		if (pwrite(fd, p->data, p->len, (off_t)p->off) != (ssize_t)p->len)
			return missing;
		len += p->len;
	}
	return (struct replay_file){ .fd = steal_fd(&fd), .is_partial = len < f->size };
}

static int open_files(struct replaying *r)
{
	int e = 0;

	for (size_t i = 0; i < r->core.files.len && e == 0; i++) {
		struct replay_file f = { .fd = open_same(&r->core.files.data[i]) };

		if (f.fd < 0)
			f = assemble(&r->core.files.data[i]);
		e = vec_push(&r->files, f);
		if (e < 0)
			closep(&f.fd);
	}
	return e;
}

/* Anonymous executable memory that is stored whole is the vDSO if it begins with an ELF header. */
static bool is_elf(const struct core_region *region)
{
	return region->bytes && region->end - region->start > SELFMAG &&
	       !memcmp(region->bytes, ELFMAG, SELFMAG);
}

static int add_region(struct replaying *r, const struct core_region *region)
{
	struct stack_trace_mapping m = {
		.start = region->start, .end = region->end, .file_off = region->file_off, .path = ""
	};
	char path[32];

	if (region->file != CORE_NO_FILE) {
		m.path = r->core.files.data[region->file].path;
		m.open = path;
		if (r->files.data[region->file].fd >= 0)
			snprintf(path, sizeof(path), "/proc/self/fd/%d",
				 r->files.data[region->file].fd);
		else
			snprintf(path, sizeof(path), "/nonexistent/%u", region->file);
	} else if (is_elf(region)) {
		m.path = "[vdso]";
		m.bytes = region->bytes;
	}
	return stack_trace_add(r->trace, &m);
}

static int walk(struct replaying *r)
{
	struct stack_trace_thread thread = { .pid = r->core.pid,
					     .thread_pointer = r->core.thread_pointer,
					     .read = core_read_memory,
					     .ctx = &r->core };
	int e = open_files(r);

	if (e == 0)
		e = stack_trace_new(&r->trace);
	for (size_t i = 0; i < r->core.regions.len && e == 0; i++)
		e = add_region(r, &r->core.regions.data[i]);
	memcpy(thread.regs, r->core.regs, sizeof(thread.regs));
	return e < 0 ? e : stack_trace_walk(r->trace, &thread);
}

static void count_files(const struct replaying *r, struct capture_replay *out)
{
	for (size_t i = 0; i < r->files.len; i++) {
		if (!stack_trace_has_file(r->trace, r->core.files.data[i].path))
			continue;
		out->n_missing += r->files.data[i].fd < 0;
		out->n_partial += r->files.data[i].is_partial;
	}
}

/* Appends the lines of a trace that is in the core file: it may hold anything. */
static void put_lines(struct buf *out, const char *text, size_t len)
{
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		utf8_put_line(out, text, n);
		buf_put_byte(out, '\n');
		n += end != NULL;
		text += n;
		len -= n;
	}
}

int capture_replay(const void *data, size_t len, struct buf *trace, struct buf *expected,
		   struct capture_replay *out, struct err *err)
{
	_cleanup_(replaying_fini) struct replaying r = { 0 };
	int e = core_parse(&r.core, data, len, err);

	if (e == 0)
		e = walk(&r);
	if (e < 0)
		return err_set(err, e, "cannot walk the stack: %s", strerror(-e));
	stack_trace_print(r.trace, trace);
	*out = (struct capture_replay){ 0 };
	count_files(&r, out);
	out->has_expected = r.core.trace_len > 0;
	out->differs = out->has_expected && (r.core.trace_len != trace->len ||
					     memcmp(r.core.trace, trace->data, trace->len) != 0);
	if (out->differs)
		put_lines(expected, r.core.trace, r.core.trace_len);
	return buf_error(trace) ? buf_error(trace) : buf_error(expected);
}
