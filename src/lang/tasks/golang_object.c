/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/tasks/golang_object.h"

#include <stdbool.h>
#include <string.h>

#include "lang/tasks/golang_layout.h"
#include "lang/tasks/task_memory.h"
#include "lang/tasks/task_snapshot.h"

enum { CASES_MAX = 64 /* cases of a select */ };

static const struct {
	const char *reason;
	enum task_wake wake;
	bool has_channel, has_lock;
} kinds[] = {
	{ "chan receive", TASK_WAKE_TASK, true, false },
	{ "chan send", TASK_WAKE_TASK, true, false },
	{ "select", TASK_WAKE_TASK, true, false },
	{ "chan receive (nil chan)", TASK_WAKE_TASK, false, false },
	{ "chan send (nil chan)", TASK_WAKE_TASK, false, false },
	{ "select (no cases)", TASK_WAKE_TASK, false, false },
	{ "semacquire", TASK_WAKE_TASK, false, true },
	{ "sync.Mutex.Lock", TASK_WAKE_TASK, false, true },
	{ "sync.RWMutex.RLock", TASK_WAKE_TASK, false, true },
	{ "sync.RWMutex.Lock", TASK_WAKE_TASK, false, true },
	{ "sync.WaitGroup.Wait", TASK_WAKE_TASK, false, true },
	{ "sync.Cond.Wait", TASK_WAKE_TASK, false, false },
	{ "IO wait", TASK_WAKE_EVENT, false, false },
	{ "sleep", TASK_WAKE_EVENT, false, false },
};

/* A timer can end the wait for a channel that it feeds, which the channel shows since Go 1.23. */
static bool has_timer(struct golang_objects *m, const struct golang_layout *layout,
		      uint64_t channel)
{
	uint64_t timer;

	return layout->at.hchan_timer && channel &&
	       task_memory_word(&m->channels, channel + layout->at.hchan_timer, &timer) == 0 &&
	       timer;
}

/* A goroutine that waits in a select has a sudog for each case. */
static void find_channel(struct golang_objects *m, const struct golang_layout *layout,
			 uint64_t waiting, struct task *t)
{
	uint64_t channel = 0, next = waiting;
	int n = 0;

	for (; next && n < CASES_MAX; n++) {
		if (task_memory_word(&m->sudogs, next + layout->at.sudog_c, &channel) < 0)
			break;
		if (has_timer(m, layout, channel))
			t->wake = TASK_WAKE_EVENT;
		if (task_memory_word(&m->sudogs, next + layout->at.sudog_waitlink, &next) < 0)
			break;
	}
	if (n == 1)
		t->object = channel;
}

void golang_objects_init(struct golang_objects *o, const struct task_memory *m)
{
	struct task_memory *const all[] = { &o->sudogs, &o->channels };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		all[i]->read = m->read;
		all[i]->ctx = m->ctx;
		all[i]->deadline_ns = m->deadline_ns;
		all[i]->only_pages = true;
	}
}

bool golang_object_find(struct golang_objects *m, const struct golang_layout *layout,
			uint64_t waiting, const char *reason, struct task *t)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].reason, reason))
			continue;
		t->wake = (uint8_t)kinds[i].wake;
		if (kinds[i].has_channel && waiting)
			find_channel(m, layout, waiting, t);
		if (!kinds[i].has_lock || !waiting)
			return false;
		if (task_memory_word(&m->sudogs, waiting + layout->at.sudog_elem, &t->object) < 0)
			t->object = 0;
		return t->object != 0;
	}
	return false;
}
