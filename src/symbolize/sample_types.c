/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/sample_types.h"

#include <stdbool.h>
#include <string.h>

#include "profile/profile.h"
#include "profiler/sample_counts.h"
#include "sampler/event.h"

static bool is_heap(enum symbolize_mode mode)
{
	return mode == SYMBOLIZE_ALLOC || mode == SYMBOLIZE_LIVE;
}

#define NS_PER_S 1000000000LL

static int set_default(struct profile *p, const char *type)
{
	return profile_add_string(p, type, strlen(type), &profile_meta(p)->default_sample_type);
}

/* off_cpu comes first, as OpenTelemetry expects. */
static int add_off_types(struct profile *p)
{
	int r = profile_add_sample_type(p, "off_cpu", "nanoseconds");

	if (r == 0)
		r = profile_add_sample_type(p, "samples", "count");
	return r < 0 ? r : set_default(p, "off_cpu");
}

static int add_resident_type(struct profile *p)
{
	int r = profile_add_sample_type(p, "resident", "bytes");

	return r < 0 ? r : set_default(p, "resident");
}

/* Adds the types of a heap profile, in the order and with the names of Go's. */
static int add_heap_types(struct profile *p, bool live)
{
	int r = profile_add_sample_type(p, "alloc_objects", "count");

	if (r == 0)
		r = profile_add_sample_type(p, "alloc_space", "bytes");
	if (r == 0 && live)
		r = profile_add_sample_type(p, "inuse_objects", "count");
	if (r == 0 && live)
		r = profile_add_sample_type(p, "inuse_space", "bytes");
	return r < 0 ? r : set_default(p, live ? "inuse_space" : "alloc_space");
}

const char *sample_type_of_event(const struct symbolize_window *w, size_t i, const char **out_unit)
{
	bool is_time = i >= w->n_events || w->events[i].is_clock;

	*out_unit = is_time ? "nanoseconds" : "count";
	return is_time ? "cpu" : w->events[i].name;
}

/*
 * With several events there is no type "samples": their counts are different things and have no
 * sum.
 */
static int add_event_types(struct profile *p, const struct symbolize_window *w)
{
	int r = 0;

	for (size_t i = 0; i < w->n_events && r == 0; i++) {
		const char *unit, *type = sample_type_of_event(w, i, &unit);

		r = profile_add_sample_type(p, type, unit);
	}
	return r;
}

int sample_types_add(struct profile *p, enum symbolize_mode mode, const struct symbolize_window *w)
{
	const char *unit, *type = sample_type_of_event(w, 0, &unit);
	int r;

	if (mode == SYMBOLIZE_OFF)
		return add_off_types(p);
	if (mode == SYMBOLIZE_RESIDENT)
		return add_resident_type(p);
	if (is_heap(mode))
		return add_heap_types(p, mode == SYMBOLIZE_LIVE);
	if (w->n_events > 1)
		return add_event_types(p, w);
	r = profile_add_sample_type(p, "samples", "count");
	if (r == 0)
		r = profile_add_sample_type(p, type, unit);
	if (r == 0 && mode == SYMBOLIZE_WALL)
		r = profile_add_sample_type(p, "off_cpu", "nanoseconds");
	if (r == 0 && mode == SYMBOLIZE_WALL)
		r = profile_add_sample_type(p, "wall", "nanoseconds");
	return r;
}

/* ---- values ----------------------------------------------------------------------------- */

/* The weight of one sample of the event: its period, or the sampling interval in ns. */
static int64_t period_of(const struct symbolize_window *w, size_t event)
{
	if (event < w->n_events && w->events[event].period)
		return (int64_t)w->events[event].period;
	return NS_PER_S / w->freq_hz;
}

void sample_types_values(enum symbolize_mode mode, const struct symbolize_window *w,
			 const struct sample_counts_sample *s, int64_t out[SAMPLE_VALUES_MAX])
{
	int64_t running = s->off_state ? 0 : (int64_t)s->count;
	int64_t on_value = running * period_of(w, s->event), off_ns = (int64_t)s->off_ns;

	if (mode == SYMBOLIZE_RESIDENT) {
		out[0] = (int64_t)s->bytes;
		return;
	}
	if (is_heap(mode)) {
		out[0] = (int64_t)s->count;
		out[1] = (int64_t)s->bytes;
		out[2] = (int64_t)s->live_count;
		out[3] = (int64_t)s->live_bytes;
		return;
	}
	if (w->n_events > 1) {
		for (size_t i = 0; i < w->n_events; i++)
			out[i] = i == s->event ? on_value : 0;
		return;
	}
	out[0] = mode == SYMBOLIZE_OFF ? off_ns : running;
	out[1] = mode == SYMBOLIZE_OFF ? (int64_t)s->count : on_value;
	out[2] = off_ns;
	out[3] = on_value + off_ns;
}

static int set_period_type(struct profile *p, const char *type, const char *unit)
{
	struct profile_meta *meta = profile_meta(p);
	int r = profile_add_string(p, type, strlen(type), &meta->period_type.type);

	return r < 0 ? r : profile_add_string(p, unit, strlen(unit), &meta->period_type.unit);
}

int sample_types_set_period(struct profile *p, enum symbolize_mode mode,
			    const struct symbolize_window *w)
{
	const char *unit, *type = sample_type_of_event(w, 0, &unit);

	if (is_heap(mode)) {
		profile_meta(p)->period = (int64_t)w->alloc_bytes;
		return set_period_type(p, "space", "bytes");
	}
	if (mode != SYMBOLIZE_CPU && mode != SYMBOLIZE_WALL)
		return 0;
	profile_meta(p)->period = period_of(w, 0);
	return set_period_type(p, type, unit);
}
