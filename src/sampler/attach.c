/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaches the sampling programs to events. Events that CPUs count (perf's own: cpu-clock,
 * cycles) need one descriptor for each online CPU. One descriptor is enough for a tracepoint
 * or a uprobe: once a program is attached to it, the kernel runs that program on all CPUs,
 * whichever CPU the event was opened on. The BPF program decides which processes are
 * sampled.
 */
#include "sampler/attach.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "bpf/sample.skel.h"
#include "sampler/cpu_list.h"
#include "sampler/events.h"
#include "sampler/kernel_error.h"

struct open_event {
	int fd;         /* -1: not open */
	int link_fd;    /* BPF link that carries the event index as its cookie; -1: none */
	uint64_t count; /* value at the last check: see close_dead_events() */
	bool was_dead;  /* closed because its CPU went offline */
};

struct attach {
	const struct sampler_opts *opts;
	struct sample_bpf *skel;
	const struct event *events;
	size_t n;
	bool cookies; /* several events of one kind: programs need the index */
	struct {
		VEC(struct open_event);
	} open; /* by CPU, then by event: [cpu * n + event] */
	struct {
		VEC(struct open_event);
	} probes; /* tracepoints and uprobes: one entry per event, fd -1 for others */
};

/* The default event, used when the options list none. */
static char clock_name[] = "cpu-clock";
static const struct event clock_event = { .kind = EVENT_PERF,
					  .name = clock_name,
					  .type = PERF_TYPE_SOFTWARE,
					  .config = PERF_COUNT_SW_CPU_CLOCK,
					  .is_clock = true };

static size_t n_of_kind(const struct sampler_opts *opts, enum event_kind kind)
{
	size_t n = !opts->n_events && kind == EVENT_PERF;

	for (size_t i = 0; i < opts->n_events; i++)
		n += opts->events[i].kind == kind;
	return n;
}

static bool needs_cookies(const struct sampler_opts *opts)
{
	for (int kind = 0; kind < EVENT_KIND_MAX; kind++)
		if (n_of_kind(opts, (enum event_kind)kind) > 1)
			return true;
	return false;
}

uint32_t attach_walks(const struct sampler_opts *opts)
{
	if (n_of_kind(opts, EVENT_UPROBE) || opts->faults || opts->allocs)
		return WALK_PROBE + WALK_PROBES;
	return opts->off_cpu ? WALK_OFF + 1 : WALK_CPU + 1;
}

void attach_prepare(struct sample_bpf *skel, const struct sampler_opts *opts, uint32_t n_possible)
{
	uint32_t alone[EVENT_KIND_MAX] = { 0 };

	for (uint32_t i = 0; i < opts->n_events; i++) {
		alone[opts->events[i].kind] = i;
		skel->rodata->event_periods[i] = opts->events[i].period;
	}
	skel->rodata->use_cookies = needs_cookies(opts);
	skel->rodata->event_of_perf = alone[EVENT_PERF];
	skel->rodata->event_of_tracepoint = alone[EVENT_TRACEPOINT];
	skel->rodata->event_of_uprobe = alone[EVENT_UPROBE];
	bpf_program__set_autoload(skel->progs.on_sample,
				  !opts->no_samples && n_of_kind(opts, EVENT_PERF));
	bpf_program__set_autoload(skel->progs.on_tracepoint, n_of_kind(opts, EVENT_TRACEPOINT));
	bpf_program__set_autoload(skel->progs.on_uprobe, n_of_kind(opts, EVENT_UPROBE));
	if (n_of_kind(opts, EVENT_UPROBE) || opts->faults || opts->allocs)
		bpf_map__set_max_entries(skel->maps.reserved_walks, n_possible * WALK_PROBES);
}

int attach_new(struct attach **out, const struct sampler_opts *opts, struct sample_bpf *skel)
{
	struct attach *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->opts = opts;
	s->skel = skel;
	s->events = opts->n_events ? opts->events : &clock_event;
	s->n = opts->n_events ? opts->n_events : 1;
	s->cookies = needs_cookies(opts);
	*out = s;
	return 0;
}

static void close_event(struct open_event *ev)
{
	closep(&ev->link_fd);
	closep(&ev->fd);
	ev->link_fd = ev->fd = -1;
}

void attach_detach(struct attach *s)
{
	for (size_t i = 0; s && i < s->open.len; i++)
		close_event(&s->open.data[i]);
	for (size_t i = 0; s && i < s->probes.len; i++)
		close_event(&s->probes.data[i]);
	if (s)
		s->open.len = s->probes.len = 0;
}

void attach_free(struct attach *s)
{
	if (!s)
		return;
	attach_detach(s);
	vec_fini(&s->open);
	vec_fini(&s->probes);
	free(s);
}

/* ---- one event ------------------------------------------------------------------------ */

static int event_missing(const struct event *event, int r, struct err *err)
{
	if (event->kind == EVENT_UPROBE)
		return err_set(err, r, "cannot place a probe at %.120s: %s", event->name,
			       strerror(-r));
	return err_set(err, r,
		       "event \"%.80s\" is not available on this machine%s: use --event cpu-clock, "
		       "which is available everywhere",
		       event->name,
		       event->is_hardware ? " (virtual machines often lack hardware counters)"
					  : "");
}

static struct bpf_program *program_of(const struct attach *s, enum event_kind kind)
{
	struct bpf_program *programs[EVENT_KIND_MAX] = {
		[EVENT_PERF] = s->skel->progs.on_sample,
		[EVENT_TRACEPOINT] = s->skel->progs.on_tracepoint,
		[EVENT_UPROBE] = s->skel->progs.on_uprobe,
	};

	return programs[kind];
}

static int attach_program(const struct attach *s, size_t i, struct open_event *ev)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = i);
	int program = bpf_program__fd(program_of(s, s->events[i].kind));

	if (!s->cookies)
		return ioctl(ev->fd, PERF_EVENT_IOC_SET_BPF, program) < 0 ? -errno : 0;
	ev->link_fd = bpf_link_create(program, ev->fd, BPF_PERF_EVENT, &opts);
	return ev->link_fd < 0 ? -ENOSYS : 0;
}

/*
 * Opens event @i on @cpu. Returns -ENODEV if the CPU is offline, -ENOSYS if the kernel cannot
 * attach with a cookie, which needs 5.15.
 */
static int open_event(const struct attach *s, size_t i, int cpu, struct open_event *out)
{
	const struct event *event = &s->events[i];
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.freq = !event->period,
		.sample_freq = event->period ? event->period : s->opts->freq_hz,
		.disabled = 1,
		.uprobe_path = (uint64_t)(uintptr_t)event->path,
		.probe_offset = event->offset,
	};
	bool in_cgroup = s->opts->in_cgroup && event->kind == EVENT_PERF;
	struct open_event ev = { .link_fd = -1 };
	int r;

	ev.fd = (int)syscall(SYS_perf_event_open, &attr, in_cgroup ? s->opts->cgroup_fd : -1, cpu,
			     -1, PERF_FLAG_FD_CLOEXEC | (in_cgroup ? PERF_FLAG_PID_CGROUP : 0));
	if (ev.fd < 0)
		return -errno;
	r = attach_program(s, i, &ev);
	if (r == 0 && ioctl(ev.fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		r = -errno;
	if (r < 0)
		close_event(&ev);
	else
		*out = ev;
	return r;
}

static int explain(const struct attach *s, const struct event *event, int r, struct err *err)
{
	if (r == -ENOSYS)
		return err_set(err, r,
			       "kernels before 5.15 cannot sample several events of the same kind: "
			       "use a single --event");
	if (s->opts->n_events && (r == -ENOENT || r == -EOPNOTSUPP || r == -EINVAL))
		return event_missing(event, r, err);
	if (s->opts->in_cgroup && (r == -EBADF || r == -EINVAL))
		return err_set(err, r,
			       "the cgroup cannot be sampled: it must belong to the unified "
			       "hierarchy (cgroup2) or to the perf_event hierarchy of cgroup v1");
	return kernel_error(r, "open a perf event", err);
}

/* ---- all events ----------------------------------------------------------------------- */

static bool is_cpu_selected(const struct attach *s, int cpu)
{
	if (!s->opts->cpus)
		return true;
	for (size_t i = 0; i < s->opts->cpus->len; i++)
		if (s->opts->cpus->data[i] == cpu)
			return true;
	return false;
}

/* Opens the missing events of @cpu. Returns 1 if one was opened, 0 if not, or -errno. */
static int add_cpu(struct attach *s, int cpu, struct err *err)
{
	size_t first = (size_t)cpu * s->n;
	bool added = false;

	while (s->open.len < first + s->n) {
		int r = vec_push(&s->open, (struct open_event){ .fd = -1, .link_fd = -1 });

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < s->n; i++) {
		struct open_event *ev = &s->open.data[first + i], opened;
		int r;

		if (ev->fd >= 0 || s->events[i].kind != EVENT_PERF)
			continue;
		r = open_event(s, i, cpu, &opened);
		if (r == -ENODEV || r == -ENXIO)
			return 0; /* the CPU went offline after its number was read */
		if (r < 0)
			return explain(s, &s->events[i], r, err);
		opened.was_dead = ev->was_dead;
		*ev = opened;
		added = true;
	}
	return added;
}

static int add_probes(struct attach *s, int cpu, struct err *err)
{
	for (size_t i = 0; i < s->n && s->probes.len < s->n; i++) {
		struct open_event ev = { .fd = -1, .link_fd = -1 };
		int r = 0;

		if (s->events[i].kind != EVENT_PERF)
			r = open_event(s, i, cpu, &ev);
		if (r < 0)
			return explain(s, &s->events[i], r, err);
		r = vec_push(&s->probes, ev);
		if (r < 0) {
			close_event(&ev);
			return r;
		}
	}
	return 0;
}

/*
 * A CPU's clock event counts while the CPU is online, so an event whose count has not changed
 * since the last check belongs to a CPU that went offline meanwhile; the kernel does not
 * revive it. Other events, and all events of a cgroup, may have nothing to count, so this
 * check does not apply to them.
 */
static void close_dead_events(struct attach *s)
{
	for (size_t i = 0; i < s->open.len && !s->opts->in_cgroup; i++) {
		struct open_event *ev = &s->open.data[i];
		uint64_t count = 0;
		ssize_t n;

		if (ev->fd < 0 || !s->events[i % s->n].is_clock)
			continue;
		n = read(ev->fd, &count, sizeof(count));
		if (n == sizeof(count) && (!count || count != ev->count)) {
			ev->count = count;
			continue;
		}
		close_event(ev);
		ev->was_dead = true;
	}
}

int attach_update(struct attach *s, struct cpu_list *back, struct err *err)
{
	struct cpu_list cpus = { 0 };
	size_t n_selected = 0;
	int r;

	close_dead_events(s);
	r = cpu_list_online(&cpus, err);
	if (r >= 0 && cpus.len)
		r = add_probes(s, cpus.data[0], err);
	for (size_t i = 0; i < cpus.len && r >= 0; i++) {
		int cpu = cpus.data[i];

		if (!is_cpu_selected(s, cpu))
			continue;
		n_selected++;
		r = add_cpu(s, cpu, err);
		if (r > 0 && s->open.data[(size_t)cpu * s->n].was_dead)
			r = vec_push(back, cpu);
	}
	vec_fini(&cpus);
	/* selected CPUs may go offline later, but a recording of none at all is a mistake */
	if (r >= 0 && !n_selected && !s->open.len)
		r = err_set(err, -ENODEV, "none of the CPUs in --cpus is online");
	return r < 0 ? r : 0;
}

int attach_pause(struct attach *s, bool pause)
{
	unsigned long request = pause ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE;
	int r = 0;

	for (size_t i = 0; i < s->open.len; i++)
		if (s->open.data[i].fd >= 0 && ioctl(s->open.data[i].fd, request, 0) < 0)
			r = -errno;
	return r;
}

int attach_cost(const struct attach *s, uint64_t *out_ns, uint64_t *out_runs)
{
	*out_ns = *out_runs = 0;
	for (int kind = 0; kind < EVENT_KIND_MAX; kind++) {
		struct bpf_program *program = program_of(s, (enum event_kind)kind);
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);
		int r;

		if (!bpf_program__autoload(program))
			continue;
		r = bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len);
		if (r < 0)
			return r;
		*out_ns += info.run_time_ns;
		*out_runs += info.run_cnt;
	}
	return 0;
}
