/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sub of Perl by its CV: the name is its glob's, or its own where it has
 * none; the package is the glob's hash's, a name kept beside the hash. Code
 * outside of subs is named after its file.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/find.h"
#include "lang/perl/perl.h"

enum {
	SV_ANY = 0, /* of a value: its body, and what it holds */
	SV_U = 16,
	CV_STASH = 32, /* in bodies */
	CV_FLAGS = 92,
	CV_NAMED = 0x8000, /* PERL_CV_NAME is a name, not a glob */
	GV_STASH = 40,
	HV_MAX = 24,
	HV_BYTES = 32,
	GP_EGV = 56,
	AUX_NAME = 0,
	AUX_NAMES = 28, /* how many; 0: AUX_NAME is the name itself */
	HEK_LEN = 4,
	HEK_TEXT = 8,
};

static int read_hek(const struct lang_process *p, uint64_t at, char **out)
{
	int32_t len;

	if (!at || p->read(p->ctx, at + HEK_LEN, &len, sizeof(len)) || len < 0)
		return -EFAULT;
	return lang_read_text(p, at + HEK_TEXT, (uint64_t)len, out);
}

/* A file name, which ends in a zero. */
static int read_file(const struct lang_process *p, uint64_t at, char **out)
{
	char text[LANG_NAME_MAX + 1];
	size_t n = 0;

	while (n < LANG_NAME_MAX && !p->read(p->ctx, at + n, text + n, 1) && text[n])
		n++;
	return lang_read_text(p, at, n, out);
}

/* The name of the package whose hash is @stash. */
static int read_package(const struct perl_vm *perl, const struct lang_process *p, uint64_t stash,
			char **out)
{
	uint64_t body, aux, max, name;
	int32_t n_names;

	if (!stash || lang_read_u64(p, stash + SV_ANY, &body) < 0)
		return -EFAULT;
	aux = body + HV_BYTES;
	if (perl->aux_is_behind_array) {
		if (lang_read_u64(p, stash + SV_U, &aux) < 0 ||
		    lang_read_u64(p, body + HV_MAX, &max) < 0)
			return -EFAULT;
		aux += 8 * (max + 1);
	}
	if (lang_read_u64(p, aux + AUX_NAME, &name) < 0 ||
	    p->read(p->ctx, aux + AUX_NAMES, &n_names, sizeof(n_names)) ||
	    (n_names && lang_read_u64(p, name, &name) < 0))
		return -EFAULT;
	return read_hek(p, name, out);
}

/* The name and the package's hash of the glob @gv, as it was first called. */
static int read_glob(const struct lang_process *p, uint64_t gv, char **out_name,
		     uint64_t *out_stash)
{
	uint64_t gp, egv, body, name;

	if (!gv || lang_read_u64(p, gv + SV_U, &gp) < 0)
		return -EFAULT;
	if (gp && lang_read_u64(p, gp + GP_EGV, &egv) == 0 && egv)
		gv = egv;
	if (lang_read_u64(p, gv + SV_ANY, &body) < 0 ||
	    lang_read_u64(p, body + PERL_GLOB_NAME, &name) < 0 ||
	    lang_read_u64(p, body + GV_STASH, out_stash) < 0)
		return -EFAULT;
	return read_hek(p, name, out_name);
}

static int join_name(char *package, char *name, char **out)
{
	if (!package)
		*out = strdup(name);
	else if (asprintf(out, "%s::%s", package, name) < 0)
		*out = NULL;
	return *out ? 0 : -ENOMEM;
}

static int read_sub(const struct perl_vm *perl, const struct lang_process *p, uint64_t body,
		    struct lang_function *out)
{
	_cleanup_(freep) char *package = NULL, *name = NULL;
	uint64_t name_at, stash, file;
	uint32_t flags;
	int r;

	if (p->read(p->ctx, body + CV_FLAGS, &flags, sizeof(flags)) ||
	    lang_read_u64(p, body + PERL_CV_NAME, &name_at) < 0 ||
	    lang_read_u64(p, body + CV_STASH, &stash) < 0 ||
	    lang_read_u64(p, body + PERL_CV_FILE, &file) < 0)
		return -EFAULT;
	r = flags & CV_NAMED ? read_hek(p, name_at, &name) : read_glob(p, name_at, &name, &stash);
	if (r == 0)
		r = read_file(p, file, &out->file);
	if (r < 0)
		return r;
	(void)read_package(perl, p, stash, &package);
	return join_name(package, name, &out->name);
}

static int read_file_code(const struct lang_process *p, uint64_t file, uint32_t kind,
			  struct lang_function *out)
{
	const char *base;
	int r = read_file(p, file, &out->file);

	if (r < 0)
		return r;
	if (!strncmp(out->file, "(eval ", 6))
		memcpy(out->file, "(eval)", sizeof("(eval)"));
	base = strrchr(out->file, '/');
	base = base ? base + 1 : out->file;
	if (kind == PERL_SORT)
		out->name = strdup("{sort block}");
	else if (kind == PERL_REGEX)
		out->name = strdup("{regex code}");
	else if (asprintf(&out->name, "<%s>", base) < 0)
		out->name = NULL;
	return out->name ? 0 : -ENOMEM;
}

/* The file's name of a COP: with threads its own, else a glob's, "_<NAME". */
static int find_file(const struct perl_vm *perl, const struct lang_process *p, uint64_t cop,
		     uint64_t *out)
{
	if (lang_read_u64(p, cop + PERL_COP_FILE, out) < 0)
		return -EFAULT;
	if (perl->interpreter)
		return 0;
	if (lang_read_u64(p, *out + PERL_BODY, out) < 0 ||
	    lang_read_u64(p, *out + PERL_GLOB_NAME, out) < 0)
		return -EFAULT;
	*out += PERL_GLOB_FILE;
	return 0;
}

static int check_file(const struct perl_vm *perl, const struct lang_process *p, uint64_t cop,
		      uint32_t kind, uint32_t cookie, uint64_t *out_file)
{
	uint64_t text[2];

	if (find_file(perl, p, cop, out_file) < 0 || p->read(p->ctx, *out_file, text, sizeof(text)))
		return -ESTALE;
	return lang_check_cookie(cookie, PERL_FILE_BYTES(kind, *out_file, text[0], text[1]));
}

static int check_sub(const struct lang_process *p, uint64_t cv, uint32_t cookie, uint64_t *out_body)
{
	uint64_t key[3];

	if (lang_read_u64(p, cv + SV_ANY, out_body) < 0 ||
	    p->read(p->ctx, *out_body + PERL_CV_ROOT, key, sizeof(key)))
		return -ESTALE;
	return lang_check_cookie(cookie, PERL_SUB_BYTES(key[0], key[1], key[2]));
}

/* BEGIN {} of some package: that is mostly gone before its name could be read. */
static int read_begin(struct lang_function *out)
{
	freep(&out->name);
	freep(&out->file);
	out->name = strdup("BEGIN");
	out->file = strdup("");
	return out->name && out->file ? 0 : -ENOMEM;
}

int perl_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      uint64_t addr, uint32_t cookie, struct lang_function *out)
{
	const struct perl_vm *perl = &tables->perl[vm];
	uint32_t kind = addr & PERL_KIND_MASK;
	uint64_t at = addr & ~(uint64_t)PERL_KIND_MASK, seen;
	int r;

	/* once more behind: what was evaluated may be freed, and used again, meanwhile */
	if (kind == PERL_SUB || kind == PERL_BEGIN) {
		r = check_sub(p, at, cookie, &seen);
		if (r == 0)
			r = read_sub(perl, p, seen, out);
		if (r == 0)
			r = check_sub(p, at, cookie, &seen);
		if (r < 0 && r != -ENOMEM && kind == PERL_BEGIN)
			r = read_begin(out);
	} else {
		r = check_file(perl, p, at, kind, cookie, &seen);
		if (r == 0)
			r = read_file_code(p, seen, kind, out);
		if (r == 0)
			r = check_file(perl, p, at, kind, cookie, &seen);
	}
	return r == 0 || r == -ENOMEM ? r : -ESTALE;
}
