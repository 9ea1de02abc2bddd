/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes: the first collects the events, as sample types must exist before samples; the second
 * adds the samples. An inlined frame is stored until the frame into which it is inlined has been
 * read, because the two form one location.
 *
 * Timestamps are dropped, as the text does not name the clock that perf used.
 *
 * A sample of an event whose period is not printed counts 1. Sample types are samples/count and one
 * for each event, except that a single event without periods would be the same as the count and is
 * omitted.
 */
#include "codec/perf/perfscript_read.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/common/format_codec.h"
#include "codec/common/frame_kind.h"
#include "codec/perf/perfscript_line.h"
#include "profile/profile.h"

enum { MAX_EVENTS = 64, MAX_INLINED = 1024, MAX_LABELS = 3, LOOK_LINES = 64 };

struct event {
	struct text name;
	bool has_period;
	size_t type; /* index of its sample type, if it has one */
};

struct reader {
	struct text_read at;
	struct event events[MAX_EVENTS];
	size_t n_events;
	bool in_sample;
	struct perfscript_sample sample;
};

/* Returns true for a side-band event (--show-mmap-events and similar options). */
static bool is_side_band(struct text line)
{
	return memmem(line.s, line.len, " PERF_RECORD_", 13);
}

static bool is_blank(struct text line)
{
	for (size_t i = 0; i < line.len; i++)
		if (line.s[i] != ' ' && line.s[i] != '\t')
			return false;
	return true;
}

static bool is_sample(struct text line, struct perfscript_sample *out)
{
	struct perfscript_frame frame;

	if (is_blank(line) || line.s[0] == '#' || is_side_band(line))
		return false;
	/* The line of a frame starts with a tab, that of a short command with spaces. */
	if (line.s[0] == '\t' && perfscript_frame(line, &frame))
		return false;
	return perfscript_sample(line, out);
}

static struct event *find_event(struct reader *rd, struct text name)
{
	for (size_t i = 0; i < rd->n_events; i++)
		if (rd->events[i].name.len == name.len &&
		    !memcmp(rd->events[i].name.s, name.s, name.len))
			return &rd->events[i];
	return NULL;
}

/* Names of events are borrowed from the data, which outlives the reader. */
static int collect_events(struct reader *rd, struct text text)
{
	while (text.len) {
		struct text line = text_take_line(&text);
		struct perfscript_sample s;
		struct event *e;

		rd->at.line_num++;
		if (!is_sample(line, &s))
			continue;
		e = find_event(rd, s.event);
		if (!e && rd->n_events == MAX_EVENTS)
			return text_read_error(&rd->at, -EFBIG, "more than %d different events",
					       MAX_EVENTS);
		if (!e) {
			e = &rd->events[rd->n_events++];
			*e = (struct event){ .name = s.event };
		}
		e->has_period |= s.has_period;
	}
	return 0;
}

/* The periods of clock events are nanoseconds; other events count themselves. */
static const char *event_unit(const struct event *e)
{
	bool clock = text_is(e->name, "cpu-clock") || text_is(e->name, "task-clock");

	return clock && e->has_period ? "nanoseconds" : "count";
}

static int add_types(struct reader *rd)
{
	char name[256];
	int r = profile_add_sample_type(rd->at.p, "samples", "count");

	for (size_t i = 0; r == 0 && i < rd->n_events; i++) {
		struct event *e = &rd->events[i];
		size_t n = e->name.len < sizeof(name) - 1 ? e->name.len : sizeof(name) - 1;

		if (rd->n_events == 1 && !e->has_period)
			break;
		memcpy(name, e->name.s, n);
		name[n] = '\0';
		e->type = profile_n_sample_types(rd->at.p);
		r = profile_add_sample_type(rd->at.p, name, event_unit(e));
	}
	if (r < 0)
		return text_read_no_memory(&rd->at);
	/* No single one of several events is the obvious default. */
	if (rd->n_events > 1)
		profile_meta(rd->at.p)->default_sample_type = profile_sample_type(rd->at.p, 0).type;
	return 0;
}

/* Mappings have a file's name only; equal names become one mapping. */
static int add_mapping(struct reader *rd, struct text file, struct profile_location *l)
{
	struct profile_mapping m = { 0 };

	l->mapping = PROFILE_NONE;
	if (!file.len)
		return 0;
	if (profile_add_string(rd->at.p, file.s, file.len, &m.file) < 0 ||
	    profile_add_mapping(rd->at.p, &m, &l->mapping) < 0)
		return text_read_no_memory(&rd->at);
	l->kind = (uint8_t)frame_kind_guess(profile_string(rd->at.p, m.file), "");
	/*
	 * "[ext4]" is a kernel module, "[heap]" an area of a process: the address distinguishes
	 * them.
	 */
	if (file.s[0] == '[' && l->address >> 63)
		l->kind = PROFILE_FRAME_KERNEL;
	return 0;
}

static int end_location(struct reader *rd, const struct perfscript_frame *f)
{
	struct profile_location l = { .address = f->address };
	int r = add_mapping(rd, f->file, &l);

	return r < 0 ? r : text_read_add_location(&rd->at, &l);
}

/*
 * A frame that is inlined adds a line to the location that is being assembled. The location ends
 * with the first frame that is not inlined.
 */
static int add_frame(struct reader *rd, const struct perfscript_frame *f)
{
	int r = 0;

	if (rd->at.ids.len + rd->at.lines.len >= rd->at.limits.depth)
		return text_read_error(&rd->at, -EFBIG, "stack with more than %u frames",
				       rd->at.limits.depth);
	if (f->name.len || rd->at.lines.len)
		r = text_read_add_line(&rd->at, f->name);
	if (r < 0 || (f->inlined && f->name.len && rd->at.lines.len < MAX_INLINED))
		return r;
	return end_location(rd, f);
}

static int add_label(struct reader *rd, struct profile_label *labels, uint32_t *n, const char *key,
		     struct text str, int64_t num)
{
	struct profile_label l = { .num = num };

	if (profile_add_string(rd->at.p, key, strlen(key), &l.key) < 0 ||
	    (str.len && profile_add_string(rd->at.p, str.s, str.len, &l.str) < 0))
		return text_read_no_memory(&rd->at);
	labels[(*n)++] = l;
	return 0;
}

static int add_labels(struct reader *rd, struct profile_label *labels, uint32_t *n)
{
	const struct perfscript_sample *s = &rd->sample;
	const struct text none = { 0 };
	int r = s->comm.len ? add_label(rd, labels, n, "comm", s->comm, 0) : 0;

	if (r == 0 && s->has_pid)
		r = add_label(rd, labels, n, "pid", none, s->pid);
	if (r == 0)
		r = add_label(rd, labels, n, "tid", none, s->tid);
	return r;
}

/*
 * Called at a blank line, at the next sample and at the end, because output without stacks has no
 * blank lines.
 */
static int end_sample(struct reader *rd)
{
	int64_t values[MAX_EVENTS + 1] = { 1 };
	struct profile_label labels[MAX_LABELS];
	struct profile_sample s = { .labels = labels, .values = values };
	const struct perfscript_frame unknown = { 0 };
	int r = 0;

	if (!rd->in_sample)
		return 0;
	rd->in_sample = false;
	/* Inlined frames at the end of a truncated stack have no caller. */
	if (rd->at.lines.len)
		r = end_location(rd, &unknown);
	if (r == 0)
		r = add_labels(rd, labels, &s.n_labels);
	if (r < 0)
		return r;
	if (profile_n_sample_types(rd->at.p) > 1)
		values[find_event(rd, rd->sample.event)->type] =
			rd->sample.has_period ? rd->sample.period : 1;
	return text_read_add_sample(&rd->at, &s, "samples");
}

static int begin_sample(struct reader *rd, const struct perfscript_sample *s)
{
	struct perfscript_frame frame;
	int r = end_sample(rd);

	if (r < 0)
		return r;
	rd->in_sample = true;
	rd->sample = *s;
	rd->at.ids.len = rd->at.lines.len = 0;
	/* Without stacks the frame is here. Fields of a tracepoint never end in "(file)". */
	if (s->rest.len && s->rest.s[s->rest.len - 1] == ')' && perfscript_frame(s->rest, &frame))
		return add_frame(rd, &frame);
	return 0;
}

/* Returns true for the source line of the frame above, which perf prints with -F +srcline. */
static bool is_source(struct text line)
{
	return line.s[0] == ' ' || line.s[0] == '\t';
}

/*
 * A line that starts with white space within a sample and is not a frame is skipped: perf prints
 * source lines and other additions there.
 */
static int read_line(struct reader *rd, struct text line)
{
	struct perfscript_sample sample;
	struct perfscript_frame frame;

	if (is_blank(line))
		return end_sample(rd);
	if (line.s[0] == '#' || is_side_band(line))
		return 0;
	if (is_sample(line, &sample))
		return begin_sample(rd, &sample);
	if (rd->in_sample && is_source(line))
		return perfscript_frame(line, &frame) ? add_frame(rd, &frame) : 0;
	return text_read_error(&rd->at, -EBADMSG,
			       rd->in_sample || line.s[0] == '\t'
				       ? "expected a frame (ADDRESS SYMBOL (FILE)) or an empty line"
				       : "expected the first line of a `perf script` sample");
}

static void reader_fini(struct reader *rd)
{
	text_read_fini(&rd->at);
}

int perfscript_read(struct profile **out, const void *data, size_t len,
		    const struct codec_limits *limits, struct err *err)
{
	_cleanup_(reader_fini) struct reader rd = { 0 };
	struct text text = { data, len };
	int r = text_read_init(&rd.at, len, limits, err);

	if (r == 0)
		r = collect_events(&rd, text);
	if (r == 0)
		r = add_types(&rd);
	rd.at.line_num = 0;
	while (r == 0 && text.len) {
		struct text line = text_take_line(&text);

		rd.at.line_num++;
		r = read_line(&rd, line);
	}
	if (r == 0)
		r = end_sample(&rd);
	if (r < 0)
		return r;
	*out = steal_ptr(&rd.at.p);
	return 0;
}

/* Looks at no more than LOOK_LINES lines, so that a large file of another kind is not scanned. */
enum format_match perfscript_detect(const void *data, size_t len)
{
	struct text text = { data, len };

	for (int i = 0; i < LOOK_LINES && text.len; i++) {
		struct text line = text_take_line(&text);
		struct perfscript_sample s;

		if (memchr(line.s, '\0', line.len))
			return FORMAT_MATCH_NONE;
		if (is_blank(line) || line.s[0] == '#' || is_side_band(line))
			continue;
		return is_sample(line, &s) ? FORMAT_MATCH_LIKELY : FORMAT_MATCH_NONE;
	}
	return FORMAT_MATCH_NONE;
}

const struct format_codec perfscript_codec = { .detect = perfscript_detect,
					       .read = perfscript_read };
