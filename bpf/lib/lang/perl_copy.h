/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Copies the memory that names a sub of Perl (its CV, glob, stash and file), or code outside of
 * subs.
 */
#include "bpf/lib/copy.h"

/* Copies a hash entry key (HEK). */
WALK_FN int perl_copy_hek(__u32 which, __u64 at)
{
	__u32 len = at ? (__u32)copy_word(at + PERL_HEK_LEN) : COPY_TEXT_MAX + 1;

	return len > COPY_TEXT_MAX ? -1 : copy_range(which, at, PERL_HEK_TEXT + len);
}

/* Copies what names the package whose stash is at @stash. */
WALK_FN int perl_copy_package(__u32 which, __u32 vm, __u64 stash)
{
	const struct perl_vm *perl = perl_get(vm);
	__u64 body, aux, name;

	if (!perl || !stash || copy_range(which, stash, PERL_VALUE_BYTES))
		return -1;
	body = copy_word(stash + PERL_BODY);
	(void)copy_range(which, body, PERL_HV_BYTES);
	aux = body + PERL_HV_BYTES;
	if (perl->aux_is_behind_array)
		aux = copy_word(stash + PERL_VALUE_U) + 8 * (copy_word(body + PERL_HV_MAX) + 1);
	if (copy_range(which, aux, PERL_AUX_BYTES))
		return -1;
	name = copy_word(aux + PERL_AUX_NAME);
	if ((__u32)copy_word(aux + PERL_AUX_NAMES)) {
		(void)copy_range(which, name, sizeof(name));
		name = copy_word(name);
	}
	return perl_copy_hek(which, name);
}

/* Copies the name of the glob @gv, or of the one that it is an alias of. Returns its stash. */
static __always_inline __u64 perl_copy_glob(__u32 which, __u64 gv)
{
	__u64 gp, egv, body;

	(void)copy_range(which, gv, PERL_VALUE_BYTES);
	gp = copy_word(gv + PERL_VALUE_U);
	egv = gp ? copy_word(gp + PERL_GP_EGV) : 0;
	if (egv) {
		(void)copy_range(which, gp + PERL_GP_EGV, sizeof(egv));
		(void)copy_range(which, egv, PERL_VALUE_BYTES);
		gv = egv;
	}
	body = copy_word(gv + PERL_BODY);
	(void)copy_range(which, body, PERL_GLOB_BYTES);
	(void)perl_copy_hek(which, copy_word(body + PERL_GLOB_NAME));
	return copy_word(body + PERL_GLOB_STASH);
}

WALK_FN int perl_copy_sub(__u32 which, __u32 vm, __u64 cv)
{
	__u64 body = copy_word(cv + PERL_BODY), name, stash;

	if (copy_range(which, cv, sizeof(body)) || copy_range(which, body, PERL_CV_BYTES))
		return WALK_OTHER;
	name = copy_word(body + PERL_CV_NAME);
	if ((__u32)copy_word(body + PERL_CV_FLAGS) & PERL_CV_NAMED) {
		(void)perl_copy_hek(which, name);
		stash = copy_word(body + PERL_CV_STASH);
	} else {
		stash = perl_copy_glob(which, name);
	}
	(void)perl_copy_package(which, vm, stash);
	(void)copy_text(which, copy_word(body + PERL_CV_FILE));
	return WALK_CONTINUE;
}

/* Copies the file name of the statement @cop: with threads its own, else that of a glob. */
WALK_FN int perl_copy_file(__u32 which, __u32 vm, __u64 cop)
{
	const struct perl_vm *perl = perl_get(vm);
	__u64 file = copy_word(cop + PERL_COP_FILE);

	if (!perl || copy_range(which, cop + PERL_COP_FILE, sizeof(file)))
		return WALK_OTHER;
	if (!perl->interpreter) {
		(void)copy_range(which, file + PERL_BODY, sizeof(file));
		file = copy_word(file + PERL_BODY);
		(void)copy_range(which, file + PERL_GLOB_NAME, sizeof(file));
		file = copy_word(file + PERL_GLOB_NAME) + PERL_GLOB_FILE;
	}
	(void)copy_range(which, file, 2 * sizeof(__u64)); /* the cookie is made of these words */
	(void)copy_text(which, file);
	return WALK_CONTINUE;
}

WALK_FN int perl_copy(__u32 which, __u32 vm, __u64 addr)
{
	__u32 kind = addr & PERL_KIND_MASK;
	__u64 at = addr & ~(__u64)PERL_KIND_MASK;

	return kind == PERL_SUB || kind == PERL_BEGIN ? perl_copy_sub(which, vm, at)
						      : perl_copy_file(which, vm, at);
}
