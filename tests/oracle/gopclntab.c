/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares elf/gopclntab.h with Go's own runtime: each program on the command line is a build of
 * tests/programs/go/selfdump, which prints what runtime.CallersFrames() returns for its own
 * addresses.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "elf/gopclntab.h"
#include "elf/image.h"

enum {
	STEP = 7,
	/*
	 * first release (1.x) that expands all inlined calls; before, only the innermost one of an
	 * address that was not on the stack
	 */
	EXPANDS_ALL = 23,
};

struct tally {
	size_t pcs, frames, inlined, wrong;
};

/*
 * As runtime.funcNameForPrint() since Go 1.18: the text between the first [ and the last ] becomes
 * "...".
 */
static bool same_name(const char *ours, const char *theirs)
{
	const char *open = strchr(ours, '['), *close = strrchr(ours, ']');
	char name[4096];

	if (!strcmp(ours, theirs))
		return true;
	if (!open || !close || close < open)
		return false;
	snprintf(name, sizeof(name), "%.*s[...]%s", (int)(open - ours), ours, close + 1);
	return !strcmp(name, theirs);
}

static bool same_frame(const struct gopclntab_frame *f, const char *function, const char *file,
		       unsigned long line)
{
	if (!strcmp(file, "?"))
		file = "";
	return same_name(f->function, function) && !strcmp(f->file, file) && f->line == line;
}

static bool check_frames(const struct gopclntab *t, uint64_t pc, char *rest, bool innermost,
			 struct tally *tally)
{
	struct gopclntab_frame frames[GOPCLNTAB_FRAMES_MAX];
	int n = gopclntab_frames(t, pc, frames, GOPCLNTAB_FRAMES_MAX), i = 0;

	if (!rest)
		return n >= 1;
	for (char *function; (function = strsep(&rest, "\t")); i++) {
		char *file = strsep(&rest, "\t"), *line = strsep(&rest, "\t");

		if (!line || i >= n ||
		    !same_frame(&frames[i], function, file, strtoul(line, NULL, 10)))
			return false;
	}
	tally->frames += i;
	tally->inlined += i > 1;
	return i == n || (innermost && i == 1);
}

static bool check_line(const struct gopclntab *t, char *line, bool innermost, struct tally *tally)
{
	char *text = line, *pc_text = strsep(&text, "\t"), *entry = strsep(&text, "\t");
	uint64_t pc = strtoull(pc_text, NULL, 16);
	struct gopclntab_func f;

	if (!entry || !strcmp(entry, "-"))
		return gopclntab_find(t, pc, &f) == -ENOENT;
	tally->pcs++;
	return !gopclntab_find(t, pc, &f) && f.start == strtoull(entry, NULL, 16) && pc < f.end &&
	       check_frames(t, pc, text, innermost, tally);
}

static int run_selfdump(const struct gopclntab *t, const char *path, FILE **out)
{
	size_t n = gopclntab_count(t);
	struct gopclntab_func f, first, last;
	char command[4096];

	if (gopclntab_func_at(t, 0, &first) < 0 || gopclntab_func_at(t, n - 1, &last) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		if (gopclntab_func_at(t, i, &f) < 0 || strcmp(f.name, "main.main"))
			continue;
		snprintf(command, sizeof(command), "'%s' %" PRIx64 " %" PRIx64 " %x %" PRIx64, path,
			 first.start - 64, last.end + 64, STEP, f.start);
		*out = popen(command, "r");
		return *out ? 0 : -errno;
	}
	return -ENOENT;
}

static bool check_program(const char *path)
{
	_cleanup_(gopclntab_freep) struct gopclntab *t = NULL;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) char *line = NULL;
	struct tally tally = { 0 };
	struct err err = { 0 };
	int minor = 0;
	size_t cap = 0;
	FILE *dump;
	ssize_t len;

	if (fd < 0 || elf_image_open(&img, fd, &err) < 0 || gopclntab_open(&t, img, &err) < 0 ||
	    run_selfdump(t, path, &dump) < 0) {
		fprintf(stderr, "%s: %s\n", path, err.msg);
		return false;
	}
	if (getline(&line, &cap, dump) > 0 && sscanf(line, "go1.%d", &minor) != 1)
		tally.wrong++;
	while ((len = getline(&line, &cap, dump)) > 0) {
		_cleanup_(freep) char *copy = NULL;

		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		copy = strdup(line);
		if (!check_line(t, line, minor < EXPANDS_ALL, &tally) && tally.wrong++ < 10)
			fprintf(stderr, "%s: differs from %s\n", path, copy);
	}
	if (pclose(dump) != 0)
		tally.wrong++;
	printf("%s: %zu functions, %zu addresses, %zu frames, %zu with inlined calls, %zu wrong\n",
	       path, gopclntab_count(t), tally.pcs, tally.frames, tally.inlined, tally.wrong);
	return !tally.wrong && tally.pcs > 10000 && tally.frames > 10000;
}

int main(int argc, char **argv)
{
	bool ok = argc > 1;

	for (int i = 1; i < argc; i++)
		ok = check_program(argv[i]) && ok;
	return ok ? 0 : 1;
}
