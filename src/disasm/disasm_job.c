/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side without privileges: finds the extent of the function, then sends its instructions. Bytes
 * that do not encode one become .byte, so that every byte of the function is shown.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "arch/capstone.h"
#include "base/cleanup.h"
#include "base/sigbus.h"
#include "disasm/disasm.h"
#include "disasm/disasm_message.h"
#include "disasm/library.h"
#include "elf/function_extents.h"
#include "elf/image.h"
#include "elf/symtab.h"

enum { PART_INSNS = ROLE_BODY_MAX / sizeof(struct disasm_insn) };

struct job {
	struct role_call *call;
	const struct disasm_library *lib;
	const struct arch_capstone *arch; /* of the file */
	const struct elf_image *img;
	uint64_t vaddr;
	struct disasm_reply reply;
	struct disasm_insn part[PART_INSNS];
	size_t n;
};

/* ---- the extent -------------------------------------------------------------------------- */

static int find_symbol(struct job *j)
{
	_cleanup_(elf_symtab_freep) struct elf_symtab *t = NULL;
	struct elf_symbol sym;
	int r = elf_symtab_load(&t, j->img, ELF_SYMTAB | ELF_DYNSYM, NULL);

	if (r == 0)
		r = elf_symtab_find(t, j->vaddr, &sym);
	if (r < 0)
		return r;
	j->reply.start = sym.vaddr;
	j->reply.end = sym.vaddr + sym.size;
	return sym.size && j->reply.end > sym.vaddr ? 0 : -ENOENT;
}

static int find_extent(struct job *j)
{
	_cleanup_(function_extents_freep) struct function_extents *fe = NULL;
	int r = find_symbol(j);

	if (r == 0 || r == -ENOMEM)
		return r;
	r = function_extents_new(&fe, j->img);
	if (r == 0)
		r = function_extents_start(fe, j->vaddr, &j->reply.start);
	if (r < 0)
		return r;
	j->reply.end = function_extents_end(fe, j->reply.start, j->reply.start + DISASM_BYTES_MAX);
	return j->reply.end > j->vaddr ? 0 : -ENOENT;
}

/* ---- instructions ------------------------------------------------------------------------ */

static int flush(struct job *j)
{
	size_t n = j->n;

	j->n = 0;
	return n ? role_call_part(j->call, DISASM_INSNS, j->part, n * sizeof(j->part[0])) : 0;
}

/* The address that a direct jump or call names; 0 for another instruction. */
static uint64_t target_of(const struct job *j, csh handle, const cs_insn *insn, bool *out_is_call)
{
	bool jumps = j->lib->cs_insn_group(handle, insn, CS_GRP_JUMP);

	*out_is_call = j->lib->cs_insn_group(handle, insn, CS_GRP_CALL);
	return (jumps || *out_is_call) && insn->detail ? j->arch->target(insn->detail) : 0;
}

static void put_text(char *out, const cs_insn *insn)
{
	const char *parts[] = { insn->mnemonic, *insn->op_str ? " " : "", insn->op_str };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (const char *c = parts[i]; *c && n < DISASM_TEXT_MAX; c++)
			out[n++] = isprint((unsigned char)*c) ? *c : ' ';
	out[n] = '\0';
}

static int put_insn(struct job *j, csh handle, const cs_insn *insn)
{
	struct disasm_insn *i = &j->part[j->n];

	*i = (struct disasm_insn){ .addr = insn->address };
	/* bytes that do not encode an instruction have no details */
	if (insn->id)
		i->target = target_of(j, handle, insn, &i->is_call);
	i->len = (uint8_t)(insn->size < DISASM_CODE_MAX ? insn->size : DISASM_CODE_MAX);
	memcpy(i->code, insn->bytes, i->len);
	put_text(i->text, insn);
	return ++j->n == PART_INSNS ? flush(j) : 0;
}

static int disassemble(struct job *j, csh handle, const struct elf_span *code)
{
	cs_insn *insn = j->lib->cs_malloc(handle);
	const uint8_t *at = code->data;
	uint64_t addr = j->reply.start;
	size_t left = code->len;
	int r = insn ? 0 : -ENOMEM;

	while (r == 0 && left && j->lib->cs_disasm_iter(handle, &at, &left, &addr, insn))
		r = insn->size ? put_insn(j, handle, insn) : -EBADMSG;
	if (insn)
		j->lib->cs_free(insn, 1);
	return r == 0 ? flush(j) : r;
}

static int open_capstone(struct job *j, csh *out)
{
	cs_err e = CS_ERR_ARCH;

	j->arch = arch_capstone_of(elf_image_machine(j->img));
	if (j->arch)
		e = j->lib->cs_open(j->arch->arch, j->arch->mode, out);
	if (e != CS_ERR_OK)
		return e == CS_ERR_MEM ? -ENOMEM : -ENOEXEC;
	j->lib->cs_option(*out, CS_OPT_DETAIL, CS_OPT_ON);
	j->lib->cs_option(*out, CS_OPT_SKIPDATA, CS_OPT_ON);
	if (j->arch->has_att)
		j->lib->cs_option(*out, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	return 0;
}

static int send_code(struct job *j)
{
	struct elf_span code;
	csh handle;
	int r;

	if (j->reply.end - j->reply.start > DISASM_BYTES_MAX) {
		j->reply.end = j->reply.start + DISASM_BYTES_MAX;
		j->reply.is_cut = 1;
	}
	if (elf_image_at_vaddr(j->img, j->reply.start, j->reply.end - j->reply.start, &code) < 0)
		return -ENOENT;
	r = open_capstone(j, &handle);
	if (r < 0)
		return r;
	r = disassemble(j, handle, &code);
	j->lib->cs_close(&handle);
	return r;
}

/* Runs under sigbus_run(), because a file that is truncated meanwhile raises SIGBUS. */
static int run(void *ctx)
{
	struct job *j = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r = elf_image_open(&img, j->call->fds[0], NULL);

	if (r < 0)
		return r == -ENOMEM ? r : -ENOEXEC;
	j->img = img;
	elf_note_gnu_build_id(img, &j->reply.build_id);
	r = find_extent(j);
	return r < 0 ? r : send_code(j);
}

static int disasm_job(struct role_call *call)
{
	const struct disasm_request *request = call->request;
	_cleanup_(freep) struct job *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	if (call->n_fds != 1)
		return -EINVAL;
	j->call = call;
	j->vaddr = request->vaddr;
	j->lib = disasm_library();
	if (!j->lib)
		return -ENOPKG;
	r = sigbus_run(run, j);
	if (r == 0) {
		memcpy(call->reply, &j->reply, sizeof(j->reply));
		call->reply_len = sizeof(j->reply);
	}
	return r;
}

static const struct role_job jobs[] = {
	{ DISASM_FUNCTION, sizeof(struct disasm_request), disasm_job },
};

const struct role disassembler_role = {
	.name = "cameo-disassembler",
	.sandbox = SANDBOX_READER,
	.jobs = jobs,
	.n_jobs = sizeof(jobs) / sizeof(*jobs),
	.prepare = disasm_library_load,
};
