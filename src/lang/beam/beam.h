/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Internal interfaces of the support of the BEAM, the runtime of Erlang and Elixir, with its JIT.
 * detect.c reads the runtime's file; the others read a process: module.c the module and function
 * that contain an address, atoms.c names, lines.c positions in the source, symbolize.c combines
 * them. bpf/shared/beam.h defines the words of a frame and struct beam_vm.
 *
 * Everything that is read is untrusted. Functions return 0; -ENOENT if there is no such thing;
 * -EFAULT if memory could not be read; -EBADMSG if it is malformed; -ENOMEM.
 */
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/beam.h"
#include "lang/lang.h"

struct buf;

/* The argument of this folder's functions: a process, and the place of its runtime. */
struct beam_process {
	const struct lang_process *p;
	const struct beam_vm *vm;
	uint64_t bias;
};

/* Reads @len bytes of the process at @addr. */
int beam_read_bytes(const struct lang_process *p, uint64_t addr, void *out, size_t len);

/* ---- module.c --------------------------------------------------------------------- */

struct beam_function {
	uint64_t module; /* where its module begins */
	uint64_t info;   /* address of its ErtsCodeInfo */
	uint32_t index;  /* in the module */
	__u64 mfa[3];    /* module and name as atoms, arity */
	uint64_t md5;    /* the first bytes of the module's MD5 checksum */
};

/* Finds the function whose ErtsCodeInfo is at @info, in the modules of all generations. */
int beam_find(const struct beam_process *b, uint64_t info, struct beam_function *out);

/* ---- atoms.c ---------------------------------------------------------------------- */

enum { BEAM_ATOM_BYTES = 255 * 4 + 1 }; /* 255 characters of UTF-8, and a zero */

/* Reads the text of an atom; control characters become '?'. */
int beam_read_atom(const struct beam_process *b, uint64_t term, char out[BEAM_ATOM_BYTES]);

/* Appends "module:function/arity", or "Module.function/arity" for a module of Elixir. */
void beam_put_name(struct buf *out, const char *module, const char *function, uint32_t arity);

/* ---- lines.c ---------------------------------------------------------------------- */

/*
 * Reads file, first line and line table of @f into @out, if its module has them; otherwise
 * out->file is "". @module is the module's name.
 */
int beam_read_lines(const struct beam_process *b, const struct beam_function *f, const char *module,
		    struct lang_function *out);

/* Returns the line of @place in the table; 0: unknown. */
uint32_t beam_line(const struct lang_function *f, uint32_t place);

/* ---- symbolize.c: as in struct lang ------------------------------------------------ */

int beam_expand(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
		const uint64_t words[2], struct lang_call out[LANG_CALLS_MAX]);
int beam_read(const struct vm_tables *tables, uint32_t vm, const struct lang_process *p,
	      uint64_t addr, uint32_t cookie, struct lang_function *out);
