/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose functions pass their calls on to each other through the PLT, as mimalloc's do. */
#include <stddef.h>

#define API __attribute__((noinline, visibility("default")))

API void *mi_malloc(size_t n);
API void *mi_malloc_aligned(size_t n, size_t alignment);
API void *mi_aligned_alloc(size_t alignment, size_t n);
API void *aligned_alloc(size_t alignment, size_t n);
API void mi_free(void *p);
API void mi_free_size(void *p, size_t n);

static char memory[1 << 16];
static volatile size_t used;

void *mi_malloc(size_t n)
{
	return memory + (used += n) % sizeof(memory);
}

void *mi_malloc_aligned(size_t n, size_t alignment)
{
	return memory + (used += n + alignment) % sizeof(memory) / alignment * alignment;
}

void *mi_aligned_alloc(size_t alignment, size_t n)
{
	return mi_malloc_aligned(n, alignment);
}

void *aligned_alloc(size_t alignment, size_t n)
{
	return mi_aligned_alloc(alignment, n);
}

void mi_free(void *p)
{
	used -= p != NULL;
}

void mi_free_size(void *p, size_t n)
{
	mi_free(p);
}
