/* SPDX-License-Identifier: Apache-2.0 */
/*
 * false_node MILLISECONDS KIND: a program that imitates V8 11.3. Its generated code has a frame
 * whose function is garbage, or whose name refers to itself ("circle") or has a billion characters
 * ("name").
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "work.h"

enum { TYPE_STRING = 8, TYPE_CONS = 9, TYPE_SHARED = 262, BLOB_BYTES = 4096 };

const uint32_t _ZN2v88internal7Version6major_E = 11, _ZN2v88internal7Version6minor_E = 3,
	       _ZN2v88internal7Version6build_E = 244, _ZN2v88internal7Version6patch_E = 8;

#define V8DBG(name, value) const int32_t v8dbg_##name = value;
V8DBG(class_HeapObject__map__Map, 0)
V8DBG(class_Map__instance_type__uint16_t, 12)
V8DBG(class_JSFunction__shared__SharedFunctionInfo, 24)
V8DBG(class_SharedFunctionInfo__name_or_scope_info__Object, 16)
V8DBG(class_SharedFunctionInfo__script__Object, 24)
V8DBG(class_String__length__int32_t, 12)
V8DBG(class_SeqOneByteString__chars__char, 16)
V8DBG(class_ConsString__first__String, 16)
V8DBG(class_ConsString__second__String, 24)
V8DBG(type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE, 262)
V8DBG(FirstNonstringType, 128)
V8DBG(StringRepresentationMask, 7)
V8DBG(StringEncodingMask, 8)
V8DBG(OneByteStringTag, 8)
V8DBG(SeqStringTag, 0)
V8DBG(ConsStringTag, 1)

void *_ZN2v87Isolate10GetCurrentEv(void)
{
	return NULL;
}

/* The code that it declares as embedded never runs, and its description is wrong. */
extern const uint8_t blob[];
__asm__(".text; .balign 64; blob: .fill 4096, 1, 0xcc");
static const uint8_t description[4096] = { 1 };

const void *_ZN2v88internal23DefaultEmbeddedBlobCodeEv(void)
{
	return blob;
}

uint32_t _ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv(void)
{
	return BLOB_BYTES;
}

const void *_ZN2v88internal23DefaultEmbeddedBlobDataEv(void)
{
	return description;
}

uint32_t _ZN2v88internal27DefaultEmbeddedBlobDataSizeEv(void)
{
	return sizeof(description);
}

/*
 * push %rbp; mov %rsp,%rbp; push %rsi, %rdi; mov $1000000,%ecx; 1: dec %ecx; jnz 1b; leave; ret: a
 * frame with its context and its function.
 */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x56, 0x57, 0xb9, 0x40, 0x42,
				0x0f, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc9, 0xc3 };

typedef void (*generated_fn)(uint64_t function, uint64_t context);

/* Each begins with its map, which has its type. */
static uint64_t maps[3][4], function[8], shared[8], name[8];

static uint64_t tagged(const void *object)
{
	return (uint64_t)object + 1;
}

static void make_objects(const char *kind)
{
	const uint16_t types[] = { TYPE_SHARED, TYPE_STRING, TYPE_CONS };
	uint32_t length = 1000000000;

	for (int i = 0; i < 3; i++)
		memcpy((uint8_t *)maps[i] + 12, &types[i], sizeof(types[i]));
	for (int i = 0; i < 8; i++)
		function[i] = shared[i] = name[i] = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15 | 1;
	if (!strcmp(kind, "garbage"))
		return;
	function[3] = tagged(shared);
	shared[0] = tagged(maps[0]);
	shared[2] = tagged(name);
	name[0] = tagged(strcmp(kind, "name") ? maps[2] : maps[1]);
	memcpy((uint8_t *)name + 12, &length, sizeof(length));
	if (!strcmp(kind, "circle"))
		name[2] = name[3] = tagged(name);
}

CALLED uint64_t outer(generated_fn generated, uint64_t n)
{
	for (int i = 0; i < 10; i++)
		generated(tagged(function), tagged(function));
	return n + 1;
}

int main(int argc, char **argv)
{
	uint8_t *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t n = 0;

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, code, sizeof(code));
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		return 1;
	make_objects(argc > 2 ? argv[2] : "");
	while (busy(busy_ms(argc, argv)))
		n += outer((generated_fn)at, n);
	return n == 0;
}
