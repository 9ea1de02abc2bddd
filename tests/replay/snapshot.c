/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is a head and then the arrays as they are: made and read by the
 * same build, in one test run.
 */
#include "snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "proc/maps.h"

enum { STACK_MAX = 1 << 20, MAPPINGS_MAX = 4096, VDSO_MAX = 1 << 16 };

static const char magic[8] = "cameosn1";

struct head {
	char magic[sizeof(magic)];
	uint64_t regs[UREG_COUNT];
	uint64_t stack_len, vdso_len, n_mappings;
};

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

	if (m->start <= t->s->regs[UREG_RSP] && t->s->regs[UREG_RSP] < m->end)
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
	size_t len;
	int r;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &u) < 0)
		return -errno;
	memcpy(s->regs,
	       (uint64_t[UREG_COUNT]){ u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8,
				       u.r9, u.r10, u.r11, u.r12, u.r13, u.r14, u.r15, u.rip },
	       sizeof(s->regs));
	r = proc_maps_read(pid, PROC_MAPS_ALL, on_map, &t, NULL);
	if (r < 0)
		return r;
	if (!t.stack_end)
		return -EFAULT;
	len = t.stack_end - s->regs[UREG_RSP];
	if (len > STACK_MAX)
		len = STACK_MAX;
	r = vec_reserve(&s->stack, len);
	if (r < 0)
		return r;
	s->stack.len = len;
	return read_memory(pid, s->regs[UREG_RSP], s->stack.data, len);
}

int snapshot_write(const struct snapshot *s, int fd)
{
	struct head head = { .stack_len = s->stack.len,
			     .vdso_len = s->vdso.len,
			     .n_mappings = s->mappings.len };
	struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ s->stack.data, s->stack.len },
		{ s->vdso.data, s->vdso.len },
		{ s->mappings.data, s->mappings.len * sizeof(*s->mappings.data) },
	};
	size_t len = 0;

	memcpy(head.magic, magic, sizeof(magic));
	memcpy(head.regs, s->regs, sizeof(head.regs));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		len += parts[i].iov_len;
	return writev(fd, parts, sizeof(parts) / sizeof(parts[0])) == (ssize_t)len ? 0 : -EIO;
}

static int read_all(int fd, void *dst, size_t len)
{
	return read(fd, dst, len) == (ssize_t)len ? 0 : -EBADMSG;
}

int snapshot_read(struct snapshot *s, int fd)
{
	struct head head;
	int r = read_all(fd, &head, sizeof(head));

	if (r < 0 || memcmp(head.magic, magic, sizeof(magic)) || head.stack_len > STACK_MAX ||
	    head.vdso_len > VDSO_MAX || head.n_mappings > MAPPINGS_MAX)
		return -EBADMSG;
	memcpy(s->regs, head.regs, sizeof(s->regs));
	if (vec_reserve(&s->stack, head.stack_len) < 0 ||
	    vec_reserve(&s->vdso, head.vdso_len) < 0 ||
	    vec_reserve(&s->mappings, head.n_mappings) < 0)
		return -ENOMEM;
	s->stack.len = head.stack_len;
	s->vdso.len = head.vdso_len;
	s->mappings.len = head.n_mappings;
	r = read_all(fd, s->stack.data, s->stack.len);
	if (r == 0)
		r = read_all(fd, s->vdso.data, s->vdso.len);
	if (r == 0)
		r = read_all(fd, s->mappings.data, s->mappings.len * sizeof(*s->mappings.data));
	return r;
}

void snapshot_fini(struct snapshot *s)
{
	vec_fini(&s->stack);
	vec_fini(&s->vdso);
	vec_fini(&s->mappings);
}

int snapshot_image(const struct snapshot *s, struct image *out)
{
	struct stat st;
	int r = 0;

	for (size_t i = 0; i < s->mappings.len && r == 0; i++) {
		const struct snapshot_mapping *m = &s->mappings.data[i];

		if (!strcmp(m->path, "[vdso]"))
			r = image_add(out, &m->map, m->path, s->vdso.data, s->vdso.len);
		else if (m->file_size &&
			 (stat(m->path, &st) < 0 || (uint64_t)st.st_size != m->file_size))
			r = -ESTALE;
		else
			r = image_add(out, &m->map, m->path, NULL, 0);
	}
	return r < 0 ? r : image_seal(out);
}
