/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is not stripped has symbols for the list. In others, the code of
 * runtime.forEachGRace, which the scheduler's trace uses and every program therefore has, loads
 * first allglen and then allgptr, in this order.
 */
#include "lang/tasks/golang_layout.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/gopclntab.h"
#include "elf/image.h"
#include "elf/rawsym.h"
#include "lang/golang.h"
#include "lang/golang_code.h"
#include "lang/tasks/task_memory.h"

enum {
	OCCURRENCES_MAX = 32,   /* of a string in the constants */
	REASON_STRING_LEN = 17, /* of "GC assist marking" */
	DATA_MAX = 64 << 20,    /* bytes of data that are searched */
	CHUNK = 16 << 10,
	STRING_HEADER = 16, /* bytes of {address, length} */
};

/*
 * The offsets of each release, from the debug information of its programs. Since Go 1.26 a sudog
 * has its pointers twice; the second one is always set.
 */
static const struct {
	long minor; /* from 1.minor on */
	struct golang_offsets at;
} releases[] = {
	{ 18,
	  { .status = 144,
	    .goid = 152,
	    .waitsince = 168,
	    .waitreason = 176,
	    .syscallsp = 112,
	    .syscallpc = 120,
	    .gopc = 296,
	    .startpc = 312,
	    .waiting = 328,
	    .sudog_elem = 24,
	    .sudog_waitlink = 64,
	    .sudog_c = 80,
	    .hchan_timer = 0 } },
	{ 21,
	  { .status = 144,
	    .goid = 152,
	    .waitsince = 168,
	    .waitreason = 176,
	    .syscallsp = 112,
	    .syscallpc = 120,
	    .gopc = 280,
	    .startpc = 296,
	    .waiting = 312,
	    .sudog_elem = 24,
	    .sudog_waitlink = 64,
	    .sudog_c = 80,
	    .hchan_timer = 0 } },
	{ 23,
	  { .status = 152,
	    .goid = 160,
	    .waitsince = 176,
	    .waitreason = 184,
	    .syscallsp = 112,
	    .syscallpc = 120,
	    .gopc = 288,
	    .startpc = 304,
	    .waiting = 320,
	    .sudog_elem = 24,
	    .sudog_waitlink = 64,
	    .sudog_c = 80,
	    .hchan_timer = 32 } },
	{ 25,
	  { .status = 144,
	    .goid = 152,
	    .waitsince = 168,
	    .waitreason = 176,
	    .syscallsp = 104,
	    .syscallpc = 112,
	    .gopc = 280,
	    .startpc = 296,
	    .waiting = 312,
	    .sudog_elem = 24,
	    .sudog_waitlink = 64,
	    .sudog_c = 80,
	    .hchan_timer = 32 } },
	{ 26,
	  { .status = 144,
	    .goid = 152,
	    .waitsince = 168,
	    .waitreason = 176,
	    .syscallsp = 104,
	    .syscallpc = 112,
	    .gopc = 288,
	    .startpc = 304,
	    .waiting = 320,
	    .sudog_elem = 32,
	    .sudog_waitlink = 72,
	    .sudog_c = 96,
	    .hchan_timer = 32 } },
};

static long minor_of(const char *version)
{
	return strncmp(version, "1.", 2) ? 0 : strtol(version + 2, NULL, 10);
}

/* ---- the list -------------------------------------------------------------------------------- */

static int find_symbols(const struct elf_image *img, struct golang_layout *out)
{
	struct elf_rawsym len, ptr;

	if (elf_symbol_lookup(img, ELF_SYMTAB, "runtime.allglen", &len) < 0 ||
	    elf_symbol_lookup(img, ELF_SYMTAB, "runtime.allgptr", &ptr) < 0)
		return -ENOENT;
	out->allglen = len.vaddr;
	out->allgptr = ptr.vaddr;
	return 0;
}

static int find_loads(const struct elf_image *img, const struct gopclntab *table,
		      struct golang_layout *out)
{
	uint64_t loads[2];

	if (golang_code_loads(img, table, "runtime.forEachGRace", 8, loads, 2) != 2)
		return -ENOENT;
	out->allglen = loads[0];
	out->allgptr = loads[1];
	return 0;
}

int golang_layout_find(const struct elf_image *img, const struct gopclntab *table,
		       struct golang_layout *out)
{
	char version[GOLANG_VERSION_BYTES] = { 0 };
	bool found = false;
	int r = golang_detect(img, version);

	if (r < 0)
		return r;
	*out = (struct golang_layout){ .uses_lr = elf_image_machine(img) == EM_AARCH64 };
	memcpy(out->version, version, sizeof(out->version));
	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++)
		if (minor_of(version) >= releases[i].minor) {
			out->at = releases[i].at;
			found = true;
		}
	if (!found)
		return -ENOTSUP;
	if (find_symbols(img, out) < 0 && find_loads(img, table, out) < 0)
		return -ENOTSUP;
	return 0;
}

/* ---- reasons ----------------------------------------------------------------------------------
 */

/* runtime.waitReasonStrings is an array of strings that begins with "", "GC assist marking". */
static const char first_reason[] = "GC assist marking";

/* Collects the addresses where the constants of the file contain the text. */
static size_t find_text(const struct elf_image *img, uint64_t *out)
{
	const struct elf_segment *segs;
	size_t n_segs = elf_image_segments(img, &segs), n = 0;
	struct elf_span s;

	for (size_t i = 0; i < n_segs; i++) {
		const uint8_t *at, *end;

		if (elf_image_at_offset(img, segs[i].file_off, segs[i].filesz, &s) < 0)
			continue;
		at = s.data;
		end = s.data + s.len;
		while (n < OCCURRENCES_MAX &&
		       (at = memmem(at, (size_t)(end - at), first_reason, REASON_STRING_LEN))) {
			out[n++] = segs[i].vaddr + (uint64_t)(at - s.data);
			at++;
		}
	}
	return n;
}

static int read_text(struct task_memory *m, uint64_t header, char out[GOLANG_REASON_BYTES])
{
	uint64_t s[2];

	out[0] = '\0';
	if (task_memory_read(m, header, s, sizeof(s)) < 0)
		return -EFAULT;
	if (s[1] >= GOLANG_REASON_BYTES)
		return -EBADMSG;
	if (s[1] && task_memory_read(m, s[0], out, s[1]) < 0)
		return -EFAULT;
	out[s[1]] = '\0';
	for (size_t i = 0; i < s[1]; i++)
		if (out[i] < ' ' || out[i] > '~')
			return -EBADMSG;
	return 0;
}

/* Reads the array whose second element is at @second: up to the first that is not a reason. */
static int read_array(struct task_memory *m, uint64_t second, struct golang_reasons *out)
{
	uint64_t array = second - STRING_HEADER;

	memset(out, 0, sizeof(*out));
	for (; out->n < GOLANG_REASONS_MAX; out->n++) {
		char *text = out->text[out->n];

		if (read_text(m, array + out->n * STRING_HEADER, text) < 0 ||
		    (out->n > 0 && !text[0])) {
			text[0] = '\0';
			break;
		}
	}
	return out->n > 2 && !strcmp(out->text[1], first_reason) && !strcmp(out->text[2], "IO wait")
		       ? 0
		       : -ENOENT;
}

static bool is_one_of(uint64_t v, const uint64_t *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (all[i] == v)
			return true;
	return false;
}

/* Searches the process's data, where pointers are relocated, for a header of one of the texts. */
static int search(struct task_memory *m, uint64_t start, uint64_t len, const uint64_t *texts,
		  size_t n, struct golang_reasons *out)
{
	uint64_t words[CHUNK / 8];

	start &= ~7ULL;
	/* chunks overlap by a word, since a header has two */
	for (uint64_t at = 0; at < len; at += CHUNK - 8) {
		uint64_t n_bytes = len - at < CHUNK ? len - at : CHUNK;
		int r = task_memory_read(m, start + at, words, n_bytes & ~7ULL);

		if (r == -ETIME)
			return r;
		for (size_t i = 0; r == 0 && i + 1 < n_bytes / 8; i++)
			if (words[i + 1] == REASON_STRING_LEN && is_one_of(words[i], texts, n) &&
			    read_array(m, start + at + i * 8, out) == 0)
				return 0;
	}
	return -ENOENT;
}

int golang_reasons_read(const struct elf_image *img, struct task_memory *m, uint64_t bias,
			struct golang_reasons *out)
{
	uint64_t texts[OCCURRENCES_MAX], left = DATA_MAX;
	const struct elf_segment *segs;
	size_t n_segs = elf_image_segments(img, &segs), n = find_text(img, texts);

	for (size_t i = 0; i < n; i++)
		texts[i] += bias;
	/* writable data follows the constants */
	while (n && n_segs--) {
		uint64_t len = segs[n_segs].filesz < left ? segs[n_segs].filesz : left;

		if (segs[n_segs].exec)
			continue;
		left -= len;
		if (search(m, segs[n_segs].vaddr + bias, len, texts, n, out) == 0)
			return 0;
	}
	memset(out, 0, sizeof(*out));
	return -ENOENT;
}
