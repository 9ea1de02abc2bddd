/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/sample_types.h"

#include <stdbool.h>
#include <string.h>

#include "profile/profile.h"
#include "sampler/event.h"

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
