/* SPDX-License-Identifier: Apache-2.0 */
/* The test reads the C library that it runs with. */
#include "elf/thread_start.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "elf/gnuhash.h"
#include "elf/image.h"
#include "tests/unit/elf/fixture.h"
#include "tests/x86_64.h"

static struct elf_image *open_at(const char *path)
{
	struct elf_image *img = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_image_open(&img, fd, NULL), 0);
	close(fd);
	return img;
}

static void threads_of_the_c_library_begin_in_clone(void **state)
{
	struct elf_thread_start starts[ELF_THREAD_STARTS_MAX];
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	void *clone_of_libc = dlsym(RTLD_NEXT, "clone");
	struct elf_rawsym sym;
	bool found = false;
	Dl_info info;
	size_t n;

	assert_true(dladdr(clone_of_libc, &info) != 0);
	img = open_at(info.dli_fname);
	assert_int_equal(elf_gnuhash_lookup(img, "clone", &sym), 0);
	n = elf_thread_starts(img, starts);
	assert_in_range(n, 1, ELF_THREAD_STARTS_MAX);
	for (size_t i = 0; i < n; i++)
		found = found || starts[i].start - sym.vaddr < sym.size;
	assert_true(found);
}

/* A static program: nothing but code. */
static void threads_of_musl_begin_in_clone(void **state)
{
	static const uint8_t code[] = { 0x75, 0x0f, 0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89,
					0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4, 0xc3 };
	struct elf_thread_start starts[ELF_THREAD_STARTS_MAX];
	struct fixture f;

	fixture_init(&f);
	fixture_load(&f, fixture_add(&f, ".text", SHT_PROGBITS, code, sizeof(code)), 0x1000,
		     PF_R | PF_X);
	assert_int_equal(elf_thread_starts(fixture_open(&f), starts), 1);
	assert_int_equal(starts[0].start, 0x1002);
	assert_int_equal(starts[0].end, 0x1011);
	fixture_fini(&f);
}

static void other_files_have_none(void **state)
{
	struct elf_thread_start starts[ELF_THREAD_STARTS_MAX];
	_cleanup_(elf_image_freep) struct elf_image *img = open_at("/proc/self/exe");

	assert_int_equal(elf_thread_starts(img, starts), 0);
}

TEST_GROUP_OF_X86_64(test_thread_start, TEST(threads_of_the_c_library_begin_in_clone),
		     TEST(threads_of_musl_begin_in_clone), TEST(other_files_have_none))
