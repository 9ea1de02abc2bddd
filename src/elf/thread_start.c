/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/thread_start.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/eh_frame.h"
#include "elf/gnuhash.h"
#include "elf/image.h"
#include "elf/rawsym.h"

enum {
	EH_FRAME_MAX = 4 << 20, /* bytes of .eh_frame that are read; glibc has 130 KiB */
	TEXT_MAX = 8 << 20,     /* bytes of a segment in which musl's clone() is searched */
	CODE_MAX = 1024,        /* bytes of such a function; glibc's have about 100 */
	CODE_BEFORE = 64,       /* bytes before it in which the system call may be */
};

static int note_undefined(void *ctx, uint64_t start, uint64_t end, const struct cfi_state *s)
{
	bool *found = ctx;

	*found = *found || s->col[CFI_RA].how == CFI_UNDEFINED;
	return 0;
}

static bool ends_stacks(const struct eh_frame *ef, const struct eh_frame_fde *fde)
{
	bool found = false;

	(void)eh_frame_run(ef, fde, note_undefined, &found, NULL);
	return found;
}

/*
 * The part of clone() that the child runs follows the system call, and may have CFI of its own.
 * makecontext()'s trampoline ends stacks, too, but makes no system call itself.
 */
static bool makes_system_call(const struct elf_image *img, const struct eh_frame_fde *fde)
{
	static const uint8_t syscall[] = { 0x0f, 0x05 };
	struct elf_span code;

	return elf_image_at_vaddr(img, fde->start - CODE_BEFORE, fde->len + CODE_BEFORE, &code) ==
		       0 &&
	       memmem(code.data, code.len, syscall, sizeof(syscall)) != NULL;
}

/* A static program has no loader, and no dynamic section unless it is position independent. */
static bool is_static_program(const struct elf_image *img)
{
	struct elf_span span;

	return elf_image_phdr(img, PT_INTERP, &span) < 0 &&
	       (elf_image_phdr(img, PT_DYNAMIC, &span) < 0 || elf_entry_is_start(img));
}

/* A C library, or a static program, which contains one. */
static bool may_start_threads(const struct elf_image *img)
{
	struct elf_rawsym sym;

	return elf_gnuhash_lookup(img, "pthread_create", &sym) == 0 || is_static_program(img);
}

/*
 * The child's part of musl's clone(), which has no CFI: xor %ebp,%ebp; pop %rdi; call *%r9;
 * mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall; hlt.
 */
static size_t find_in_musl(const struct elf_image *img, struct elf_thread_start *out)
{
	static const uint8_t child[] = { 0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89, 0xc7,
					 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4 };
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs);
	struct elf_span code;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *at;

		if (!segs[i].exec || !segs[i].filesz || segs[i].filesz > TEXT_MAX ||
		    elf_image_at_vaddr(img, segs[i].vaddr, (size_t)segs[i].filesz, &code) < 0)
			continue;
		at = memmem(code.data, code.len, child, sizeof(child));
		if (!at)
			continue;
		out->start = code.vaddr + (uint64_t)(at - code.data);
		out->end = out->start + sizeof(child);
		return 1;
	}
	return 0;
}

size_t elf_thread_starts(const struct elf_image *img,
			 struct elf_thread_start out[ELF_THREAD_STARTS_MAX])
{
	_cleanup_(eh_frame_fini) struct eh_frame ef = { 0 };
	struct eh_frame_source src;
	size_t n;

	if (!may_start_threads(img))
		return 0;
	n = find_in_musl(img, out);
	if (n || eh_frame_find(img, &src) < 0 || src.span.len > EH_FRAME_MAX)
		return n;
	(void)eh_frame_read(&ef, &src, NULL);
	for (size_t i = 0; i < ef.fdes.len && n < ELF_THREAD_STARTS_MAX; i++) {
		const struct eh_frame_fde *fde = &ef.fdes.data[i];

		if (fde->len <= CODE_MAX && makes_system_call(img, fde) && ends_stacks(&ef, fde))
			out[n++] = (struct elf_thread_start){ fde->start, fde->start + fde->len };
	}
	return n;
}

/*
 * Code that the kernel starts clears rbp first (psABI AMD64, 3.4.1) or, in glibc's ld.so, passes
 * its stack pointer to C.
 */
bool elf_entry_is_start(const struct elf_image *img)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const struct {
		uint8_t len, bytes[3];
	} first[] = {
		{ 3, { 0x48, 0x31, 0xed } }, /* xor %rbp,%rbp */
		{ 2, { 0x31, 0xed } },       /* xor %ebp,%ebp */
		{ 3, { 0x48, 0x89, 0xe7 } }, /* mov %rsp,%rdi */
	};
	struct elf_span code;
	size_t at = 0;

	if (elf_image_at_vaddr(img, elf_image_entry(img), sizeof(endbr) + 3, &code) < 0)
		return false;
	if (elf_image_type(img) == ET_EXEC)
		return true;
	if (!memcmp(code.data, endbr, sizeof(endbr)))
		at = sizeof(endbr);
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (!memcmp(code.data + at, first[i].bytes, first[i].len))
			return true;
	return false;
}
