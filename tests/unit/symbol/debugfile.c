/* SPDX-License-Identifier: Apache-2.0 */
/* Tests separate debug files, which objcopy makes of this program in a temporary root. */
#include "symbol/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/debuglink.h"
#include "elf/image.h"
#include "symbol/symbolizer.h"
#include "tests/test.h"

extern const char __executable_start;

struct root {
	char path[64];
	int fd;
};

static __attribute__((noinline)) uintptr_t hidden_function(void)
{
	return (uintptr_t)({
		__label__ here;
	here:
		&&here;
	});
}

static void sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void sh(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	assert_int_equal(system(cmd), 0);
}

/* ROOT/app/prog is this program stripped. Its debug information is in ROOT/prog.debug. */
static int make_root(void **state)
{
	struct root *r = calloc(1, sizeof(*r));
	char self[256];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (!r || n < 0)
		return -1;
	self[n] = '\0';
	snprintf(r->path, sizeof(r->path), "/tmp/cameo-test-XXXXXX");
	if (!mkdtemp(r->path))
		return -1;
	sh("cd %s && mkdir -p app usr/lib/debug/app && objcopy --only-keep-debug %s prog.debug && "
	   "objcopy --strip-all --add-gnu-debuglink=prog.debug %s app/prog",
	   r->path, self, self);
	r->fd = open(r->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = r;
	return r->fd < 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static int remove_root(void **state)
{
	struct root *r = *state;

	close(r->fd);
	nftw(r->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(r);
	return 0;
}

static struct debugfile_query stripped(const struct root *r)
{
	static struct elf_debuglink link;
	struct debugfile_query query = { .roots = { .process = r->fd, .host = -1 },
					 .path = "/app/prog" };
	struct elf_image *img;
	int fd = debugfile_open_at(r->fd, "/app/prog");

	assert_true(fd >= 0);
	assert_int_equal(elf_image_open(&img, fd, NULL), 0);
	elf_note_gnu_build_id(img, &query.build_id);
	assert_int_equal(elf_debuglink(img, &link), 0);
	query.link = link.name;
	query.link_crc = link.crc;
	elf_image_free(img);
	close(fd);
	return query;
}

static void check_found(const struct debugfile_query *query, bool want)
{
	int fd;

	for (unsigned int i = 0; (fd = debugfile_open_candidate(query, i)) != -ERANGE; i++) {
		if (fd >= 0 && (debugfile_check(fd, &query->build_id) ||
				debugfile_has_crc(fd, query->link_crc)))
			break;
		if (fd >= 0)
			close(fd);
	}
	if (want)
		assert_true(fd >= 0);
	else
		assert_int_equal(fd, -ERANGE);
	if (fd >= 0)
		close(fd);
}

static void follows_a_debuglink_whose_crc_matches(void **state)
{
	static const char *const places[] = { "app", "app/.debug", "usr/lib/debug/app" };
	struct root *r = *state;
	struct debugfile_query query = stripped(r);

	query.build_id.len = 0;
	check_found(&query, false);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		sh("cd %s && mkdir -p %s && cp prog.debug %s", r->path, places[i], places[i]);
		check_found(&query, true);
		query.link_crc ^= 1;
		check_found(&query, false);
		query.link_crc ^= 1;
		sh("cd %s && rm %s/prog.debug", r->path, places[i]);
	}
	query.link = "../app/prog.debug";
	check_found(&query, false);
}

static void finds_and_verifies_a_build_id(void **state)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1];
	struct root *r = *state;
	struct debugfile_query query = stripped(r);

	query.link = NULL;
	if (!query.build_id.len)
		skip(); /* The toolchain does not use --build-id. */
	elf_build_id_hex(&query.build_id, hex);
	check_found(&query, false);
	sh("cd %s/usr/lib/debug && mkdir -p .build-id/%.2s && cp ../../../prog.debug "
	   ".build-id/%.2s/%s.debug",
	   r->path, hex, hex, hex + 2);
	check_found(&query, true);
	sh("cp /bin/true %s/usr/lib/debug/.build-id/%.2s/%s.debug", r->path, hex, hex + 2);
	check_found(&query, false);
	sh("rm -r %s/usr/lib/debug/.build-id", r->path);
}

static void links_do_not_lead_out_of_the_root(void **state)
{
	struct root *r = *state;
	int fd;

	sh("cd %s && ln -s /bin/true out && ln -s ../../../../../../bin/true up && "
	   "mkdir -p bin && ln -s /app/prog in && mkfifo pipe && echo text > text",
	   r->path);
	assert_int_equal(debugfile_open_at(r->fd, "/out"), -ENOENT);
	assert_int_equal(debugfile_open_at(r->fd, "/up"), -ENOENT);
	assert_int_equal(debugfile_open_at(r->fd, "/../../../../bin/true"), -ENOENT);
	assert_int_equal(debugfile_open_at(r->fd, "/pipe"), -ENOENT);
	assert_int_equal(debugfile_open_at(r->fd, "/text"), -ENOENT);
	assert_int_equal(debugfile_open_at(r->fd, "/app"), -ENOENT);
	fd = debugfile_open_at(r->fd, "/in");
	assert_true(fd >= 0);
	close(fd);
}

struct seen {
	char name[100];
	uint32_t line;
};

static int on_frames(void *ctx, size_t i, const struct symbol_frame *f, size_t n)
{
	struct seen *s = ctx;

	snprintf(s->name, sizeof(s->name), "%s", f[n - 1].name);
	s->line = f[n - 1].line;
	return 0;
}

static struct seen ask_stripped(const struct root *r)
{
	uint64_t addr = (uintptr_t)hidden_function - (uintptr_t)&__executable_start;
	int fd = debugfile_open_at(r->fd, "/app/prog");
	struct symbolizer_file f = {
		.fd = fd, .root_fd = r->fd, .debug_fd = -1, .path = "/app/prog"
	};
	struct symbolizer_opts opts = { 0 };
	struct seen seen = { 0 };
	struct symbolizer *s;
	uint32_t id;

	assert_true(fd >= 0);
	assert_int_equal(symbolizer_new(&s, &opts), 0);
	assert_int_equal(symbolizer_add_file(s, &f, &id), 0);
	assert_int_equal(symbolizer_resolve(s, id, SYMBOLIZER_VADDR, &addr, 1, on_frames, &seen),
			 0);
	symbolizer_free(s);
	close(fd);
	return seen;
}

static void symbolizes_a_stripped_program_from_its_debug_file(void **state)
{
	struct root *r = *state;
	struct seen seen = ask_stripped(r);

	assert_true(hidden_function());
	assert_string_equal(seen.name, "");
	sh("cp %s/prog.debug %s/app", r->path, r->path);
	seen = ask_stripped(r);
	assert_string_equal(seen.name, "hidden_function");
	assert_true(seen.line > 0);
	sh("rm %s/app/prog.debug", r->path);
}

static void symbolizes_a_stripped_program_from_gnu_debugdata(void **state)
{
	struct root *r = *state;
	struct seen seen;

	if (system("command -v xz >/dev/null"))
		skip();
	sh("cd %s && cp app/prog whole && objcopy --strip-debug prog.debug mini && xz -f mini && "
	   "objcopy --add-section .gnu_debugdata=mini.xz app/prog",
	   r->path);
	seen = ask_stripped(r);
	assert_string_equal(seen.name, "hidden_function");
	assert_int_equal(seen.line, 0);
	sh("cd %s && mv whole app/prog", r->path);
}

int test_debugfile(void);
int test_debugfile(void)
{
	const struct CMUnitTest tests[] = {
		TEST(follows_a_debuglink_whose_crc_matches),
		TEST(finds_and_verifies_a_build_id),
		TEST(links_do_not_lead_out_of_the_root),
		TEST(symbolizes_a_stripped_program_from_its_debug_file),
		TEST(symbolizes_a_stripped_program_from_gnu_debugdata),
	};

	return TEST_RUN("test_debugfile", tests, make_root, remove_root);
}
