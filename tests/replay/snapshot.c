/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/cleanup.h"
#include "capture/core.h"
#include "proc/maps.h"

enum { STACK_MAX = 1 << 20, VDSO_MAX = 1 << 16 };

struct taking {
	struct snapshot *s;
	pid_t pid;
	uint64_t stack_end;
};

static int read_memory(pid_t pid, uint64_t addr, void *dst, size_t len)
{
	struct iovec local = { dst, len }, remote = { (void *)addr, len }; /* NOLINT */

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)len ? 0 : -EFAULT;
}

static int take_vdso(struct taking *t, const struct proc_map *m)
{
	int r = vec_reserve(&t->s->vdso, m->end - m->start);

	if (r < 0)
		return r;
	t->s->vdso.len = m->end - m->start;
	return read_memory(t->pid, m->start, t->s->vdso.data, t->s->vdso.len);
}

static int on_map(void *ctx, const struct proc_map *m)
{
	struct taking *t = ctx;
	struct snapshot_mapping map = {
		.map = { .start = m->start, .end = m->end, .file_off = m->file_off }
	};
	struct stat st;
	int r = 0;

	if (m->start <= t->s->regs[UREG_SP] && t->s->regs[UREG_SP] < m->end)
		t->stack_end = m->end;
	if (!(m->prot & PROC_MAP_EXEC))
		return 0;
	snprintf(map.path, sizeof(map.path), "%s", m->path);
	if (m->path[0] == '/' && stat(m->path, &st) == 0)
		map.file_size = (uint64_t)st.st_size;
	if (!strcmp(m->path, "[vdso]"))
		r = take_vdso(t, m);
	return r < 0 ? r : vec_push(&t->s->mappings, map);
}

int snapshot_take(struct snapshot *s, pid_t pid)
{
	struct taking t = { s, pid, 0 };
	struct user_regs_struct u;
	struct iovec all = { &u, sizeof(u) };
	size_t len;
	int r;

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &all) < 0)
		return -errno;
	arch_registers(&u, s->regs);
	r = proc_maps_read(pid, PROC_MAPS_ALL, on_map, &t, NULL);
	if (r < 0)
		return r;
	if (!t.stack_end)
		return -EFAULT;
	len = t.stack_end - s->regs[UREG_SP];
	if (len > STACK_MAX)
		len = STACK_MAX;
	r = vec_reserve(&s->stack, len);
	if (r < 0)
		return r;
	s->stack.len = len;
	return read_memory(pid, s->regs[UREG_SP], s->stack.data, len);
}

static uint64_t stack_end(const struct core *c)
{
	uint64_t end = c->regs[UREG_SP];

	for (size_t i = 0; i < c->loads.len; i++) {
		const struct core_load *l = &c->loads.data[i];

		if (l->at + l->len > end && l->at < c->regs[UREG_SP] + STACK_MAX)
			end = l->at + l->len;
	}
	return end;
}

static int copy_stack(struct snapshot *s, struct core *c)
{
	uint64_t sp = c->regs[UREG_SP], len = stack_end(c) - sp;
	int r = vec_reserve(&s->stack, len);

	if (r < 0)
		return r;
	s->stack.len = len;
	memset(s->stack.data, 0, len);
	for (uint64_t at = 0; at + 8 <= len; at += 8)
		(void)core_read_memory(c, sp + at, s->stack.data + at, 8);
	return 0;
}

static int copy_region(struct snapshot *s, const struct core *c, const struct core_region *region)
{
	struct snapshot_mapping m = {
		.map = { .start = region->start, .end = region->end, .file_off = region->file_off }
	};

	if (region->file != CORE_NO_FILE) {
		snprintf(m.path, sizeof(m.path), "%s", c->files.data[region->file].path);
		m.file_size = c->files.data[region->file].size;
	} else if (region->bytes && region->end - region->start <= VDSO_MAX) {
		size_t len = region->end - region->start;

		if (vec_reserve(&s->vdso, len) < 0)
			return -ENOMEM;
		memcpy(s->vdso.data, region->bytes, len);
		s->vdso.len = len;
		snprintf(m.path, sizeof(m.path), "[vdso]");
	}
	return vec_push(&s->mappings, m);
}

int snapshot_from_core(struct snapshot *s, const void *data, size_t len)
{
	_cleanup_(core_fini) struct core c = { 0 };
	int r = core_parse(&c, data, len, NULL);

	if (r == 0)
		r = copy_stack(s, &c);
	memcpy(s->regs, c.regs, sizeof(s->regs));
	for (size_t i = 0; i < c.regions.len && r == 0; i++)
		r = copy_region(s, &c, &c.regions.data[i]);
	return r;
}

void snapshot_fini(struct snapshot *s)
{
	vec_fini(&s->stack);
	vec_fini(&s->vdso);
	vec_fini(&s->mappings);
}

int snapshot_image(const struct snapshot *s, struct process_image *out)
{
	struct stat st;
	int r = 0;

	for (size_t i = 0; i < s->mappings.len && r == 0; i++) {
		const struct snapshot_mapping *m = &s->mappings.data[i];

		if (!strcmp(m->path, "[vdso]"))
			r = process_image_add(out, &m->map, m->path, s->vdso.data, s->vdso.len);
		else if (m->file_size &&
			 (stat(m->path, &st) < 0 || (uint64_t)st.st_size != m->file_size))
			r = -ESTALE;
		else
			r = process_image_add(out, &m->map, m->path, NULL, 0);
	}
	return r < 0 ? r : process_image_seal(out);
}
