/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a sub of Perl 5.30 to 5.42 by its CV (cv.h, gv.h and hv.h in Perl's source). The name is
 * that of the CV's glob, or the CV's own if it has no glob. The package is the name of the stash,
 * which is stored next to the hash. Code outside of subs is named after its file.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lang/find.h"
#include "lang/perl/perl.h"

/* Reads a hash entry key (HEK), Perl's form of shared names. */
static int read_hek(const struct lang_process *p, uint64_t at, char **out)
{
	int32_t len;

	if (!at || p->read(p->ctx, at + PERL_HEK_LEN, &len, sizeof(len)) || len < 0)
		return -EFAULT;
	return lang_read_text(p, at + PERL_HEK_TEXT, (uint64_t)len, out);
}

/* Reads a file name, which is terminated by a zero and may be at the end of a page. */
static int read_file(const struct lang_process *p, uint64_t at, char **out)
{
	char text[LANG_NAME_MAX + 1];
	size_t n = 0;

	while (n < LANG_NAME_MAX && !p->read(p->ctx, at + n, text + n, 1) && text[n])
		n++;
	return lang_read_text(p, at, n, out);
}

/* Reads the name of the package whose stash (hash of symbols) is at @stash. */
static int read_package(const struct perl_vm *perl, const struct lang_process *p, uint64_t stash,
			char **out)
{
	uint64_t body, aux, max, name;
	int32_t n_names;

	if (!stash || lang_read_u64(p, stash + PERL_BODY, &body) < 0)
		return -EFAULT;
	aux = body + PERL_HV_BYTES;
	if (perl->aux_is_behind_array) {
		if (lang_read_u64(p, stash + PERL_VALUE_U, &aux) < 0 ||
		    lang_read_u64(p, body + PERL_HV_MAX, &max) < 0)
			return -EFAULT;
		aux += 8 * (max + 1);
	}
	if (lang_read_u64(p, aux + PERL_AUX_NAME, &name) < 0 ||
	    p->read(p->ctx, aux + PERL_AUX_NAMES, &n_names, sizeof(n_names)) ||
	    (n_names && lang_read_u64(p, name, &name) < 0))
		return -EFAULT;
	return read_hek(p, name, out);
}

/* Reads the name and the stash of the glob @gv, or of the glob that it is an alias of (its EGV). */
static int read_glob(const struct lang_process *p, uint64_t gv, char **out_name,
		     uint64_t *out_stash)
{
	uint64_t gp, egv, body, name;

	if (!gv || lang_read_u64(p, gv + PERL_VALUE_U, &gp) < 0)
		return -EFAULT;
	if (gp && lang_read_u64(p, gp + PERL_GP_EGV, &egv) == 0 && egv)
		gv = egv;
	if (lang_read_u64(p, gv + PERL_BODY, &body) < 0 ||
	    lang_read_u64(p, body + PERL_GLOB_NAME, &name) < 0 ||
	    lang_read_u64(p, body + PERL_GLOB_STASH, out_stash) < 0)
		return -EFAULT;
	return read_hek(p, name, out_name);
}

/* Makes PACKAGE::NAME; @package may be NULL. */
static int join_name(char *package, char *name, char **out)
{
	if (!package)
		*out = strdup(name);
	else if (asprintf(out, "%s::%s", package, name) < 0)
		*out = NULL;
	return *out ? 0 : -ENOMEM;
}

/* Reads name and file of the sub whose CV has @body; a package that cannot be read is omitted. */
static int read_sub(const struct perl_vm *perl, const struct lang_process *p, uint64_t body,
		    struct lang_function *out)
{
	_cleanup_(freep) char *package = NULL, *name = NULL;
	uint64_t name_at, stash, file;
	uint32_t flags;
	int r;

	if (p->read(p->ctx, body + PERL_CV_FLAGS, &flags, sizeof(flags)) ||
	    lang_read_u64(p, body + PERL_CV_NAME, &name_at) < 0 ||
	    lang_read_u64(p, body + PERL_CV_STASH, &stash) < 0 ||
	    lang_read_u64(p, body + PERL_CV_FILE, &file) < 0)
		return -EFAULT;
	r = flags & PERL_CV_NAMED ? read_hek(p, name_at, &name)
				  : read_glob(p, name_at, &name, &stash);
	if (r == 0)
		r = read_file(p, file, &out->file);
	if (r < 0)
		return r;
	(void)read_package(perl, p, stash, &package);
	return join_name(package, name, &out->name);
}

/* Reads the file of code outside of subs, and names it after @kind or as <FILE>. */
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

/*
 * Finds the file name of a statement (COP). Builds with threads store the name itself; others store
 * a glob, whose name is "_<FILE".
 */
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

/* Return: 0 and the address of the file name; -ESTALE if the sample saw other code. */
static int check_file(const struct perl_vm *perl, const struct lang_process *p, uint64_t cop,
		      uint32_t kind, uint32_t cookie, uint64_t *out_file)
{
	uint64_t text[2];

	if (find_file(perl, p, cop, out_file) < 0 || p->read(p->ctx, *out_file, text, sizeof(text)))
		return -ESTALE;
	return lang_check_cookie(cookie, PERL_FILE_BYTES(kind, *out_file, text[0], text[1]));
}

/* Return: 0 and the body of the CV; -ESTALE if the sample saw another sub. */
static int check_sub(const struct lang_process *p, uint64_t cv, uint32_t cookie, uint64_t *out_body)
{
	uint64_t key[PERL_CV_WORDS];

	if (lang_read_u64(p, cv + PERL_BODY, out_body) < 0 ||
	    p->read(p->ctx, *out_body + PERL_CV_ROOT, key, sizeof(key)))
		return -ESTALE;
	return lang_check_cookie(cookie, PERL_SUB_BYTES(key));
}

/*
 * Names a BEGIN block, which has usually been freed before it could be read, without its package.
 */
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
	uint64_t at = addr & ~(uint64_t)PERL_KIND_MASK, ref;
	int r;

	/*
	 * the cookie is checked again afterwards: evaluated code may be freed and reused meanwhile
	 */
	if (kind == PERL_SUB || kind == PERL_BEGIN) {
		r = check_sub(p, at, cookie, &ref);
		if (r == 0)
			r = read_sub(perl, p, ref, out);
		if (r == 0)
			r = check_sub(p, at, cookie, &ref);
		if (r < 0 && r != -ENOMEM && kind == PERL_BEGIN)
			r = read_begin(out);
	} else {
		r = check_file(perl, p, at, kind, cookie, &ref);
		if (r == 0)
			r = read_file_code(p, ref, kind, out);
		if (r == 0)
			r = check_file(perl, p, at, kind, cookie, &ref);
	}
	return r == 0 || r == -ENOMEM ? r : -ESTALE;
}
