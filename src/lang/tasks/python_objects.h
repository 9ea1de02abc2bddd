/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads objects of CPython 3.9 to 3.15 from outside: their types, dictionaries, sets and the
 * attributes of instances. The memory is untrusted and may change meanwhile: loops are bounded, and
 * what does not look like the expected type is -EBADMSG. Functions return 0, -EBADMSG, or an error
 * of task_pages_read().
 */
#include <stddef.h>
#include <stdint.h>

#include "base/index.h"
#include "base/vec.h"
#include "bpf/shared/python.h"

struct task_pages;

/* The kinds of objects that readers distinguish. */
enum python_kind {
	PYTHON_OTHER,
	PYTHON_COROUTINE,
	PYTHON_GENERATOR,
	PYTHON_ASYNC_GENERATOR,
	PYTHON_AWAITABLE,       /* it refers to an asynchronous generator or a coroutine */
	PYTHON_FUTURE_ITERATOR, /* it refers to a future of the module _asyncio */
	PYTHON_TASK,            /* _asyncio.Task or a class that is derived from it */
	PYTHON_DICT,
	PYTHON_SET,
	PYTHON_STRING,
	PYTHON_INT,
	PYTHON_MODULE,
	PYTHON_WEAKREF,
};

enum { PYTHON_TYPE_NAME_MAX = 64, PYTHON_TYPES_MAX = 4096 };

struct python_type {
	uint64_t addr;
	uint64_t flags, size, dict_offset; /* tp_flags, tp_basicsize, tp_dictoffset */
	uint8_t kind;                      /* enum python_kind */
	char name[PYTHON_TYPE_NAME_MAX];   /* without its module; cut off */
};

struct python_objects {
	const struct python_vm *py; /* borrowed, like the pages */
	struct task_pages *pages;

	/* private; types are few, and read once */
	struct {
		VEC(struct python_type);
	} types;
	struct index index;
};

void python_objects_fini(struct python_objects *o);

/* The type of the object at @addr. *@out is valid until the next call. */
int python_type_of(struct python_objects *o, uint64_t addr, const struct python_type **out);

/* The kind of the object at @addr, PYTHON_OTHER if it cannot be read. */
enum python_kind python_kind_of(struct python_objects *o, uint64_t addr);

/* The word at @off after the head of the object at @addr. */
int python_field(struct python_objects *o, uint64_t addr, uint64_t off, uint64_t *out);

/* The value of string @key in the dictionary at @addr; -ENOENT if it has none. */
int python_dict_get(struct python_objects *o, uint64_t addr, const char *key, uint64_t *out);

/*
 * The first attribute of the instance at @addr, in the order of their creation, whose value is of
 * @kind; -ENOENT if it has none.
 */
int python_attribute_of(struct python_objects *o, uint64_t addr, enum python_kind kind,
			uint64_t *out);

/* A function that is called with each element; a value other than 0 ends the reading. */
typedef int (*python_element_fn)(void *ctx, uint64_t addr);

/*
 * Calls @fn for each element of the set at @addr. Returns -E2BIG without a call if its table has
 * more than @max entries.
 */
int python_set_each(struct python_objects *o, uint64_t addr, uint64_t max, python_element_fn fn,
		    void *ctx);

/* Reads an integer from 0 to UINT32_MAX, in the representation of 3.12 and later. */
int python_small_int(struct python_objects *o, uint64_t addr, uint32_t *out);

/* Reads a text of one byte per character into @out, cut off to @size. */
int python_text(struct python_objects *o, uint64_t addr, char *out, size_t size);
