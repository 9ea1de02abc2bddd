/* SPDX-License-Identifier: Apache-2.0 */
/*
 * smaps has the Rss of each mapping as the kernel accounts it: it excludes memory of devices and
 * huge pages of hugetlbfs, whose pages are present all the same. pagemap has the pages.
 * PAGEMAP_SCAN skips what is absent by page tables at a time; a read of pagemap has a word for each
 * page.
 */
#include "proc/resident_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/lines.h"

enum { REGIONS = 512, WORDS = 4096 };

#define READ_MAX_BYTES (64ULL << 30)

/* The end of the addresses that a process has by default. */
#define USER_END 0x7ffffffff000ULL

static struct {
	proc_resident_reader_fn read;
	void *ctx;
} reader;

/* From <linux/fs.h> of Linux 6.7, which older systems lack. */
struct page_region {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

struct pm_scan_arg {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t vec;
	uint64_t vec_len;
	uint64_t max_pages;
	uint64_t category_inverted;
	uint64_t category_mask;
	uint64_t category_anyof_mask;
	uint64_t return_mask;
};

enum {
	PAGE_FILE = 1 << 2,
	PAGE_PRESENT = 1 << 3,
	PAGE_PFNZERO = 1 << 5,
	PAGE_HUGE = 1 << 6,
};

#define PAGEMAP_SCAN_IOCTL _IOWR('f', 16, struct pm_scan_arg)

/* Words of pagemap: Documentation/admin-guide/mm/pagemap.rst. */
#define WORD_PRESENT (1ULL << 63)
#define WORD_FILE    (1ULL << 61)

/* ---- mappings --------------------------------------------------------------------- */

/* Reads the value of a line "Rss:     12 kB" into *@out. Returns false for another line. */
static bool parse_rss(const char *line, uint64_t *out_bytes)
{
	unsigned long kib;

	if (strncmp(line, "Rss:", 4) != 0)
		return false;
	line += 4;
	line += strspn(line, " ");
	if (!lines_number(line, 10, ' ', &kib) || kib > UINT64_MAX / 1024)
		return false;
	*out_bytes = (uint64_t)kib * 1024;
	return true;
}

/* A mapping's first line begins with its address; the others with a capital letter. */
static bool is_attribute(const char *line)
{
	return line[0] >= 'A' && line[0] <= 'Z';
}

struct smaps_reader {
	char line[PROC_PATH_MAX + 128]; /* the first line of the present mapping */
	struct proc_resident_mapping m;
	bool has_mapping;
	proc_resident_mapping_fn fn;
	void *ctx;
};

static int begin_mapping(struct smaps_reader *rd, const char *line, bool is_truncated)
{
	size_t len = strlen(line);

	if (len >= sizeof(rd->line)) {
		len = sizeof(rd->line) - 1;
		is_truncated = true;
	}
	memcpy(rd->line, line, len);
	rd->line[len] = '\0';
	rd->has_mapping = true;
	return proc_maps_parse_line(rd->line, is_truncated, &rd->m.map);
}

/* Each mapping has one line with its Rss, at which it is reported. */
static int on_smaps_line(struct smaps_reader *rd, char *line, bool is_truncated)
{
	if (!is_attribute(line))
		return begin_mapping(rd, line, is_truncated);
	if (!rd->has_mapping || !parse_rss(line, &rd->m.rss_bytes))
		return 0;
	rd->has_mapping = false;
	return rd->m.rss_bytes ? rd->fn(rd->ctx, &rd->m) : 0;
}

int proc_resident_mappings(uint32_t pid, proc_resident_mapping_fn fn, void *ctx, struct err *err)
{
	struct smaps_reader rd = { .fn = fn, .ctx = ctx };
	_cleanup_(lines_fini) struct lines lines = { .fd = -1 };
	_cleanup_(closep) int fd = -1;
	bool is_truncated, any = false;
	char name[32], *line;
	int n, r;

	snprintf(name, sizeof(name), "/proc/%u/smaps", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, errno == ENOENT ? -ESRCH : -errno, "cannot open %s: %m", name);
	r = lines_init(&lines, fd);
	if (r < 0)
		return r;
	while ((n = lines_next(&lines, &line, &is_truncated)) > 0) {
		any = true;
		r = on_smaps_line(&rd, line, is_truncated);
		if (r)
			return r;
	}
	if (n < 0)
		return err_set(err, n, "cannot read %s: %s", name, strerror(-n));
	return any ? 0 : -ESRCH;
}

/* ---- pages ------------------------------------------------------------------------ */

/* Everybody may read statm, which begins with the sizes of all and of resident memory in pages. */
static int read_statm(uint32_t pid, uint64_t *out_size, uint64_t *out_resident)
{
	_cleanup_(closep) int fd = -1;
	char name[32], text[128];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%u/statm", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return sscanf(text, "%" SCNu64 " %" SCNu64, out_size, out_resident) == 2 ? 0 : -EBADMSG;
}

static bool has_memory(uint32_t pid)
{
	uint64_t size, resident;

	return read_statm(pid, &size, &resident) == 0 && size;
}

uint64_t proc_resident_bytes(uint32_t pid)
{
	uint64_t size, resident;

	return read_statm(pid, &size, &resident) < 0 ? 0 : resident * PROC_PAGE_BYTES;
}

/* The files of a process that has released its memory belong to root, whoever its user was. */
int proc_pages_open(uint32_t pid)
{
	char name[32];
	int fd, e;

	snprintf(name, sizeof(name), "/proc/%u/pagemap", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	e = errno;
	if (fd < 0)
		return e == ENOENT || (e == EACCES && !has_memory(pid)) ? -ESRCH : -e;
	return fd;
}

int proc_pages_scan(int fd, uint64_t start, uint64_t end, proc_pages_fn fn, void *ctx)
{
	struct page_region regions[REGIONS];
	struct pm_scan_arg arg = {
		.size = sizeof(arg),
		.start = start,
		.end = end,
		.vec = (uintptr_t)regions,
		.vec_len = REGIONS,
		.category_inverted = PAGE_PFNZERO,
		.category_mask = PAGE_PRESENT | PAGE_PFNZERO,
		.return_mask = PAGE_FILE | PAGE_HUGE,
	};
	int n, r = 0;

	while (arg.start < end) {
		n = ioctl(fd, PAGEMAP_SCAN_IOCTL, &arg);
		if (n < 0)
			return errno == EINVAL ? -ENOTTY : -errno;
		for (int i = 0; i < n && r == 0; i++)
			r = fn(ctx, &(struct proc_pages){
					    .start = regions[i].start,
					    .end = regions[i].end,
					    .is_file = regions[i].categories & PAGE_FILE,
					    .is_huge = regions[i].categories & PAGE_HUGE,
				    });
		if (r)
			return r;
		if (arg.walk_end <= arg.start) /* no progress: never expected */
			return -EIO;
		arg.start = arg.walk_end;
	}
	return 0;
}

/* Reports the resident pages among @n words, of which the first is for @at. */
static int report_words(const uint64_t *words, size_t n, uint64_t at, uint64_t *io_left_bytes,
			proc_pages_fn fn, void *ctx)
{
	int r = 0;

	for (size_t i = 0; i < n && *io_left_bytes && r == 0; i++) {
		uint64_t page = at + i * PROC_PAGE_BYTES;

		if (!(words[i] & WORD_PRESENT))
			continue;
		r = fn(ctx, &(struct proc_pages){ .start = page,
						  .end = page + PROC_PAGE_BYTES,
						  .is_file = words[i] & WORD_FILE });
		*io_left_bytes -= PROC_PAGE_BYTES;
	}
	return r;
}

int proc_pages_read(int fd, uint64_t start, uint64_t end, uint64_t max_bytes, proc_pages_fn fn,
		    void *ctx)
{
	uint64_t words[WORDS];
	int r = 0;

	if (end - start > READ_MAX_BYTES)
		return -EFBIG;
	max_bytes -= max_bytes % PROC_PAGE_BYTES;
	while (start < end && max_bytes && r == 0) {
		size_t n = (end - start) / PROC_PAGE_BYTES;
		ssize_t got;

		if (n > WORDS)
			n = WORDS;
		got = pread(fd, words, n * sizeof(*words),
			    (off_t)(start / PROC_PAGE_BYTES * sizeof(*words)));
		if (got <= 0)
			return got < 0 ? -errno : 0;
		n = (size_t)got / sizeof(*words);
		r = report_words(words, n, start, &max_bytes, fn, ctx);
		start += n * PROC_PAGE_BYTES;
	}
	return r;
}

/* ---- both ------------------------------------------------------------------------- */

struct reading {
	const struct proc_resident_sink *sink;
	int fd, result; /* result: of a function of the sink */
};

static int pass_pages(void *ctx, const struct proc_pages *pages)
{
	struct reading *rd = ctx;

	rd->result = rd->sink->pages(rd->sink->ctx, pages);
	return rd->result;
}

static int pass_mapping(void *ctx, const struct proc_resident_mapping *m)
{
	struct reading *rd = ctx;

	rd->result = rd->sink->mapping(rd->sink->ctx, m);
	if (rd->result)
		return rd->result;
	if (proc_pages_scan(rd->fd, m->map.start, m->map.end, pass_pages, rd) == -ENOTTY &&
	    !rd->result)
		(void)proc_pages_read(rd->fd, m->map.start, m->map.end, m->rss_bytes, pass_pages,
				      rd);
	return rd->result;
}

int proc_resident_read_here(uint32_t pid, const struct proc_resident_sink *sink)
{
	_cleanup_(closep) int fd = proc_pages_open(pid);
	struct reading rd = { sink, fd, 0 };

	if (fd < 0)
		return fd;
	return sink->mapping ? proc_resident_mappings(pid, pass_mapping, &rd, NULL)
			     : proc_pages_scan(fd, 0, USER_END, pass_pages, &rd);
}

int proc_resident_read(uint32_t pid, const struct proc_resident_sink *sink)
{
	return reader.read ? reader.read(reader.ctx, pid, sink)
			   : proc_resident_read_here(pid, sink);
}

void proc_resident_set_reader(proc_resident_reader_fn read, void *ctx)
{
	reader.read = read;
	reader.ctx = ctx;
}
