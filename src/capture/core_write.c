/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes core(5) files: the ELF header, one PT_NOTE and the PT_LOAD headers, then the notes, then
 * the memory. A mapping of a file is a PT_LOAD with a file size of 0, as the kernel writes it; a
 * page that was read is a PT_LOAD of its own. If there are more headers than e_phnum can hold,
 * their number is in the only section header, after them (elf(5), PN_XNUM).
 *
 * The notes are written to a buffer of their own first, because the headers before them contain
 * their size.
 */
#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "capture/core.h"
#include "capture/process_pages.h"

static void put_zeros(struct buf *b, size_t len)
{
	static const uint8_t zeros[PROCESS_PAGE];

	for (; len > sizeof(zeros); len -= sizeof(zeros))
		buf_put(b, zeros, sizeof(zeros));
	buf_put(b, zeros, len);
}

static void align(struct buf *b, size_t to)
{
	put_zeros(b, (to - b->len % to) % to);
}

static void put_note(struct buf *b, const char *owner, uint32_t type, const void *head,
		     size_t head_len, const void *data, size_t len)
{
	Elf64_Nhdr n = { .n_namesz = (Elf64_Word)strlen(owner) + 1,
			 .n_descsz = (Elf64_Word)(head_len + len),
			 .n_type = type };

	buf_put(b, &n, sizeof(n));
	buf_put(b, owner, n.n_namesz);
	align(b, 4);
	buf_put(b, head, head_len);
	buf_put(b, data, len);
	align(b, 4);
}

static void put_registers(struct buf *b, const struct core *c)
{
	struct elf_prstatus status = { .pr_pid = c->pid };
	struct user_regs_struct u;

	_Static_assert(sizeof(status.pr_reg) == sizeof(u), "core(5) stores the same registers");
	arch_user_registers(c->regs, c->thread_pointer, &u);
	memcpy(&status.pr_reg, &u, sizeof(u));
	put_note(b, "CORE", NT_PRSTATUS, NULL, 0, &status, sizeof(status));
}

/* NT_FILE: a count, the page size, {start, end, offset in pages} each, then the names. */
static void put_mapped_files(struct buf *b, const struct core *c)
{
	struct buf desc = { 0 };
	uint64_t count = 0, page = PROCESS_PAGE;

	for (size_t i = 0; i < c->regions.len; i++)
		count += c->regions.data[i].file != CORE_NO_FILE;
	buf_put(&desc, &count, sizeof(count));
	buf_put(&desc, &page, sizeof(page));
	for (size_t i = 0; i < c->regions.len; i++) {
		const struct core_region *r = &c->regions.data[i];
		uint64_t entry[] = { r->start, r->end, r->file_off / PROCESS_PAGE };

		if (r->file != CORE_NO_FILE)
			buf_put(&desc, entry, sizeof(entry));
	}
	for (size_t i = 0; i < c->regions.len; i++) {
		uint32_t file = c->regions.data[i].file;

		if (file != CORE_NO_FILE)
			buf_put(&desc, c->files.data[file].path,
				strlen(c->files.data[file].path) + 1);
	}
	put_note(b, "CORE", NT_FILE, NULL, 0, desc.data, desc.len);
	if (buf_error(&desc))
		b->error = buf_error(&desc);
	buf_fini(&desc);
}

/*
 * Writes the identity of file @i and its stored parts. The path comes last because its length
 * varies.
 */
static void put_file(struct buf *b, const struct core *c, uint64_t i)
{
	const struct core_file *f = &c->files.data[i];
	uint8_t head[2 * sizeof(uint64_t) + sizeof(f->build_id)] = { 0 };

	memcpy(head, &i, sizeof(i));
	memcpy(head + 8, &f->size, sizeof(f->size));
	memcpy(head + 16, &f->build_id, sizeof(f->build_id));
	put_note(b, "Cameo", CORE_NOTE_FILE, head, sizeof(head), f->path, strlen(f->path) + 1);
	for (size_t k = 0; k < f->parts.len; k++) {
		uint64_t where[] = { i, f->parts.data[k].off };

		put_note(b, "Cameo", CORE_NOTE_FILE_BYTES, where, sizeof(where),
			 f->parts.data[k].data, f->parts.data[k].len);
	}
}

static void put_notes(struct buf *b, const struct core *c, const struct process_pages *pages)
{
	put_registers(b, c);
	put_mapped_files(b, c);
	for (size_t i = 0; i < process_pages_count(pages); i++) {
		const struct process_page *p = process_pages_at(pages, i);

		put_note(b, "Cameo", CORE_NOTE_WORDS, &p->at, sizeof(p->at), p->read,
			 sizeof(p->read));
	}
	for (size_t i = 0; i < c->files.len; i++)
		put_file(b, c, i);
	put_note(b, "Cameo", CORE_NOTE_TRACE, NULL, 0, c->trace, c->trace_len);
}

/* Writes the ELF header. Return: the length of all headers, of which @n are program headers. */
static uint64_t put_elf_header(struct buf *b, size_t n)
{
	bool extended = n >= PN_XNUM;
	Elf64_Ehdr e = { .e_type = ET_CORE,
			 .e_machine = ARCH_ELF_MACHINE,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(e),
			 .e_ehsize = sizeof(e),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = extended ? PN_XNUM : (Elf64_Half)n };
	uint64_t end = sizeof(e) + n * sizeof(Elf64_Phdr);

	memcpy(e.e_ident, ELFMAG, SELFMAG);
	e.e_ident[EI_CLASS] = ELFCLASS64;
	e.e_ident[EI_DATA] = ELFDATA2LSB;
	e.e_ident[EI_VERSION] = EV_CURRENT;
	if (extended) {
		e.e_shoff = end;
		e.e_shnum = 1;
		e.e_shentsize = sizeof(Elf64_Shdr);
		end += sizeof(Elf64_Shdr);
	}
	buf_put(b, &e, sizeof(e));
	return end;
}

/* Writes the header of a segment of @len bytes at @start, @stored of which are in the file. */
static void put_load(struct buf *b, uint32_t flags, uint64_t start, uint64_t len, uint64_t stored,
		     uint64_t off)
{
	Elf64_Phdr ph = { .p_type = PT_LOAD,
			  .p_flags = PF_R | flags,
			  .p_vaddr = start,
			  .p_memsz = len,
			  .p_filesz = stored,
			  .p_offset = off,
			  .p_align = PROCESS_PAGE };

	buf_put(b, &ph, sizeof(ph));
}

static void put_headers(struct buf *b, const struct core *c, const struct process_pages *pages,
			size_t notes_len)
{
	size_t n_pages = process_pages_count(pages), n = 1 + c->regions.len + n_pages;
	uint64_t notes_at = put_elf_header(b, n), at;
	Elf64_Phdr ph = {
		.p_type = PT_NOTE, .p_offset = notes_at, .p_filesz = notes_len, .p_align = 4
	};

	buf_put(b, &ph, sizeof(ph));
	at = (notes_at + notes_len + PROCESS_PAGE - 1) & -(uint64_t)PROCESS_PAGE;
	for (size_t i = 0; i < c->regions.len; i++) {
		const struct core_region *r = &c->regions.data[i];
		uint64_t len = r->end - r->start, stored = r->bytes ? len : 0;

		put_load(b, PF_X, r->start, len, stored, at);
		at += stored;
	}
	for (size_t i = 0; i < n_pages; i++, at += PROCESS_PAGE)
		put_load(b, PF_W, process_pages_at(pages, i)->at, PROCESS_PAGE, PROCESS_PAGE, at);
	if (n >= PN_XNUM) {
		Elf64_Shdr first = { .sh_info = (Elf64_Word)n };

		buf_put(b, &first, sizeof(first));
	}
}

void core_write(struct buf *out, const struct core *c, const struct process_pages *pages)
{
	struct buf notes = { 0 };

	put_notes(&notes, c, pages);
	put_headers(out, c, pages, notes.len);
	buf_put(out, notes.data, notes.len);
	align(out, PROCESS_PAGE);
	for (size_t i = 0; i < c->regions.len; i++)
		if (c->regions.data[i].bytes)
			buf_put(out, c->regions.data[i].bytes,
				c->regions.data[i].end - c->regions.data[i].start);
	for (size_t i = 0; i < process_pages_count(pages); i++)
		buf_put(out, process_pages_at(pages, i)->data, PROCESS_PAGE);
	if (buf_error(&notes))
		out->error = buf_error(&notes);
	buf_fini(&notes);
}
