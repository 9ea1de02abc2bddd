/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses in the profile are the files' own (ELF addresses), and a mapping
 * is a file's segment at its own address: so the same code has one location
 * in however many processes it runs, and pprof can symbolize it again.
 */
#include "agent/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/collect.h"
#include "agent/files.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/sigbus.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "elf/image.h"
#include "elf/symtab.h"
#include "profile/profile.h"
#include "symbol/kallsyms.h"
#include "unwind/walk.h"

enum { KERNEL_MAPPING_START_BIT = 63 };

struct named_file {
	bool tried;
	struct elf_image *img;
	struct elf_symtab *symtab;
};

struct names {
	struct files *files;
	struct {
		VEC(struct named_file);
	} known; /* by file id */
	struct kallsyms *kallsyms;
	bool kallsyms_tried;
	struct names_stats stats;
};

/* A word that has its location already; words of anonymous code belong to a process. */
struct located {
	uint64_t word;
	uint32_t pid; /* 0 where it does not matter */
	uint32_t location;
};

/* The making of one profile. */
struct job {
	struct names *n;
	struct profile *p;
	struct {
		VEC(struct located);
	} located;
	struct index by_word;
	struct {
		VEC(uint32_t);
	} stack; /* of the sample in work */
	uint32_t key_pid, key_tid, key_comm, key_thread;
};

int names_new(struct names **out, struct files *files)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->files = files;
	*out = n;
	return 0;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->known.len; i++) {
		elf_symtab_free(n->known.data[i].symtab);
		elf_image_free(n->known.data[i].img);
	}
	vec_fini(&n->known);
	kallsyms_free(n->kallsyms);
	free(n);
}

void names_stats(const struct names *n, struct names_stats *out)
{
	*out = n->stats;
}

static const struct kallsyms *names_kallsyms(struct names *n)
{
	if (!n->kallsyms_tried)
		(void)kallsyms_load(&n->kallsyms, NULL);
	n->kallsyms_tried = true;
	return n->kallsyms;
}

struct load_job {
	const struct file_info *info;
	struct named_file *known;
};

static int load_file(void *ctx)
{
	struct load_job *job = ctx;
	const struct file_info *info = job->info;
	int r;

	if (info->memory)
		r = elf_image_from_memory(&job->known->img, info->memory, info->memory_len, NULL);
	else
		r = elf_image_open(&job->known->img, info->fd, NULL);
	if (r < 0)
		return r;
	return elf_symtab_load(&job->known->symtab, job->known->img, ELF_SYMTAB | ELF_DYNSYM, NULL);
}

static struct named_file *names_file(struct names *n, uint32_t id, const struct file_info *info)
{
	struct load_job job = { .info = info };

	while (n->known.len <= id)
		if (vec_push(&n->known, (struct named_file){ 0 }) < 0)
			return NULL;
	job.known = &n->known.data[id];
	if (!job.known->tried && info->is_elf)
		(void)sigbus_run(load_file, &job);
	job.known->tried = true;
	return job.known;
}

/* ---- the pieces of a location ---------------------------------------------- */

static int add_str(struct job *j, const char *s, uint32_t *out)
{
	return profile_add_string(j->p, s, strlen(s), out);
}

static int add_function(struct job *j, const char *name, const char *file, uint32_t *out)
{
	struct profile_function f = { 0 };
	int r = add_str(j, name, &f.name);

	f.system_name = f.name;
	if (r == 0)
		r = add_str(j, file, &f.file);
	return r < 0 ? r : profile_add_function(j->p, &f, out);
}

static int add_location(struct job *j, const struct profile_location *place, const char *name,
			const char *file, uint32_t *out)
{
	struct profile_location l = *place;
	struct profile_line line = { 0 };
	int r = add_function(j, name, file, &line.function);

	if (r < 0)
		return r;
	l.n_lines = 1;
	l.lines = &line;
	return profile_add_location(j->p, &l, out);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The file's segment that holds @vaddr, as a mapping; the whole file where it is no ELF file. */
static int add_mapping(struct job *j, const struct file_info *info, const struct elf_image *img,
		       uint64_t vaddr, uint32_t *out)
{
	struct profile_mapping m = { .start = 0, .limit = UINT64_MAX, .has_functions = true };
	const struct elf_segment *seg;
	size_t n = img ? elf_image_segments(img, &seg) : 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		if (vaddr < seg[i].vaddr || vaddr - seg[i].vaddr >= seg[i].memsz)
			continue;
		m.start = seg[i].vaddr & ~4095ULL;
		m.limit = (seg[i].vaddr + seg[i].memsz + 4095) & ~4095ULL;
		m.file_off = seg[i].file_off & ~4095ULL;
	}
	r = add_str(j, info->path, &m.file);
	if (r == 0)
		r = add_str(j, info->build_id_hex, &m.build_id);
	return r < 0 ? r : profile_add_mapping(j->p, &m, out);
}

static int locate_native(struct job *j, uint64_t payload, uint32_t *out)
{
	uint32_t id = (uint32_t)(payload >> FRAME_OFFSET_BITS);
	uint64_t off = payload & FRAME_OFFSET_MASK, vaddr = off;
	const struct file_info *info = files_get(j->n->files, id);
	struct profile_location l = { .kind = PROFILE_FRAME_NATIVE };
	struct named_file *f = info ? names_file(j->n, id, info) : NULL;
	struct elf_symbol sym;
	char name[320];
	int r;

	if (!f)
		return -ENOMEM;
	if (f->img)
		(void)elf_image_vaddr_of(f->img, off, &vaddr);
	l.address = vaddr;
	r = add_mapping(j, info, f->img, vaddr, &l.mapping);
	if (r < 0)
		return r;
	if (f->symtab && elf_symtab_find(f->symtab, vaddr, &sym) == 0)
		return add_location(j, &l, sym.name, "", out);
	j->n->stats.n_unnamed++;
	snprintf(name, sizeof(name), "[%.255s+0x%llx]", base_name(info->path),
		 (unsigned long long)vaddr);
	return add_location(j, &l, name, "", out);
}

static int locate_kernel(struct job *j, uint64_t address, uint32_t *out)
{
	struct profile_mapping m = { .start = 1ULL << KERNEL_MAPPING_START_BIT,
				     .limit = UINT64_MAX,
				     .has_functions = true };
	struct profile_location l = { .kind = PROFILE_FRAME_KERNEL, .address = address };
	const struct kallsyms *k = names_kallsyms(j->n);
	struct kallsyms_symbol sym;
	char name[64];
	int r = add_str(j, "[kernel.kallsyms]", &m.file);

	if (r == 0)
		r = profile_add_mapping(j->p, &m, &l.mapping);
	if (r < 0)
		return r;
	if (k && kallsyms_find(k, address, &sym) == 0)
		return add_location(j, &l, sym.name, sym.module, out);
	j->n->stats.n_unnamed++;
	snprintf(name, sizeof(name), "[kernel+0x%llx]", (unsigned long long)address);
	return add_location(j, &l, name, "", out);
}

/* Generated code, or an address that leads nowhere. */
static int locate_address(struct job *j, uint64_t address, uint32_t *out)
{
	struct profile_location l = { .kind = PROFILE_FRAME_UNKNOWN,
				      .mapping = PROFILE_NONE,
				      .address = address };

	j->n->stats.n_unnamed++;
	return add_location(j, &l, "[anonymous code]", "", out);
}

static int locate_error(struct job *j, uint64_t why, uint32_t *out)
{
	struct profile_location l = { .kind = PROFILE_FRAME_ERROR, .mapping = PROFILE_NONE };

	char name[80];

	snprintf(name, sizeof(name), "[incomplete: %s]", unwind_error_text(why));
	return add_location(j, &l, name, "", out);
}

static int locate_new(struct job *j, uint64_t word, uint32_t *out)
{
	j->n->stats.n_locations++;
	switch (word >> FRAME_KIND_SHIFT) {
	case FRAME_NATIVE:
		return locate_native(j, word & FRAME_PAYLOAD_MASK, out);
	case FRAME_KERNEL:
		return locate_kernel(j, word, out);
	case FRAME_ADDRESS:
		return locate_address(j, word & FRAME_PAYLOAD_MASK, out);
	default:
		return locate_error(j, word & FRAME_PAYLOAD_MASK, out);
	}
}

struct located_key {
	const struct job *j;
	uint64_t word;
	uint32_t pid;
};

static bool same_word(const void *ctx, uint32_t id)
{
	const struct located_key *k = ctx;
	const struct located *l = &k->j->located.data[id];

	return l->word == k->word && l->pid == k->pid;
}

static int locate(struct job *j, uint64_t word, uint32_t pid, uint32_t *out)
{
	bool per_process = word >> FRAME_KIND_SHIFT == FRAME_ADDRESS;
	struct located_key key = { j, word, per_process ? pid : 0 };
	uint32_t hash = hash_u64(word ^ (uint64_t)key.pid << 32), id;
	int r;

	if (index_find(&j->by_word, hash, same_word, &key, &id)) {
		*out = j->located.data[id].location;
		return 0;
	}
	r = locate_new(j, word, out);
	if (r == 0)
		r = vec_push(&j->located, (struct located){ word, key.pid, *out });
	return r < 0 ? r : index_add(&j->by_word, hash, (uint32_t)j->located.len - 1);
}

/* ---- samples --------------------------------------------------------------- */

static int add_labels(struct job *j, const struct collect_thread *t, struct profile_label out[4])
{
	int r;

	out[0] = (struct profile_label){ .key = j->key_pid, .num = t->pid };
	out[1] = (struct profile_label){ .key = j->key_tid, .num = t->tid };
	out[2] = (struct profile_label){ .key = j->key_comm };
	out[3] = (struct profile_label){ .key = j->key_thread };
	r = add_str(j, t->process_comm, &out[2].str);
	return r < 0 ? r : add_str(j, t->comm, &out[3].str);
}

static int add_sample(struct job *j, const struct collect *c, const struct collect_sample *s,
		      int64_t period_ns)
{
	const struct collect_thread *t = collect_thread(c, s->thread);
	struct profile_label labels[4];
	int64_t values[2] = { (int64_t)s->count, (int64_t)s->count * period_ns };
	struct profile_sample sample = { .labels = labels, .n_labels = 4, .values = values };
	const uint64_t *words;
	size_t n;
	int r = add_labels(j, t, labels);

	words = collect_stack(c, s->stack, &n);
	if (r == 0)
		r = vec_reserve(&j->stack, n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = locate(j, words[i], t->pid, &j->stack.data[i]);
	if (r == 0)
		r = profile_add_stack(j->p, j->stack.data, n, &sample.stack);
	return r < 0 ? r : profile_add_sample(j->p, &sample);
}

static int begin_profile(struct job *j, const struct names_window *window)
{
	struct profile_meta *meta = profile_meta(j->p);
	int r;

	meta->time_ns = window->time_ns;
	meta->duration_ns = window->duration_ns;
	meta->period = 1000000000 / window->freq_hz;
	r = profile_add_sample_type(j->p, "samples", "count");
	if (r == 0)
		r = profile_add_sample_type(j->p, "cpu", "nanoseconds");
	if (r == 0)
		r = add_str(j, "cpu", &meta->period_type.type);
	if (r == 0)
		r = add_str(j, "nanoseconds", &meta->period_type.unit);
	if (r == 0)
		r = add_str(j, "pid", &j->key_pid);
	if (r == 0)
		r = add_str(j, "tid", &j->key_tid);
	if (r == 0)
		r = add_str(j, "comm", &j->key_comm);
	return r < 0 ? r : add_str(j, "thread", &j->key_thread);
}

int names_profile(struct names *n, const struct collect *c, const struct names_window *window,
		  struct profile **out, struct err *err)
{
	_cleanup_(profile_freep) struct profile *p = NULL;
	struct job j = { .n = n };
	int r;

	n->stats = (struct names_stats){ 0 };
	r = profile_new(&p);
	j.p = p;
	if (r == 0)
		r = begin_profile(&j, window);
	for (size_t i = 0; i < collect_n_samples(c) && r == 0; i++)
		r = add_sample(&j, c, collect_sample(c, i), 1000000000 / window->freq_hz);
	vec_fini(&j.located);
	vec_fini(&j.stack);
	index_fini(&j.by_word);
	if (r < 0)
		return err_set(err, r, "can't build the profile: %s", strerror(-r));
	*out = steal_ptr(&p);
	return 0;
}
