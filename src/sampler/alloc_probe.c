/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler/alloc_probe.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "bpf/sample.skel.h"
#include "bpf/shared/allocs.h"
#include "sampler/uprobe.h"

int alloc_probe_set_file(struct sample_bpf *skel, uint32_t file,
			 const struct allocator_function *functions, size_t n)
{
	struct alloc_file own = { 0 };
	size_t n_ranges = 0;

	for (size_t i = 0; i < n && n_ranges < ALLOC_RANGES_MAX; i++) {
		if (functions[i].kind == ALLOC_FREE)
			continue;
		own.ranges[n_ranges].lo = functions[i].lo;
		own.ranges[n_ranges++].hi = functions[i].hi;
	}
	return bpf_map__update_elem(skel->maps.alloc_files, &file, sizeof(file), &own, sizeof(own),
				    BPF_ANY);
}

static uint64_t cookie_of(const struct alloc_place *p, const struct allocator_function *f)
{
	uint64_t stepped = f->flags & ALLOCATOR_STEPPED ? ALLOC_COOKIE_STEPPED : 0;

	return ALLOC_COOKIE(f->kind, p->file, f->place) | stepped;
}

/*
 * Returns the descriptor of a link, which holds the event, or -errno. The file's path may lead to
 * another one by now, so the event is opened through the descriptor.
 */
static int attach_one(const struct bpf_program *program, const struct alloc_place *p,
		      const struct allocator_function *f, bool is_return)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie_of(p, f));
	struct perf_event_attr attr = { .size = sizeof(attr), .disabled = 1 };
	_cleanup_(closep) int event = -1;
	uint32_t type;
	uint64_t config;
	char path[32];
	int link, r = uprobe_event_type(is_return, &type, &config);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->fd);
	attr.type = type;
	attr.config = config;
	attr.uprobe_path = (uint64_t)(uintptr_t)path;
	attr.probe_offset = f->place;
	event = (int)syscall(SYS_perf_event_open, &attr, (pid_t)p->pid, -1, -1,
			     PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	link = bpf_link_create(bpf_program__fd(program), event, BPF_PERF_EVENT, &opts);
	if (link < 0)
		return link;
	if (ioctl(event, PERF_EVENT_IOC_ENABLE, 0) < 0) {
		r = -errno;
		close(link);
		return r;
	}
	return link;
}

static int add(int fd, int *fds, size_t *io_n)
{
	if (fd < 0)
		return fd;
	fds[(*io_n)++] = fd;
	return 0;
}

/* The probe at the return comes first, so that it sees each call that the other one samples. */
static int attach_function(struct sample_bpf *skel, const struct alloc_place *p,
			   const struct allocator_function *f, int *fds, size_t *io_n)
{
	int r = 0;

	if (f->kind == ALLOC_FREE)
		return add(attach_one(skel->progs.on_free, p, f, false), fds, io_n);
	if (p->frees)
		r = add(attach_one(skel->progs.on_alloc_return, p, f, true), fds, io_n);
	return r < 0 ? r : add(attach_one(skel->progs.on_alloc, p, f, false), fds, io_n);
}

/*
 * Returns true if @part includes a probe at @f. If frees are followed, functions with
 * ALLOCATOR_THROWS are excluded, because their returns must not be probed.
 */
static bool is_wanted(const struct alloc_place *p, const struct allocator_function *f,
		      enum alloc_probe_part part)
{
	if (f->kind == ALLOC_FREE)
		return p->frees && part == ALLOC_PROBE_FREES;
	return part == ALLOC_PROBE_ALLOCS && !(p->frees && f->flags & ALLOCATOR_THROWS);
}

int alloc_probe_attach(struct sample_bpf *skel, const struct alloc_place *place,
		       enum alloc_probe_part part, int *fds, size_t *io_n)
{
	int r = 0;

	for (size_t i = 0; i < place->n && i < ALLOCATOR_FUNCTIONS_MAX && r == 0; i++)
		if (is_wanted(place, &place->functions[i], part))
			r = attach_function(skel, place, &place->functions[i], fds, io_n);
	return r;
}
