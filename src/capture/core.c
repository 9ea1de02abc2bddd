/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads core(5) files. Segments come first, so that the notes, which stand before the memory in
 * the file, find the regions and pages that they describe.
 *
 * Paths, memory and parts of files point into the core's bytes instead of being copied, so a core
 * of gigabytes costs only its mapping. The time is that of sorting the segments and of reading the
 * notes once, also for hostile files: look-ups are logarithmic, paths are found by their hash, and
 * only one note may list mapped files, because the regions are sorted again after it.
 */
#include "capture/core.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include "arch/arch.h"
#include "base/bisect.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/strtab.h"
#include "capture/process_pages.h"

static bool take_u64(struct cursor *c, uint64_t *out)
{
	return cursor_copy(c, out, sizeof(*out));
}

/* ---- segments ----------------------------------------------------------------- */

/*
 * p_memsz exceeds p_filesz where memory was not dumped; reading there fails. A segment that wraps
 * around the address space is refused.
 */
static int add_segment(struct core *c, const struct cursor *file, const Elf64_Phdr *ph)
{
	const uint8_t *bytes;
	int r = 0;

	if (ph->p_filesz > file->len || ph->p_offset > file->len - ph->p_filesz ||
	    ph->p_vaddr + ph->p_memsz < ph->p_vaddr || ph->p_filesz > ph->p_memsz)
		return -EBADMSG;
	bytes = file->data + ph->p_offset;
	if (c->loads.len >= CORE_SEGMENTS_MAX)
		return -E2BIG;
	if (ph->p_flags & PF_X) {
		struct core_region region = {
			.start = ph->p_vaddr,
			.end = ph->p_vaddr + ph->p_memsz,
			.file = CORE_NO_FILE,
			.bytes = ph->p_filesz == ph->p_memsz && ph->p_filesz ? bytes : NULL,
		};

		r = vec_push(&c->regions, region);
	}
	if (r == 0 && ph->p_filesz)
		r = vec_push(&c->loads,
			     (struct core_load){ ph->p_vaddr, ph->p_filesz, bytes, NULL });
	return r;
}

static int region_order(const void *a, const void *b)
{
	const struct core_region *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int load_order(const void *a, const void *b)
{
	const struct core_load *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Where the program headers are; check_header() has checked that they are in the file. */
struct headers {
	uint64_t off;
	uint32_t n;
};

/* Calls @fn for each program header of @type. */
static int each_header(struct core *c, const struct cursor *file, const struct headers *h,
		       uint32_t type,
		       int (*fn)(struct core *, const struct cursor *, const Elf64_Phdr *))
{
	int r = 0;

	for (uint32_t i = 0; i < h->n && r == 0; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, file->data + h->off + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == type)
			r = fn(c, file, &ph);
	}
	return r;
}

/* ---- notes ---------------------------------------------------------------------- */

/*
 * Finds or adds the file of @path. All files so far are in @paths, in the same order after string
 * 0, with their terminating NUL, so that an empty path is not string 0.
 */
static int file_by_path(struct core *c, struct strtab *paths, const char *path, uint32_t *out)
{
	uint32_t id;
	int r = strtab_add(paths, path, strlen(path) + 1, &id);

	if (r < 0)
		return r;
	*out = id - 1;
	if (*out < c->files.len)
		return 0;
	if (c->files.len == CORE_FILES_MAX)
		return -E2BIG;
	return vec_push(&c->files, (struct core_file){ .path = path });
}

/* Finds the region that begins at @start among the first @n regions, which are sorted. */
static struct core_region *find_region(struct core *c, size_t n, uint64_t start)
{
	struct core_region key = { .start = start };

	return n ? bsearch(&key, c->regions.data, n, sizeof(key), region_order) : NULL;
}

/*
 * Notes which file is mapped at @mapped. gcore(1) leaves file mappings out of the segments: such a
 * one becomes a region here, executable or not.
 */
static int add_mapped_file(struct core *c, size_t n_sorted, struct core_region mapped)
{
	struct core_region *region = find_region(c, n_sorted, mapped.start);

	if (!region)
		return c->regions.len < CORE_SEGMENTS_MAX ? vec_push(&c->regions, mapped) : -E2BIG;
	region->file = mapped.file;
	region->file_off = mapped.file_off;
	return 0;
}

static int read_registers(struct core *c, struct cursor note)
{
	struct user_regs_struct u;
	const struct elf_prstatus *status = cursor_take(&note, sizeof(*status));

	if (!status)
		return -EBADMSG;
	if (c->pid) /* the first thread is the one that crashed or was captured */
		return 0;
	memcpy(&u, (const uint8_t *)status + offsetof(struct elf_prstatus, pr_reg), sizeof(u));
	memcpy(&c->pid, (const uint8_t *)status + offsetof(struct elf_prstatus, pr_pid),
	       sizeof(c->pid));
	arch_registers(&u, c->regs);
	c->thread_pointer = arch_thread_pointer(&u);
	return 0;
}

/* Adds the mapping that the next of @entries and of @names describe. */
static int read_mapped_file(struct core *c, struct strtab *paths, size_t n_sorted,
			    struct cursor *entries, struct cursor *names, uint64_t page)
{
	struct core_region mapped = { 0 };
	const char *path = cursor_string(names);
	int r;

	take_u64(entries, &mapped.start);
	take_u64(entries, &mapped.end);
	take_u64(entries, &mapped.file_off);
	mapped.file_off *= page;
	if (!path || mapped.start >= mapped.end)
		return -EBADMSG;
	r = file_by_path(c, paths, path, &mapped.file);
	return r < 0 ? r : add_mapped_file(c, n_sorted, mapped);
}

static int read_mapped_files(struct core *c, struct cursor note)
{
	_cleanup_(strtab_freep) struct strtab *paths = NULL;
	struct cursor entries, names = note;
	size_t n_sorted = c->regions.len;
	uint64_t n, page;
	int r = 0;

	if (!take_u64(&names, &n) || !take_u64(&names, &page) || n > names.len / 24 || c->files.len)
		return -EBADMSG;
	entries = (struct cursor){ names.data, n * 24 };
	cursor_take(&names, n * 24);
	if (n)
		r = strtab_new(&paths);
	for (uint64_t i = 0; i < n && r == 0; i++)
		r = read_mapped_file(c, paths, n_sorted, &entries, &names, page);
	if (n && c->regions.len)
		qsort(c->regions.data, c->regions.len, sizeof(*c->regions.data), region_order);
	return r;
}

/* The page is found by address; if there are two notes for one page, the last one applies. */
static int read_words(struct core *c, struct cursor note)
{
	struct core_load key = { 0 }, *load;
	const void *words;

	if (!take_u64(&note, &key.at))
		return -EBADMSG;
	words = cursor_take(&note, PROCESS_PAGE_WORDS / 8);
	load = c->loads.len ? bsearch(&key, c->loads.data, c->loads.len, sizeof(key), load_order)
			    : NULL;
	if (!words || !load || load->len != PROCESS_PAGE)
		return -EBADMSG;
	load->words = words;
	return 0;
}

/*
 * Notes number the files from 0 in ascending order; NT_FILE may have listed the first of them
 * already, in the same order, so a path that differs is an error.
 */
static int read_file(struct core *c, struct cursor note)
{
	uint64_t i, size;
	const void *id;
	const char *path;
	struct core_file *f;

	if (!take_u64(&note, &i) || !take_u64(&note, &size))
		return -EBADMSG;
	id = cursor_take(&note, sizeof(f->build_id));
	path = id ? cursor_string(&note) : NULL;
	if (!path || i > c->files.len || i >= CORE_FILES_MAX)
		return -EBADMSG;
	if (i == c->files.len && vec_push(&c->files, (struct core_file){ .path = path }) < 0)
		return -ENOMEM;
	f = &c->files.data[i];
	f->size = size;
	memcpy(&f->build_id, id, sizeof(f->build_id));
	return strcmp(path, f->path) || f->build_id.len > ELF_BUILD_ID_MAX ? -EBADMSG : 0;
}

static int read_file_bytes(struct core *c, struct cursor note)
{
	uint64_t i, off;
	const struct core_file *f;

	if (!take_u64(&note, &i) || !take_u64(&note, &off) || i >= c->files.len)
		return -EBADMSG;
	f = &c->files.data[i];
	if (f->size > CORE_FILE_BYTES_MAX || off > f->size || note.len > f->size - off)
		return -EBADMSG;
	return vec_push(&c->files.data[i].parts, (struct core_part){ off, note.data, note.len });
}

/* Notes of other owners and types are skipped: kernels add new ones. */
static int read_note(struct core *c, const char *owner, uint32_t type, struct cursor desc)
{
	if (!strcmp(owner, "CORE")) {
		switch (type) {
		case NT_PRSTATUS:
			return read_registers(c, desc);
		case NT_FILE:
			return read_mapped_files(c, desc);
		default:
			return 0;
		}
	}
	if (strcmp(owner, "Cameo") != 0)
		return 0;
	switch (type) {
	case CORE_NOTE_WORDS:
		return read_words(c, desc);
	case CORE_NOTE_FILE:
		return read_file(c, desc);
	case CORE_NOTE_FILE_BYTES:
		return read_file_bytes(c, desc);
	case CORE_NOTE_TRACE:
		c->trace = (const char *)desc.data;
		c->trace_len = desc.len < CORE_TRACE_MAX ? desc.len : CORE_TRACE_MAX;
		return 0;
	default:
		return 0;
	}
}

static int read_notes(struct core *c, const struct cursor *file, const Elf64_Phdr *ph)
{
	struct cursor notes;
	int r = 0;

	if (ph->p_filesz > file->len || ph->p_offset > file->len - ph->p_filesz)
		return -EBADMSG;
	notes = (struct cursor){ file->data + ph->p_offset, ph->p_filesz };
	while (notes.len && r == 0) {
		Elf64_Nhdr n;
		const void *head = cursor_take(&notes, sizeof(n)), *owner, *desc;

		if (!head)
			return -EBADMSG;
		memcpy(&n, head, sizeof(n));
		owner = cursor_take(&notes, ((size_t)n.n_namesz + 3) & ~(size_t)3);
		desc = owner ? cursor_take(&notes, ((size_t)n.n_descsz + 3) & ~(size_t)3) : NULL;
		if (!desc || !n.n_namesz || ((const char *)owner)[n.n_namesz - 1])
			return -EBADMSG;
		r = read_note(c, owner, n.n_type, (struct cursor){ desc, n.n_descsz });
	}
	return r;
}

/* ---- the file --------------------------------------------------------------------- */

/* The number of program headers, which is in the first section header if it exceeds e_phnum. */
static int count_headers(const struct cursor *file, const Elf64_Ehdr *e, uint32_t *out)
{
	Elf64_Shdr first;

	*out = e->e_phnum;
	if (e->e_phnum != PN_XNUM)
		return 0;
	if (e->e_shentsize != sizeof(first) || file->len < sizeof(first) ||
	    e->e_shoff > file->len - sizeof(first))
		return -EBADMSG;
	memcpy(&first, file->data + e->e_shoff, sizeof(first));
	*out = first.sh_info;
	return 0;
}

static int check_header(const struct cursor *file, struct headers *out, struct err *err)
{
	Elf64_Ehdr e;

	if (file->len < sizeof(e) || memcmp(file->data, ELFMAG, SELFMAG) != 0)
		return err_set(err, -EBADMSG, "not an ELF file");
	memcpy(&e, file->data, sizeof(e));
	if (e.e_type != ET_CORE || e.e_machine != ARCH_ELF_MACHINE ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(err, -EBADMSG, "not a core file of an " ARCH_NAME " process");
	out->off = e.e_phoff;
	if (e.e_phentsize != sizeof(Elf64_Phdr) || count_headers(file, &e, &out->n) < 0 ||
	    out->off > file->len || out->n > (file->len - out->off) / sizeof(Elf64_Phdr))
		return err_set(err, -EBADMSG, "program headers lie outside the file");
	return 0;
}

int core_parse(struct core *out, const void *data, size_t len, struct err *err)
{
	struct cursor file = { data, len };
	struct headers h = { 0 };
	int r;

	memset(out, 0, sizeof(*out));
	r = check_header(&file, &h, err);
	if (r < 0)
		return r;
	r = each_header(out, &file, &h, PT_LOAD, add_segment);
	if (r < 0)
		return err_set(err, r, "a segment lies outside the file: it may be truncated");
	if (out->regions.len)
		qsort(out->regions.data, out->regions.len, sizeof(*out->regions.data),
		      region_order);
	if (out->loads.len)
		qsort(out->loads.data, out->loads.len, sizeof(*out->loads.data), load_order);
	r = each_header(out, &file, &h, PT_NOTE, read_notes);
	if (r < 0)
		return err_set(err, r, "a note (PT_NOTE) is malformed");
	if (!out->pid)
		return err_set(err, -EBADMSG, "no NT_PRSTATUS note, so the registers are unknown");
	return 0;
}

void core_fini(struct core *c)
{
	for (size_t i = 0; i < c->files.len; i++)
		vec_fini(&c->files.data[i].parts);
	vec_fini(&c->files);
	vec_fini(&c->regions);
	vec_fini(&c->loads);
}

/* ---- memory ------------------------------------------------------------------------ */

/*
 * The last load that begins at or below @addr and holds it; NULL: the core does not have it. If
 * segments overlap, which only a hostile core has, the one that begins last counts.
 */
static const struct core_load *find_load(const struct core *c, uint64_t addr)
{
	size_t lo = bisect(c->loads.len, i, c->loads.data[i].at <= addr);

	return lo && addr - c->loads.data[lo - 1].at < c->loads.data[lo - 1].len
		       ? &c->loads.data[lo - 1]
		       : NULL;
}

/* Was each word of these @len bytes read when the capture was made? */
static bool words_are_known(const struct core_load *load, uint64_t off, size_t len)
{
	uint64_t bits;

	for (uint64_t word = off / 8; load->words && word <= (off + len - 1) / 8; word++) {
		memcpy(&bits, (const uint8_t *)load->words + word / 64 * 8, sizeof(bits));
		if (!(bits >> word % 64 & 1))
			return false;
	}
	return true;
}

int core_read_memory(void *core, uint64_t addr, void *dst, size_t len)
{
	const struct core *c = core;

	if (addr + len < addr)
		return -EFAULT;
	for (size_t i = 0; i < len;) {
		const struct core_load *load = find_load(c, addr + i);
		uint64_t off = load ? addr + i - load->at : 0;
		size_t n = load && load->len - off < len - i ? load->len - off : len - i;

		if (!load || !words_are_known(load, off, n))
			return -EFAULT;
		memcpy((uint8_t *)dst + i, load->data + off, n);
		i += n;
	}
	return 0;
}
