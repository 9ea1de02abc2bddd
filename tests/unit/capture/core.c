/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/core.h"

#include "tests/test.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "capture/process_pages.h"

enum { RIP = 0x401234, REGION = 0x400000, WORD_AT = 1000 };

/* Writes a core file of this process with one word of @memory, at WORD_AT, and one file's bytes. */
static void write_core(struct buf *out, const uint8_t *memory)
{
	static const char trace[] = "#0 main\n", bytes[] = "parts of it";
	_cleanup_(core_fini) struct core c = { .pid = 42, .thread_pointer = 7 };
	_cleanup_(process_pages_freep) struct process_pages *pages = NULL;
	struct core_file f = { .path = "/bin/x", .size = 100, .build_id = { 2, { 0xab, 0xcd } } };
	struct core_region region = { .start = REGION, .end = REGION + 8192, .file_off = 4096 };
	uint64_t word;

	c.regs[UREG_PC] = RIP;
	c.trace = trace;
	c.trace_len = strlen(trace);
	assert_int_equal(vec_push(&f.parts, (struct core_part){ 50, bytes, sizeof(bytes) }), 0);
	assert_int_equal(vec_push(&c.files, f), 0);
	assert_int_equal(vec_push(&c.regions, region), 0);
	assert_int_equal(process_pages_new(&pages, getpid()), 0);
	assert_int_equal(
		process_pages_read(pages, (uintptr_t)memory + WORD_AT, &word, sizeof(word)), 0);
	process_pages_scrub(pages);
	core_write(out, &c, pages);
	assert_int_equal(buf_error(out), 0);
}

static uint8_t *make_memory(void)
{
	uint8_t *memory = aligned_alloc(PROCESS_PAGE, PROCESS_PAGE);

	assert_non_null(memory);
	memset(memory, 's', PROCESS_PAGE);
	return memory;
}

static void a_written_core_file_is_read_back(void **state)
{
	_cleanup_(core_fini) struct core c = { 0 };
	uint8_t *memory = make_memory();
	struct buf b = { 0 };

	(void)state;
	write_core(&b, memory);
	assert_int_equal(core_parse(&c, b.data, b.len, NULL), 0);
	assert_int_equal(c.pid, 42);
	assert_int_equal(c.thread_pointer, 7);
	assert_int_equal(c.regs[UREG_PC], RIP);
	assert_int_equal(c.regions.len, 1);
	assert_int_equal(c.regions.data[0].start, REGION);
	assert_int_equal(c.regions.data[0].file_off, 4096);
	assert_int_equal(c.files.len, 1);
	assert_string_equal(c.files.data[0].path, "/bin/x");
	assert_int_equal(c.files.data[0].size, 100);
	assert_int_equal(c.files.data[0].build_id.bytes[1], 0xcd);
	assert_int_equal(c.files.data[0].parts.len, 1);
	assert_int_equal(c.files.data[0].parts.data[0].off, 50);
	assert_string_equal(c.files.data[0].parts.data[0].data, "parts of it");
	assert_memory_equal(c.trace, "#0 main\n", c.trace_len);
	buf_fini(&b);
	free(memory);
}

static void contains_no_word_that_was_not_read(void **state)
{
	_cleanup_(core_fini) struct core c = { 0 };
	uint8_t *memory = make_memory(), secret[16];
	struct buf b = { 0 };
	uint64_t word = 0;

	(void)state;
	write_core(&b, memory);
	assert_int_equal(core_parse(&c, b.data, b.len, NULL), 0);
	assert_int_equal(core_read_memory(&c, (uintptr_t)memory + WORD_AT, &word, 8), 0);
	assert_memory_equal(&word, memory + WORD_AT, 8);
	assert_int_equal(core_read_memory(&c, (uintptr_t)memory + WORD_AT + 8, &word, 8), -EFAULT);
	assert_int_equal(core_read_memory(&c, (uintptr_t)memory + WORD_AT - 1, &word, 8), -EFAULT);
	memset(secret, 's', sizeof(secret));
	assert_null(memmem(b.data, b.len, secret, sizeof(secret)));
	buf_fini(&b);
	free(memory);
}

static void refuses_a_file_truncated_anywhere(void **state)
{
	uint8_t *memory = make_memory();
	struct buf b = { 0 };

	(void)state;
	write_core(&b, memory);
	for (size_t len = 0; len < b.len; len++) {
		struct err err = { 0 };
		struct core c;

		assert_int_equal(core_parse(&c, b.data, len, &err), -EBADMSG);
		assert_true(err.msg[0]);
		core_fini(&c);
	}
	buf_fini(&b);
	free(memory);
}

static void refuses_an_executable(void **state)
{
	Elf64_Ehdr e = { .e_type = ET_EXEC, .e_machine = EM_X86_64 };
	struct err err = { 0 };
	struct core c;

	(void)state;
	memcpy(e.e_ident, ELFMAG, SELFMAG);
	assert_int_equal(core_parse(&c, &e, sizeof(e), &err), -EBADMSG);
	assert_string_equal(err.msg, "not a core file of an x86-64 process");
	core_fini(&c);
}

struct mapped_files_note {
	Elf64_Nhdr head;
	char owner[8];
	uint64_t n, page, start, end, off;
	char path[8];
} __attribute__((packed));

static struct mapped_files_note mapped_file(const char *path)
{
	struct mapped_files_note n = { .head = { .n_namesz = 5, .n_type = NT_FILE },
				       .owner = "CORE",
				       .n = 1,
				       .page = PROCESS_PAGE,
				       .start = REGION,
				       .end = REGION + PROCESS_PAGE };

	n.head.n_descsz = (Elf64_Word)(sizeof(n) - offsetof(struct mapped_files_note, n));
	memcpy(n.path, path, strlen(path));
	return n;
}

/* A core file of @notes alone, which lacks registers. */
static int parse_notes(const void *notes, size_t len, struct err *err)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	Elf64_Ehdr e = { .e_type = ET_CORE,
			 .e_machine = EM_X86_64,
			 .e_phoff = sizeof(e),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1 };
	Elf64_Phdr ph = { .p_type = PT_NOTE, .p_offset = sizeof(e) + sizeof(ph), .p_filesz = len };
	struct core c;
	int r;

	memcpy(e.e_ident, ELFMAG, SELFMAG);
	e.e_ident[EI_CLASS] = ELFCLASS64;
	e.e_ident[EI_DATA] = ELFDATA2LSB;
	buf_put(&b, &e, sizeof(e));
	buf_put(&b, &ph, sizeof(ph));
	buf_put(&b, notes, len);
	r = core_parse(&c, b.data, b.len, err);
	core_fini(&c);
	return r;
}

/* Each such note sorts all regions again, and a file may have millions of notes. */
static void refuses_two_lists_of_mapped_files(void **state)
{
	const struct mapped_files_note notes[] = { mapped_file("/a"), mapped_file("/a") };
	struct err one = { 0 }, two = { 0 };

	(void)state;
	assert_int_equal(parse_notes(notes, sizeof(notes[0]), &one), -EBADMSG);
	assert_non_null(strstr(one.msg, "NT_PRSTATUS"));
	assert_int_equal(parse_notes(notes, sizeof(notes), &two), -EBADMSG);
	assert_non_null(strstr(two.msg, "malformed"));
}

TEST_GROUP(test_core, TEST(a_written_core_file_is_read_back),
	   TEST(contains_no_word_that_was_not_read), TEST(refuses_a_file_truncated_anywhere),
	   TEST(refuses_an_executable), TEST(refuses_two_lists_of_mapped_files))
