/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the cgroup, the status and the link to the executable of a process; reading these does not
 * block on the process's locks. An attribute that no rule uses is not read.
 */
#include "agent/selector.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "metadata/cgroup.h"
#include "metadata/containers.h"
#include "metadata/select_rules.h"
#include "proc/stat.h"
#include "proc/text.h"

_Static_assert((int)SELECT_RULES_LIMIT <= (int)SELECT_NO_RULE, "each rule has a number");

struct selector {
	struct select_rules *rules;
	struct containers *containers;
	bool uses_cgroup, uses_names; /* rules use cgroups; names of containers or pods */
};

/* The attributes of one process; subject points into the others. */
struct attributes {
	char comm[16], uid[16], exe[4096], cgroup[8192];
	struct cgroup_owner owner;
	struct select_subject subject;
};

int selector_new(struct selector **out, const struct selector_opts *opts, struct err *err)
{
	_cleanup_(selector_freep) struct selector *s = calloc(1, sizeof(*s));
	const struct containers_opts containers = { .root = opts->root };
	int r;

	if (!s)
		return -ENOMEM;
	r = select_rules_new(&s->rules);
	for (size_t i = 0; i < opts->n_rules && r == 0; i++)
		r = select_rules_add(s->rules, opts->rules[i], err);
	if (r == 0)
		r = containers_new(&s->containers, &containers, err);
	if (r < 0)
		return r;
	s->uses_names = select_rules_use(s->rules, SELECT_KEY_CONTAINER) ||
			select_rules_use(s->rules, SELECT_KEY_NAMESPACE) ||
			select_rules_use(s->rules, SELECT_KEY_POD) ||
			select_rules_use(s->rules, SELECT_KEY_RUNTIME);
	s->uses_cgroup = s->uses_names || select_rules_use(s->rules, SELECT_KEY_CGROUP) ||
			 select_rules_use(s->rules, SELECT_KEY_CONTAINER_ID) ||
			 select_rules_use(s->rules, SELECT_KEY_UNIT) ||
			 select_rules_use(s->rules, SELECT_KEY_SLICE);
	*out = steal_ptr(&s);
	return 0;
}

void selector_free(struct selector *s)
{
	if (!s)
		return;
	select_rules_free(s->rules);
	containers_free(s->containers);
	free(s);
}

/* ---- reading ----------------------------------------------------------------------- */

/* Returns 0; -ESRCH if the process is gone; -errno. */
static int read_file(uint32_t pid, const char *name, char *out, size_t cap)
{
	ssize_t n = proc_read_text("/proc", pid, name, out, cap);

	return n < 0 ? (int)n : n > 0 ? 0 : -ESRCH;
}

/* The effective user, as ps -u shows it. */
static int read_uid(uint32_t pid, struct attributes *a)
{
	char text[2048];
	const char *line;
	unsigned int uid;
	int r = read_file(pid, "status", text, sizeof(text));

	if (r < 0)
		return r;
	line = strstr(text, "\nUid:");
	if (!line || sscanf(line, "\nUid: %*u %u", &uid) != 1)
		return -EBADMSG;
	snprintf(a->uid, sizeof(a->uid), "%u", uid);
	a->subject.of[SELECT_KEY_UID] = a->uid;
	return 0;
}

static int read_cgroup(const struct selector *s, uint32_t pid, struct attributes *a)
{
	int r = read_file(pid, "cgroup", a->cgroup, sizeof(a->cgroup));
	const struct container_names *names;

	if (r < 0)
		return r;
	cgroup_parse_text(a->cgroup, strlen(a->cgroup), &a->owner);
	a->subject.of[SELECT_KEY_CGROUP] = a->cgroup;
	a->subject.of[SELECT_KEY_CONTAINER_ID] = a->owner.container_id;
	a->subject.of[SELECT_KEY_RUNTIME] = a->owner.runtime;
	a->subject.of[SELECT_KEY_UNIT] = a->owner.unit;
	a->subject.of[SELECT_KEY_SLICE] = a->owner.slice;
	if (!s->uses_names)
		return 0;
	names = containers_find(s->containers, &a->owner, clock_monotonic_ns());
	if (!a->owner.runtime[0])
		a->subject.of[SELECT_KEY_RUNTIME] = names->runtime;
	a->subject.of[SELECT_KEY_CONTAINER] = names->name;
	a->subject.of[SELECT_KEY_NAMESPACE] = names->namespace;
	a->subject.of[SELECT_KEY_POD] = names->pod;
	return 0;
}

/*
 * Returns -ESRCH if the process is gone, so that the attributes that the rules use cannot be read.
 */
static int read_attributes(const struct selector *s, const struct process *p, const char *exe,
			   struct attributes *a)
{
	bool is_gone = p->end_ns, uses_uid = select_rules_use(s->rules, SELECT_KEY_UID);
	int r = 0;

	a->subject = (struct select_subject){ 0 };
	memcpy(a->comm, p->comm, sizeof(a->comm));
	if (!a->comm[0] && !is_gone)
		proc_comm((int)p->pid, a->comm);
	a->subject.of[SELECT_KEY_COMM] = a->comm;
	a->subject.of[SELECT_KEY_EXE] = exe;
	if (is_gone)
		return s->uses_cgroup || uses_uid ? -ESRCH : 0;
	if (select_rules_use(s->rules, SELECT_KEY_EXE))
		a->subject.of[SELECT_KEY_EXE] =
			proc_read_exe("/proc", p->pid, a->exe, sizeof(a->exe)) ? a->exe : exe;
	if (uses_uid)
		r = read_uid(p->pid, a);
	return r == 0 && s->uses_cgroup ? read_cgroup(s, p->pid, a) : r;
}

/* ---- deciding ---------------------------------------------------------------------- */

static struct selection selection_of(const struct select_decision *d)
{
	struct selection s = { .rule = d->rule < 0 ? SELECT_NO_RULE : (uint32_t)d->rule };

	s.flags |= d->cpu ? 0 : SELECT_NO_CPU;
	s.flags |= d->off_cpu ? 0 : SELECT_NO_OFF_CPU;
	s.flags |= d->by_program ? SELECT_UNTIL_EXEC : 0;
	return s;
}

static int decide(void *ctx, const struct process *program, const char *exe, struct selection *out)
{
	const struct selector *s = ctx;
	struct select_decision d;
	struct attributes a;

	if (read_attributes(s, program, exe, &a) < 0)
		return -ESRCH;
	d = select_rules_decide(s->rules, &a.subject);
	*out = selection_of(&d);
	return 0;
}

struct process_rules selector_rules(struct selector *s)
{
	struct select_decision d = select_rules_default(s->rules);

	if (!select_rules_count(s->rules))
		return (struct process_rules){ 0 };
	return (struct process_rules){
		.select = decide,
		.ctx = s,
		.by_comm = select_rules_use(s->rules, SELECT_KEY_COMM),
		.unknown = selection_of(&d),
	};
}

size_t selector_count(const struct selector *s)
{
	return select_rules_count(s->rules);
}

const char *selector_exclude_text(const struct selector *s, size_t i)
{
	return select_rules_includes(s->rules, i) ? NULL : select_rules_text(s->rules, i);
}

bool selector_includes_others(const struct selector *s)
{
	return select_rules_default(s->rules).cpu;
}
