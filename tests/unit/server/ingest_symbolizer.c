/* SPDX-License-Identifier: Apache-2.0 */
/* This program is the file that is symbolized: its own symbol table has the right name. */
#include "server/ingest_symbolizer.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "elf/note.h"
#include "profile/profile.h"
#include "tests/test.h"

extern const char __executable_start;

#define START 0x7f0000400000

static __attribute__((noinline)) uintptr_t known_function(void)
{
	return (uintptr_t)({
		__label__ here;
	here:
		&&here;
	});
}

/* This program: its path and build id, and the function above by address and by file offset. */
struct program {
	char path[PATH_MAX], build_id[2 * ELF_BUILD_ID_MAX + 1];
	uint64_t vaddr, offset;
};

static void inspect(struct program *p)
{
	struct elf_image *img = NULL;
	struct elf_build_id id;
	ssize_t len = readlink("/proc/self/exe", p->path, sizeof(p->path) - 1);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(len > 0 && fd >= 0);
	p->path[len] = 0;
	p->vaddr = known_function() - (uintptr_t)&__executable_start;
	assert_int_equal(elf_image_open(&img, fd, NULL), 0);
	close(fd);
	elf_note_gnu_build_id(img, &id);
	elf_build_id_hex(&id, p->build_id);
	assert_int_equal(elf_image_offset_of(img, p->vaddr, &p->offset), 0);
	elf_image_free(img);
}

static uint32_t string(struct profile *p, const char *s)
{
	uint32_t id;

	assert_int_equal(profile_add_string(p, s, strlen(s), &id), 0);
	return id;
}

/* A profile of one location at @address in a mapping of @path from its first byte on. */
static struct profile *make_profile(const char *path, const char *build_id, uint64_t address)
{
	struct profile_location l = { .address = address };
	struct profile *p = NULL;
	uint32_t id;

	assert_int_equal(profile_new(&p), 0);
	assert_int_equal(
		profile_add_mapping(p,
				    &(struct profile_mapping){ .start = START,
							       .limit = START + (1ul << 30),
							       .file = string(p, path),
							       .build_id = string(p, build_id) },
				    &l.mapping),
		0);
	assert_int_equal(profile_add_location(p, &l, &id), 0);
	return p;
}

/* The name that the only location gets; "" if it gets none. */
static const char *symbolize(const struct ingest_symbolizer_options *opt, struct profile *p)
{
	_cleanup_(ingest_symbolizer_freep) struct ingest_symbolizer *s = NULL;
	struct profile_location l;

	assert_int_equal(ingest_symbolizer_new(&s, opt), 0);
	/* a second time, when the file has been searched before, nothing changes */
	assert_int_equal(ingest_symbolizer_apply(s, p, 0), 0);
	assert_int_equal(ingest_symbolizer_apply(s, p, 0), 0);
	l = profile_location(p, 0);
	if (!l.n_lines)
		return "";
	return profile_string(p, profile_function(p, l.lines[l.n_lines - 1].function)->name);
}

static const char *symbolize_at(const char *path, const char *build_id, uint64_t address,
				bool by_path)
{
	static char name[100];
	_cleanup_(profile_freep) struct profile *p = make_profile(path, build_id, address);
	const struct ingest_symbolizer_options opt = { .by_path = by_path };

	snprintf(name, sizeof(name), "%s", symbolize(&opt, p));
	return name;
}

static void a_location_is_found_by_the_offset_in_its_mapping(void **state)
{
	struct program self;

	inspect(&self);
	if (!self.build_id[0])
		skip();
	assert_string_equal(symbolize_at(self.path, self.build_id, START + self.offset, false),
			    "known_function");
	/* outside of the mapping it is an address of the file */
	assert_string_equal(symbolize_at(self.path, self.build_id, self.vaddr, false),
			    "known_function");
}

static void a_file_with_another_build_id_is_not_used(void **state)
{
	struct program self;

	inspect(&self);
	assert_string_equal(symbolize_at(self.path, "00112233445566778899aabbccddeeff00112233",
					 START + self.offset, true),
			    "");
	assert_string_equal(symbolize_at(self.path, "no hexadecimal", START + self.offset, false),
			    "");
	assert_string_equal(symbolize_at("relative/path", "0011", START + self.offset, true), "");
}

static void a_path_without_build_id_is_trusted_only_if_the_options_say_so(void **state)
{
	struct program self;

	inspect(&self);
	assert_string_equal(symbolize_at(self.path, "", START + self.offset, false), "");
	assert_string_equal(symbolize_at(self.path, "", START + self.offset, true),
			    "known_function");
	assert_string_equal(symbolize_at("/no/such/file", "", START + self.offset, true), "");
	assert_string_equal(symbolize_at("/proc/self/status", "", START, true), "");
}

static void symbols_from_the_client_are_unchanged(void **state)
{
	struct ingest_symbolizer_options opt = { .by_path = true };
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct profile_line line = { .line = 7 };
	struct profile_function f = { 0 };
	struct program self;

	inspect(&self);
	p = make_profile(self.path, self.build_id, START + self.offset);
	f.name = string(p, "named by the client");
	assert_int_equal(profile_add_function(p, &f, &line.function), 0);
	assert_int_equal(profile_set_location_lines(p, 0, &line, 1), 0);
	assert_string_equal(symbolize(&opt, p), "named by the client");
	assert_int_equal(profile_location(p, 0).lines[0].line, 7);
}

TEST_GROUP(test_ingest_symbolizer, TEST(a_location_is_found_by_the_offset_in_its_mapping),
	   TEST(a_file_with_another_build_id_is_not_used),
	   TEST(a_path_without_build_id_is_trusted_only_if_the_options_say_so),
	   TEST(symbols_from_the_client_are_unchanged))
