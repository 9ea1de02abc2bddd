/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/tasks/asyncio_layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elf/image.h"
#include "lang/lang.h"
#include "lang/language.h"
#include "lang/python/python.h"

enum { FIRST_MINOR = 9, LAST_MINOR = 14, FIRST_WITH_LISTS = 14, HEAD_BYTES = 16 };

/* Indexes of the words of struct Py_AsyncioModuleDebugOffsets; each group begins with a size. */
enum {
	DEBUG_TASK_SIZE = 0,
	DEBUG_TASK_NAME = 1,
	DEBUG_TASK_COROUTINE = 5,
	DEBUG_TASK_NODE = 6,
	DEBUG_INTERP_SIZE = 7,
	DEBUG_INTERP_TASKS = 8,
	DEBUG_THREAD_SIZE = 9,
	DEBUG_THREAD_TASKS = 12,
	INTERP_BYTES_MAX = 16 << 20,
};

#define TASK(waiter)                                                                               \
	.task_waiter = (waiter), .task_coroutine = (waiter) + 8, .task_name = (waiter) + 16
#define OWN_FRAMES .has_own_frames = true, .generator_frame = 16, .code_bytes = 48
#define INDEXED    .stack = ASYNCIO_STACK_INDEX, .frame_stack = 64, .frame_locals = 72

static const struct asyncio_layout known[LAST_MINOR + 1] = {
	[9] = { TASK(144), OWN_FRAMES, .generator_state = 24, .created = -1,
		.stack = ASYNCIO_STACK_POINTER, .frame_stack = 72, .frame_locals = 360 },
	[10] = { TASK(152), OWN_FRAMES, .generator_state = 108, .created = -2,
		 .stack = ASYNCIO_STACK_DEPTH, .frame_values = 64, .frame_stack = 80,
		 .frame_locals = 352 },
	[11] = { TASK(128), INDEXED, .generator_frame = 80, .generator_state = 75, .created = -2 },
	[12] = { TASK(128), INDEXED, .generator_frame = 72, .generator_state = 67, .created = -2 },
	[13] = { TASK(112), INDEXED, .generator_frame = 72, .generator_state = 67, .created = -3 },
	/* its tasks are described by ASYNCIO_DEBUG_WORDS in the file */
	[14] = { .generator_frame = 72,
		 .generator_state = 67,
		 .created = -3,
		 .stack = ASYNCIO_STACK_POINTER,
		 .frame_stack = 64,
		 .frame_locals = 80 },
};

static int section_of(const struct elf_image *file, uint64_t words[ASYNCIO_DEBUG_WORDS])
{
	struct elf_span span;

	if (!file || elf_image_section(file, ".AsyncioDebug", &span) < 0 ||
	    span.len < ASYNCIO_DEBUG_WORDS * sizeof(*words))
		return -ENOENT;
	memcpy(words, span.data, ASYNCIO_DEBUG_WORDS * sizeof(*words));
	return 0;
}

static bool fits(uint64_t off, uint64_t len, uint64_t size)
{
	return off % 8 == 0 && size >= len && off <= size - len;
}

/* In 3.14, the future that a task waits for, its coroutine and its name are neighbors. */
static int apply_debug_offsets(const uint64_t w[ASYNCIO_DEBUG_WORDS], struct asyncio_layout *out)
{
	uint64_t task = w[DEBUG_TASK_SIZE], thread = w[DEBUG_THREAD_SIZE];
	uint64_t interp = w[DEBUG_INTERP_SIZE], coroutine = w[DEBUG_TASK_COROUTINE];

	if (task > UINT16_MAX || thread > UINT16_MAX || interp > INTERP_BYTES_MAX ||
	    !fits(w[DEBUG_TASK_NODE], 16, task) || !fits(w[DEBUG_THREAD_TASKS], 16, thread) ||
	    !fits(w[DEBUG_INTERP_TASKS], 16, interp) || !fits(coroutine, 16, task) ||
	    coroutine < HEAD_BYTES + 8 || w[DEBUG_TASK_NAME] != coroutine + 8)
		return -ENOTSUP;
	out->task_coroutine = (uint16_t)w[DEBUG_TASK_COROUTINE];
	out->task_name = (uint16_t)w[DEBUG_TASK_NAME];
	out->task_waiter = (uint16_t)(w[DEBUG_TASK_COROUTINE] - 8);
	out->task_node = (uint16_t)w[DEBUG_TASK_NODE];
	out->thread_tasks = (uint16_t)w[DEBUG_THREAD_TASKS];
	out->interp_tasks = (uint32_t)w[DEBUG_INTERP_TASKS];
	return 0;
}

int asyncio_layout_of(const struct python_vm *py, const uint64_t debug[ASYNCIO_DEBUG_WORDS],
		      struct asyncio_layout *out)
{
	/* the objects of free-threaded builds have a larger head */
	if (py->minor < FIRST_MINOR || py->minor > LAST_MINOR || py->object != HEAD_BYTES)
		return -ENOTSUP;
	*out = known[py->minor];
	out->py = *py;
	if (py->minor < FIRST_WITH_LISTS)
		return 0;
	return debug ? apply_debug_offsets(debug, out) : -ENODATA;
}

int asyncio_layout_find(const struct elf_image *img, const struct elf_image *module,
			struct asyncio_layout *out)
{
	struct python_vm py = { 0 };
	const struct vm_tables tables = { .python = &py };
	struct lang_detected d = { 0 };
	uint64_t words[ASYNCIO_DEBUG_WORDS];
	bool has_words;
	int r = python_detect(img, &tables, 0, &d);

	if (r < 0)
		return r;
	/* the module can be part of the interpreter; otherwise, it is not loaded before its use */
	has_words = section_of(module, words) == 0 || section_of(img, words) == 0;
	r = asyncio_layout_of(&py, has_words ? words : NULL, out);
	if (r == 0)
		snprintf(out->version, sizeof(out->version), "%s", d.version);
	return r == -ENODATA && module ? -ENOTSUP : r;
}
