/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/dwarf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/image.h"
#include "tests/test.h"

extern const char __executable_start;

static volatile int sink;

enum { INNER_LINE = __LINE__ + 4 };
static inline __attribute__((always_inline)) uintptr_t inlined_call(void)
{
	sink++;
	return (uintptr_t)({
		__label__ here;
	here:
		&&here;
	});
}

static __attribute__((noinline)) uintptr_t known_function(void)
{
	sink--;
	return inlined_call();
}

static const struct dwarf_opts no_files = { .max_heap = 64 << 20 };

static int open_self(struct dwarf **out)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), r;

	assert_true(fd >= 0);
	r = dwarf_open(out, fd, &no_files, NULL);
	close(fd);
	return r;
}

static void finds_a_function_of_this_program(void **state)
{
	uint64_t addr = (uintptr_t)known_function - (uintptr_t)&__executable_start;
	struct dwarf_frame f[DWARF_FRAMES_MAX];
	struct dwarf *d;

	assert_int_equal(open_self(&d), 0);
	assert_int_equal(dwarf_frames(d, addr, f, DWARF_FRAMES_MAX), 1);
	assert_string_equal(f[0].name, "known_function");
	assert_non_null(strstr(f[0].file, "tests/unit/dwarf/dwarf.c"));
	assert_true(f[0].line >= INNER_LINE && f[0].line < INNER_LINE + 10);
	assert_int_equal(dwarf_frames(d, 1, f, DWARF_FRAMES_MAX), -ENOENT);
	assert_int_equal(dwarf_frames(d, UINT64_MAX, f, DWARF_FRAMES_MAX), -ENOENT);
	dwarf_free(d);
}

/* Searches known_function() for addresses with an inlined_call(), which is the innermost frame. */
static void an_inlined_call_has_its_own_frame(void **state)
{
	uint64_t addr = (uintptr_t)known_function - (uintptr_t)&__executable_start;
	struct dwarf_frame f[DWARF_FRAMES_MAX];
	struct dwarf *d;
	bool seen = false;

	assert_true(known_function());
	assert_int_equal(open_self(&d), 0);
	for (int i = 0; i < 64 && !seen; i++) {
		if (dwarf_frames(d, addr + (uint64_t)i, f, DWARF_FRAMES_MAX) != 2)
			continue;
		seen = true;
		assert_string_equal(f[0].name, "inlined_call");
		assert_string_equal(f[1].name, "known_function");
		assert_true(f[1].line > f[0].line);
	}
	assert_true(seen);
	dwarf_free(d);
}

static void finds_the_same_frames_after_a_trim(void **state)
{
	uint64_t addr = (uintptr_t)known_function - (uintptr_t)&__executable_start;
	struct dwarf_frame f[DWARF_FRAMES_MAX];
	struct dwarf *d;
	size_t empty, full;

	assert_int_equal(open_self(&d), 0);
	empty = dwarf_bytes(d);
	assert_int_equal(dwarf_frames(d, addr, f, DWARF_FRAMES_MAX), 1);
	full = dwarf_bytes(d);
	assert_true(full > empty);
	dwarf_trim(d);
	assert_true(dwarf_bytes(d) <= empty);
	assert_int_equal(dwarf_frames(d, addr, f, DWARF_FRAMES_MAX), 1);
	assert_string_equal(f[0].name, "known_function");
	dwarf_free(d);
}

static void a_file_without_debug_information_is_enodata(void **state)
{
	uint8_t ehdr[64] = "\177ELF\2\1\1";
	struct dwarf *d;

	ehdr[16] = 3;
	ehdr[18] = 62;
	ehdr[20] = 1;
	ehdr[52] = 64;
	assert_int_equal(dwarf_from_memory(&d, ehdr, sizeof(ehdr), &no_files, NULL), -ENODATA);
	assert_int_equal(dwarf_from_memory(&d, "text", 4, &no_files, NULL), -ENOEXEC);
}

/* Overwrites bytes of every section in turn: results may be wrong, but nothing crashes or hangs. */
static void survives_damage(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t addr = (uintptr_t)known_function - (uintptr_t)&__executable_start;
	struct stat st;
	uint8_t *copy;
	uint32_t seed = 1;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	copy = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(copy != MAP_FAILED);
	for (int round = 0; round < 40; round++) {
		struct dwarf_frame f[DWARF_FRAMES_MAX];
		struct dwarf *d;

		for (int i = 0; i < 200; i++) {
			seed = seed * 1103515245 + 12345;
			copy[4096 + seed % ((size_t)st.st_size - 4096)] ^= (uint8_t)(seed >> 24);
		}
		if (dwarf_from_memory(&d, copy, (size_t)st.st_size, &no_files, NULL) < 0)
			continue;
		for (uint64_t a = addr; a < addr + 4096; a += 16)
			dwarf_frames(d, a, f, DWARF_FRAMES_MAX);
		dwarf_free(d);
	}
	munmap(copy, (size_t)st.st_size);
	close(fd);
}

TEST_GROUP(test_dwarf, TEST(finds_a_function_of_this_program),
	   TEST(an_inlined_call_has_its_own_frame), TEST(finds_the_same_frames_after_a_trim),
	   TEST(a_file_without_debug_information_is_enodata), TEST(survives_damage))
