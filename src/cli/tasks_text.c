/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tasks_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/strtab.h"
#include "cli/text.h"

enum { COUNT_LEN = 32, WAIT_LEN = 32, MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400 };

/* ---- values ---------------------------------------------------------------------------------- */

/* Formats a count with a comma between each three digits: "12,040". */
static const char *count_text(uint64_t n, char out[COUNT_LEN])
{
	char digits[COUNT_LEN];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

/* "8 min": whole units, as in Go's own dumps. */
static const char *wait_text(uint64_t ns, char out[WAIT_LEN])
{
	uint64_t s = ns / CLOCK_SECOND_NS;

	if (!s)
		snprintf(out, WAIT_LEN, "%" PRIu64 " ms", ns / CLOCK_MS_NS);
	else if (s < 2 * MINUTE_S)
		snprintf(out, WAIT_LEN, "%" PRIu64 " s", s);
	else if (s < 2 * HOUR_S)
		snprintf(out, WAIT_LEN, "%" PRIu64 " min", s / MINUTE_S);
	else if (s < 2 * DAY_S)
		snprintf(out, WAIT_LEN, "%" PRIu64 " h", s / HOUR_S);
	else
		snprintf(out, WAIT_LEN, "%" PRIu64 " days", s / DAY_S);
	return out;
}

static const char *string_of(const struct tasks_view *v, uint32_t id)
{
	return strtab_get(v->s->strings, id);
}

static bool is_asyncio(const struct tasks_view *v)
{
	return strcmp(v->s->runtime, "Go") != 0;
}

static const char *unit_of(const struct tasks_view *v, uint64_t n)
{
	return is_asyncio(v) ? n == 1 ? "task" : "tasks" : n == 1 ? "goroutine" : "goroutines";
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_frame(struct buf *out, const struct tasks_view *v, const struct task_frame *f)
{
	buf_put_str(out, "    ");
	text_put_safe(out, string_of(v, f->function));
	if (f->file) {
		buf_put_str(out, "  ");
		text_put_safe(out, string_of(v, f->file));
		if (f->line)
			buf_printf(out, ":%" PRIu32, f->line);
	}
	buf_put_byte(out, '\n');
}

static void put_stack(struct buf *out, const struct tasks_view *v, uint32_t stack)
{
	size_t n;
	const uint32_t *ids = seqtab_get(&v->s->stacks, stack, &n);

	if (!n)
		buf_put_str(out, "    [changed while it was read]\n");
	for (size_t i = 0; i < n; i++)
		put_frame(out, v, task_snapshot_frame_get(v->s, ids[i]));
}

static void put_place(struct buf *out, const struct tasks_view *v, const struct task_group *g)
{
	const struct task_frame *f = task_group_place(v->s, g);

	if (!f)
		return;
	buf_put_str(out, " · ");
	if (!f->file) {
		text_put_safe(out, string_of(v, f->function));
		return;
	}
	text_put_safe(out, text_base_name(string_of(v, f->file)));
	if (f->line)
		buf_printf(out, ":%" PRIu32, f->line);
}

static void put_title(struct buf *out, const struct tasks_view *v, const struct task_group *g)
{
	char count[COUNT_LEN], wait[WAIT_LEN];

	buf_printf(out, "%s %s", count_text(g->count, count), unit_of(v, g->count));
	if (g->longest_ns)
		buf_printf(out, " · %s", wait_text(g->longest_ns, wait));
	buf_put_str(out, " · ");
	text_put_safe(out, task_group_reason(v->s, g));
	put_place(out, v, g);
	if (g->is_system)
		buf_put_str(out, " · runtime");
}

/* Reports the gaps of the snapshot. */
static void put_gaps(struct buf *out, const struct tasks_view *v)
{
	const struct task_totals *t = &v->s->totals;
	char n[COUNT_LEN];

	if (t->one_in > 1)
		buf_printf(out, "1 of %" PRIu32 " entries was read; counts are scaled.\n",
			   t->one_in);
	if (t->n_unread)
		buf_printf(out, "%s entries were not read because the time was over.\n",
			   count_text(t->n_unread, n));
	if (t->n_changed)
		buf_printf(out, "%s changed while they were read: their stacks are missing.\n",
			   count_text(t->n_changed, n));
	if (t->n_cut)
		buf_printf(out, "%s stacks are incomplete.\n", count_text(t->n_cut, n));
	if (t->n_invalid)
		buf_printf(out, "%s entries of the list are invalid.\n",
			   count_text(t->n_invalid, n));
}

static void put_head(struct buf *out, const struct tasks_view *v)
{
	char n[COUNT_LEN], ms[WAIT_LEN];

	buf_printf(out, "process %" PRIu32 " (", v->pid);
	text_put_safe(out, v->comm);
	buf_printf(out, "): ");
	text_put_safe(out, v->s->runtime);
	buf_put_byte(out, ' ');
	text_put_safe(out, v->s->version);
	buf_printf(out, ", %s %s", count_text(v->sums.tasks, n), unit_of(v, v->sums.tasks));
	if (v->sums.system)
		buf_printf(out, " and %s of the runtime", count_text(v->sums.system, n));
	buf_printf(out, ", read in %s\n", wait_text(v->took_ns, ms));
	put_gaps(out, v);
}

static void put_circle(struct buf *out, const struct tasks_view *v, const struct task_circle *c)
{
	buf_printf(out, "Deadlock: %" PRIu32 " %s wait for each other:\n", c->n, unit_of(v, c->n));
	for (uint32_t i = 0; i < c->n; i++) {
		const struct task *t = &v->s->tasks.data[c->tasks[i]];
		const struct task *next = &v->s->tasks.data[c->tasks[(i + 1) % c->n]];
		const struct task_group g = { .stack = t->stack };

		buf_printf(out, "  %" PRIu64, t->id);
		if (t->name) {
			buf_put_str(out, " (");
			text_put_safe(out, string_of(v, t->name));
			buf_put_byte(out, ')');
		}
		put_place(out, v, &g);
		buf_put_str(out, " · ");
		text_put_safe(out, string_of(v, t->reason));
		if (t->object && !is_asyncio(v))
			buf_printf(out, " at 0x%" PRIx64 ", which %" PRIu64 " appears to hold",
				   t->object, next->id);
		else
			buf_printf(out, ", for %" PRIu64, next->id);
		buf_put_byte(out, '\n');
	}
}

static void put_findings(struct buf *out, const struct tasks_view *v)
{
	for (size_t i = 0; i < v->findings.circles.len; i++)
		put_circle(out, v, &v->findings.circles.data[i]);
	if (!v->findings.all_wait)
		return;
	if (v->sums.tasks == 1)
		buf_printf(out, "Deadlock: the only %s waits for another one.\n", unit_of(v, 1));
	else
		buf_printf(out,
			   "Deadlock: each of the %" PRIu64
			   " %s waits for another one, and none can run.\n",
			   v->sums.tasks, unit_of(v, v->sums.tasks));
}

static bool is_shown(const struct task_group *g, const struct tasks_text_options *opt)
{
	return opt->system || !g->is_system;
}

/* Reports how many groups the limit excluded. */
static void put_more(struct buf *out, uint64_t n)
{
	if (n)
		buf_printf(out, "\n%" PRIu64 " more group%s; --limit 0 shows all.\n", n,
			   n == 1 ? "" : "s");
}

void tasks_text_put(struct buf *out, const struct tasks_view *v,
		    const struct tasks_text_options *opt)
{
	uint64_t n = 0, n_more = 0;

	put_head(out, v);
	put_findings(out, v);
	for (size_t i = 0; i < v->groups.len; i++) {
		const struct task_group *g = &v->groups.data[i];

		if (!is_shown(g, opt))
			continue;
		if (opt->limit && n == opt->limit) {
			n_more++;
			continue;
		}
		n++;
		buf_put_byte(out, '\n');
		put_title(out, v, g);
		buf_put_byte(out, '\n');
		put_stack(out, v, g->stack);
	}
	put_more(out, n_more);
}

/* ---- growth ---------------------------------------------------------------------------------- */

struct change {
	size_t group;
	int64_t by;
};

static int by_change(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->by != y->by)
		return x->by > y->by ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

/*
 * Returns the groups that @opt shows, largest change first, otherwise in the order of @v. To be
 * freed; NULL if memory ran out.
 */
static struct change *list_groups(const struct tasks_view *v, const struct tasks_text_options *opt,
				  bool only_changed, size_t *out_n)
{
	struct change *all = calloc(v->groups.len + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; all && i < v->groups.len; i++) {
		int64_t by = v->growth ? v->growth[i] : 0;

		if ((by || !only_changed) && is_shown(&v->groups.data[i], opt))
			all[n++] = (struct change){ i, by };
	}
	if (n)
		qsort(all, n, sizeof(*all), by_change);
	*out_n = n;
	return all;
}

static size_t at_most(const struct tasks_text_options *opt, size_t n)
{
	return opt->limit && opt->limit < n ? opt->limit : n;
}

void tasks_text_put_growth(struct buf *out, const struct tasks_view *v,
			   const struct tasks_text_options *opt)
{
	char wait[WAIT_LEN];
	size_t n, n_shown;
	struct change *all = list_groups(v, opt, true, &n);

	put_head(out, v);
	put_findings(out, v);
	n_shown = at_most(opt, n);
	for (size_t i = 0; i < n_shown; i++) {
		buf_printf(out, "%+" PRId64 " in %s: ", all[i].by, wait_text(v->since_ns, wait));
		put_title(out, v, &v->groups.data[all[i].group]);
		buf_put_byte(out, '\n');
		if (all[i].by > 0)
			put_stack(out, v, v->groups.data[all[i].group].stack);
	}
	put_more(out, n - n_shown);
	if (!n)
		buf_printf(out, "No group has grown in %s.\n", wait_text(v->since_ns, wait));
	free(all);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_json_stack(struct json *j, const struct tasks_view *v, uint32_t stack)
{
	size_t n;
	const uint32_t *ids = seqtab_get(&v->s->stacks, stack, &n);

	json_member_array(j, "stack");
	for (size_t i = 0; i < n; i++) {
		const struct task_frame *f = task_snapshot_frame_get(v->s, ids[i]);

		json_object(j);
		json_member_str(j, "function", string_of(v, f->function));
		json_member_str(j, "file", string_of(v, f->file));
		json_member_uint(j, "line", f->line);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_json_group(struct json *j, const struct tasks_view *v, size_t i)
{
	const struct task_group *g = &v->groups.data[i];

	json_object(j);
	json_member_uint(j, "count", g->count);
	if (v->growth)
		json_member_int(j, "growth", v->growth[i]);
	json_member_str(j, "state", task_state_name(g->state));
	json_member_str(j, "reason", task_group_reason(v->s, g));
	json_member_bool(j, "runtime", g->is_system);
	json_member_uint(j, "timed", g->n_timed);
	json_member_uint(j, "wait_ns", g->total_ns);
	json_member_uint(j, "longest_ns", g->longest_ns);
	put_json_stack(j, v, g->stack);
	json_object_end(j);
}

static void put_json_circles(struct json *j, const struct tasks_view *v)
{
	json_member_array(j, "circles");
	for (size_t i = 0; i < v->findings.circles.len; i++) {
		const struct task_circle *c = &v->findings.circles.data[i];

		json_array(j);
		for (uint32_t k = 0; k < c->n; k++)
			json_uint(j, v->s->tasks.data[c->tasks[k]].id);
		json_array_end(j);
	}
	json_array_end(j);
}

void tasks_text_put_json(struct buf *out, const struct tasks_view *v,
			 const struct tasks_text_options *opt)
{
	const struct task_totals *t = &v->s->totals;
	struct json j = json_to(out);
	size_t n, n_shown;
	struct change *all = list_groups(v, opt, false, &n);

	json_object(&j);
	json_member_uint(&j, "pid", v->pid);
	json_member_str(&j, "runtime", v->s->runtime);
	json_member_str(&j, "version", v->s->version);
	json_member_uint(&j, "took_ns", v->took_ns);
	json_member_uint(&j, "tasks", v->sums.tasks);
	json_member_uint(&j, "runtime_tasks", v->sums.system);
	json_member_uint(&j, "listed", t->n_listed);
	json_member_uint(&j, "one_in", t->one_in);
	json_member_uint(&j, "unread", t->n_unread);
	json_member_uint(&j, "changed", t->n_changed);
	json_member_uint(&j, "incomplete", t->n_cut);
	json_member_uint(&j, "invalid", t->n_invalid);
	json_member_bool(&j, "all_wait", v->findings.all_wait);
	put_json_circles(&j, v);
	n_shown = at_most(opt, n);
	json_member_uint(&j, "more_groups", n - n_shown);
	json_member_array(&j, "groups");
	for (size_t i = 0; i < n_shown; i++)
		put_json_group(&j, v, all[i].group);
	json_array_end(&j);
	json_object_end(&j);
	buf_put_byte(out, '\n');
	free(all);
}
