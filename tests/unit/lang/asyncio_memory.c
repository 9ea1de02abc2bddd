/* SPDX-License-Identifier: Apache-2.0 */
/* The offsets are those of CPython 3.12 for 64-bit processors. */
#include "asyncio_memory.h"

#include <errno.h>
#include <string.h>

#include "lang/python/python.h"

enum {
	TYPE_BYTES = 304,
	TYPE_NAME = 24,
	TYPE_FLAGS = 168,
	TYPE_BASE = 256,
	HEAP_TYPE = 1 << 9,
	MANAGED_DICT = 1 << 4,
	SET_SLOTS = 128,
	RESUME_AFTER_AWAIT = 3,
};

static const struct {
	const char *name;
	uint64_t flags;
} types[ASYNCIO_TYPES] = {
	[ASYNCIO_TYPE_DICT] = { "dict", 0 },
	[ASYNCIO_TYPE_STRING] = { "str", 0 },
	[ASYNCIO_TYPE_MODULE] = { "module", 0 },
	[ASYNCIO_TYPE_SET] = { "set", 0 },
	[ASYNCIO_TYPE_WEAKREF] = { "weakref.ReferenceType", 0 },
	[ASYNCIO_TYPE_WEAK_SET] = { "WeakSet", HEAP_TYPE | MANAGED_DICT },
	[ASYNCIO_TYPE_LOCK] = { "Lock", HEAP_TYPE | MANAGED_DICT },
	[ASYNCIO_TYPE_DERIVED] = { "Derived", HEAP_TYPE | MANAGED_DICT },
	[ASYNCIO_TYPE_TASK] = { "_asyncio.Task", HEAP_TYPE },
	[ASYNCIO_TYPE_FUTURE] = { "_asyncio.Future", HEAP_TYPE },
	[ASYNCIO_TYPE_FUTURE_ITERATOR] = { "_asyncio.FutureIter", HEAP_TYPE },
	[ASYNCIO_TYPE_COROUTINE] = { "coroutine", 0 },
	[ASYNCIO_TYPE_CODE] = { "code", 0 },
	[ASYNCIO_TYPE_BYTES] = { "bytes", 0 },
};

/* ---- memory ---------------------------------------------------------------------------------- */

static uint8_t *at(struct asyncio_memory *m, uint64_t addr)
{
	return m->bytes + (addr - ASYNCIO_MEMORY_AT);
}

void asyncio_memory_put(struct asyncio_memory *m, uint64_t addr, uint64_t word)
{
	memcpy(at(m, addr), &word, sizeof(word));
}

uint64_t asyncio_memory_word(const struct asyncio_memory *m, uint64_t addr)
{
	uint64_t word;

	memcpy(&word, m->bytes + (addr - ASYNCIO_MEMORY_AT), sizeof(word));
	return word;
}

static uint64_t allocate(struct asyncio_memory *m, uint64_t len)
{
	uint64_t addr = m->end;

	m->end += (len + 15) & ~15ULL;
	return addr;
}

static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct asyncio_memory *m = ctx;
	uint64_t off = addr - ASYNCIO_MEMORY_AT;

	if (m->n_reads_max && m->n_reads >= m->n_reads_max)
		return -EFAULT;
	m->n_reads++;
	if (m->before_read)
		m->before_read(m);
	if (off > ASYNCIO_MEMORY_BYTES || len > ASYNCIO_MEMORY_BYTES - off)
		return -EFAULT;
	memcpy(dst, m->bytes + off, len);
	return 0;
}

/* ---- objects --------------------------------------------------------------------------------- */

static uint64_t object(struct asyncio_memory *m, enum asyncio_type type, uint64_t len)
{
	uint64_t addr = allocate(m, 32 + len) + 32; /* words precede instances */

	asyncio_memory_put(m, addr, 1);
	asyncio_memory_put(m, addr + 8, m->types[type]);
	return addr;
}

static void make_type(struct asyncio_memory *m, enum asyncio_type type)
{
	uint64_t name = allocate(m, strlen(types[type].name) + 1);

	m->types[type] = allocate(m, TYPE_BYTES);
	strcpy((char *)at(m, name), types[type].name);
	asyncio_memory_put(m, m->types[type] + TYPE_NAME, name);
	asyncio_memory_put(m, m->types[type] + TYPE_FLAGS, types[type].flags);
}

static uint64_t string(struct asyncio_memory *m, const char *text)
{
	uint64_t addr = object(m, ASYNCIO_TYPE_STRING, 40 + strlen(text) + 1);

	asyncio_memory_put(m, addr + 16, strlen(text));
	asyncio_memory_put(m, addr + 32, (1 | PYTHON_STRING_COMPACT | PYTHON_STRING_ASCII) << 2);
	strcpy((char *)at(m, addr + 40), text);
	return addr;
}

/* A dictionary with two strings as keys; the second may be NULL. */
static uint64_t dict(struct asyncio_memory *m, const char *key, uint64_t value, const char *key2,
		     uint64_t value2)
{
	uint64_t addr = object(m, ASYNCIO_TYPE_DICT, 48), keys = allocate(m, 32 + 8 + 32);

	asyncio_memory_put(m, addr + 32, keys);
	at(m, keys)[9] = 3;  /* log2 of the bytes of indexes */
	at(m, keys)[10] = 1; /* entries without a hash */
	asyncio_memory_put(m, keys + 24, key2 ? 2 : 1);
	asyncio_memory_put(m, keys + 40, string(m, key));
	asyncio_memory_put(m, keys + 48, value);
	if (key2) {
		asyncio_memory_put(m, keys + 56, string(m, key2));
		asyncio_memory_put(m, keys + 64, value2);
	}
	return addr;
}

static uint64_t weak_set(struct asyncio_memory *m)
{
	uint64_t addr = object(m, ASYNCIO_TYPE_WEAK_SET, 32), values = allocate(m, 64 * 8);

	m->set = object(m, ASYNCIO_TYPE_SET, 64);
	m->set_table = allocate(m, SET_SLOTS * 16);
	asyncio_memory_put(m, m->set + 32, SET_SLOTS - 1);
	asyncio_memory_put(m, m->set + 40, m->set_table);
	asyncio_memory_put(m, values, m->set);
	asyncio_memory_put(m, addr - 24, values - 1);
	return addr;
}

uint64_t asyncio_memory_code(struct asyncio_memory *m, const char *name, const char *file)
{
	uint64_t addr = object(m, ASYNCIO_TYPE_CODE, 256),
		 lines = object(m, ASYNCIO_TYPE_BYTES, 40);
	uint8_t *resume = at(m, addr + m->layout.py.code_bytecode + 2);

	asyncio_memory_put(m, addr + m->layout.py.code_filename, string(m, file));
	asyncio_memory_put(m, addr + m->layout.py.code_name, string(m, name));
	asyncio_memory_put(m, addr + m->layout.py.code_qualname, string(m, name));
	asyncio_memory_put(m, addr + m->layout.py.code_lines, lines);
	*at(m, addr + m->layout.py.code_first_line) = 9;
	resume[1] = RESUME_AFTER_AWAIT;
	/* one entry of eight units: no columns, one line later */
	asyncio_memory_put(m, lines + 16, 2);
	at(m, lines + 32)[0] = 0x80 | 13 << 3 | 7;
	at(m, lines + 32)[1] = 2;
	return addr;
}

uint64_t asyncio_memory_coroutine(struct asyncio_memory *m, uint64_t code, int8_t state,
				  uint64_t awaited)
{
	const struct asyncio_layout *l = &m->layout;
	uint64_t addr = object(m, ASYNCIO_TYPE_COROUTINE, 192), frame = addr + l->generator_frame;

	*at(m, addr + l->generator_state) = (uint8_t)state;
	asyncio_memory_put(m, frame + l->py.frame_code, code);
	asyncio_memory_put(m, frame + l->py.frame_place, code + l->py.code_bytecode);
	*at(m, frame + l->frame_stack) = awaited ? 2 : 1;
	asyncio_memory_put(m, frame + l->frame_locals + 8, awaited);
	return addr;
}

uint64_t asyncio_memory_wait(struct asyncio_memory *m)
{
	uint64_t addr = object(m, ASYNCIO_TYPE_FUTURE_ITERATOR, 24);

	asyncio_memory_put(m, addr + 16, m->future);
	return addr;
}

uint64_t asyncio_memory_add(struct asyncio_memory *m, enum asyncio_type type, uint64_t coroutine,
			    uint64_t waiter)
{
	uint64_t addr = object(m, type, 176), ref = object(m, ASYNCIO_TYPE_WEAKREF, 48);

	asyncio_memory_put(m, addr + m->layout.task_waiter, waiter);
	asyncio_memory_put(m, addr + m->layout.task_coroutine, coroutine);
	asyncio_memory_put(m, addr + m->layout.task_name, string(m, "a task"));
	asyncio_memory_put(m, ref + 16, addr);
	asyncio_memory_put(m, m->set_table + m->n * 32, ref);
	m->tasks[m->n++] = addr;
	return addr;
}

/* ---- the process ----------------------------------------------------------------------------- */

void asyncio_memory_init(struct asyncio_memory *m)
{
	struct python_vm py;
	uint64_t names, modules;

	memset(m, 0, sizeof(*m));
	(void)python_offsets(&py, 12, ASYNCIO_MEMORY_AT, NULL, 0);
	(void)asyncio_layout_of(&py, NULL, &m->layout);
	strcpy(m->layout.version, "3.12");
	m->end = ASYNCIO_MEMORY_AT + 0x100;
	m->interp = allocate(m, 1024);
	asyncio_memory_put(m, py.interp_head, m->interp);
	for (int i = 0; i < ASYNCIO_TYPES; i++)
		make_type(m, (enum asyncio_type)i);
	asyncio_memory_put(m, m->types[ASYNCIO_TYPE_DERIVED] + TYPE_BASE,
			   m->types[ASYNCIO_TYPE_TASK]);
	m->future = object(m, ASYNCIO_TYPE_FUTURE, 128);
	names = object(m, ASYNCIO_TYPE_MODULE, 48);
	asyncio_memory_put(m, names + 16,
			   dict(m, "__file__", string(m, "/lib/python3.12/asyncio/tasks.py"),
				"_scheduled_tasks", weak_set(m)));
	modules = dict(m, "sys", 0, "asyncio.tasks", names);
	asyncio_memory_put(m, m->interp + ASYNCIO_MODULES_OFFSET, modules);
	m->memory.read = read_bytes;
	m->memory.ctx = m;
}
