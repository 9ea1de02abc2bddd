/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that calls itself libjvm. It exports the symbols of HotSpot and enough valid data to
 * be accepted: a heap where code runs, an interpreter in it, layouts. Everything that these lead
 * to is noise, which depends on the seed: segments, blobs, methods, classes, names.
 *
 * Built twice: as that library, and with -DPROGRAM as the program LIBRARY MS SEED that runs it for
 * MS of CPU time.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef PROGRAM

int main(int argc, char **argv)
{
	void *library = argc > 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*run)(long ms, unsigned seed) = library ? dlsym(library, "run") : NULL;

	if (!run) {
		fprintf(stderr, "usage: liar LIBRARY MS SEED\n");
		return 2;
	}
	return run(atol(argv[2]), (unsigned)atol(argv[3]));
}

#else

enum {
	NOISE_WORDS = 1 << 16,
	CODE_BYTES = 1 << 20,
	SEGMENT_SHIFT = 7,
	CODELETS = 8,
	CODELET_BYTES = 256,
	SLOTS = 64, /* where code may be */
};

enum fact {
#define X(sym, type, field) FACT_##sym,
#include "lang/jvm/facts.def"
#undef X
	FACT_MAX,
};

static const struct {
	const char *type, *field;
} facts[FACT_MAX] = {
#define X(sym, type, field) { type, field },
#include "lang/jvm/facts.def"
#undef X
};

struct field {
	const char *type, *name, *kind;
	uint64_t offset;
	const void *address;
};

struct size {
	const char *type;
	uint64_t size;
};

struct number {
	const char *name;
	uint32_t value;
};

/* The true fields; offsets are those of true_offset(). */
static struct {
	uint64_t pad, low, high, segmap_pad[14], segmap_low, pad2[11];
	uint32_t pad3, shift;
} heap;
static struct {
	uint32_t len, pad;
	const void *data;
} heaps = { 1, 0, (const void *[]){ &heap } };
static struct {
	uint64_t pad, buffer, pad2;
	uint32_t begin, end, limit;
} queue;
static const void *heaps_at = &heaps, *queue_at = &queue;
static uint32_t n_threads = 3, major;
static uint64_t noise[NOISE_WORDS];
static uint8_t segments[CODE_BYTES >> SEGMENT_SHIFT];
static struct field fields[FACT_MAX + 1];
static struct size sizes[FACT_MAX + 1];
static struct number numbers[FACT_MAX + 1];

#define EXPORT             __attribute__((visibility("default")))
#define PLACE(name, value) EXPORT const uint64_t name = value;

EXPORT const void *gHotSpotVMStructs; /* cameo finds no entry before all of them exist */
PLACE(gHotSpotVMStructEntryArrayStride, sizeof(struct field))
PLACE(gHotSpotVMStructEntryTypeNameOffset, 0)
PLACE(gHotSpotVMStructEntryFieldNameOffset, 8)
PLACE(gHotSpotVMStructEntryTypeStringOffset, 16)
PLACE(gHotSpotVMStructEntryOffsetOffset, 24)
PLACE(gHotSpotVMStructEntryAddressOffset, 32)
EXPORT const void *gHotSpotVMTypes;
PLACE(gHotSpotVMTypeEntryArrayStride, sizeof(struct size))
PLACE(gHotSpotVMTypeEntryTypeNameOffset, 0)
PLACE(gHotSpotVMTypeEntrySizeOffset, 8)
EXPORT const void *gHotSpotVMIntConstants;
PLACE(gHotSpotVMIntConstantEntryArrayStride, sizeof(struct number))
PLACE(gHotSpotVMIntConstantEntryNameOffset, 0)
PLACE(gHotSpotVMIntConstantEntryValueOffset, 8)

EXPORT int JNI_CreateJavaVM(void);
EXPORT int run(long ms, unsigned seed);

int JNI_CreateJavaVM(void)
{
	return -1;
}

/* ---- the tables -------------------------------------------------------------- */

static const void *true_address(enum fact f)
{
	switch (f) {
	case FACT_HEAPS:
		return &heaps_at;
	case FACT_INTERPRETER_CODE:
		return &queue_at;
	case FACT_THREADS:
		return &n_threads;
	case FACT_VM_MAJOR:
		return &major;
	case FACT_KLASSES:
	case FACT_OOPS_BASE:
	case FACT_OOPS_SHIFT:
	case FACT_Z_GLOBALS:
		return &noise[rand() % NOISE_WORDS];
	default:
		return NULL;
	}
}

static uint64_t true_offset(enum fact f)
{
	switch (f) {
	case FACT_HEAP_MEMORY:
		return 8;
	case FACT_SPACE_HIGH_BOUNDARY:
		return 8;
	case FACT_HEAP_SEGMAP:
		return 120;
	case FACT_SPACE_LOW:
		return 16;
	case FACT_HEAP_SHIFT:
		return sizeof(heap) - 4;
	case FACT_SPACE_LOW_BOUNDARY:
	case FACT_ARRAY_LEN:
	case FACT_CODELET_DESCRIPTION:
		return 0;
	case FACT_ARRAY_DATA:
	case FACT_QUEUE_BUFFER:
	case FACT_CODELET_SIZE:
		return 8;
	case FACT_QUEUE_BEGIN:
		return 24;
	case FACT_QUEUE_END:
		return 28;
	case FACT_QUEUE_LIMIT:
		return 32;
	default:
		return (uint64_t)(rand() % 40) * 8;
	}
}

static void make_tables(void)
{
	size_t n_fields = 0, n_sizes = 0, n_numbers = 0;

	for (int i = 0; i < FACT_MAX; i++) {
		/* no version declares the same fact in two ways */
		if (i == FACT_JDK_VERSION || i == FACT_ARRAY_LEN_8 || i == FACT_HEAP)
			continue;
		if (!facts[i].field)
			sizes[n_sizes++] =
				(struct size){ facts[i].type, (uint64_t)(rand() % 60) * 8 };
		else if (!facts[i].field[0])
			numbers[n_numbers++] =
				(struct number){ facts[i].type, (uint32_t)rand() % 64 };
		else
			fields[n_fields++] = (struct field){
				facts[i].type,
				facts[i].field,
				rand() % 3 ? "address" : "int",
				true_offset((enum fact)i),
				true_address((enum fact)i),
			};
	}
}

/* ---- the data that the tables refer to ----------------------------------------- */

/* Returns a word that is a valid address, a small number, or arbitrary. */
static uint64_t any_word(const uint8_t *code)
{
	switch (rand() % 6) {
	case 0:
	case 1:
		return (uint64_t)&noise[rand() % NOISE_WORDS];
	case 2:
		return (uint64_t)code + (uint64_t)(rand() % CODE_BYTES);
	case 3:
		return (uint64_t)rand() % 256;
	case 4:
		return 0;
	default:
		return (uint64_t)rand() << 40 ^ (uint64_t)rand() << 16 ^ (uint64_t)rand();
	}
}

static void make_noise(uint8_t *code)
{
	uint64_t word;

	for (size_t i = 0; i < NOISE_WORDS; i++)
		noise[i] = any_word(code);
	for (size_t i = 0; i < CODE_BYTES; i += sizeof(word)) {
		word = any_word(code);
		memcpy(code + i, &word, sizeof(word));
	}
	for (size_t i = 0; i < sizeof(segments); i++)
		segments[i] = (uint8_t)(rand() % 3 ? rand() % 4 : rand());
}

static void make_interpreter(uint8_t *code)
{
	static const char *const names[] = { "method entry point (kind = x)", "iadd" };
	uint64_t text;
	uint32_t size;

	for (int i = 0; i < CODELETS; i++) {
		text = (uint64_t)names[rand() % 2];
		size = rand() % 8 ? CODELET_BYTES : (uint32_t)rand();
		memcpy(code + i * CODELET_BYTES, &text, sizeof(text));
		memcpy(code + i * CODELET_BYTES + 8, &size, sizeof(size));
	}
	queue.buffer = (uint64_t)code;
	queue.end = queue.limit = CODELETS * CODELET_BYTES;
}

/* ---- the running code ------------------------------------------------------------ */

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Two separate pieces of code: one calls its argument, the other counts down. */
static void run_code(uint8_t *code)
{
	/* sub $8, %rsp; call *%rdi; add $8, %rsp; ret */
	static const uint8_t call[] = {
		0x48, 0x83, 0xec, 8, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3
	};
	/* mov $200000, %ecx; dec %ecx; jne; ret */
	static const uint8_t count[] = { 0xb9, 0x40, 0x0d, 0x03, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
	uint8_t *at = code + (size_t)(rand() % SLOTS) * (CODE_BYTES / SLOTS) + 64;

	memcpy(at, call, sizeof(call));
	memcpy(at + 512, count, sizeof(count));
	((void (*)(void *))at)(at + 512);
}

int run(long ms, unsigned seed)
{
	static const uint8_t majors[] = { 8, 11, 17, 21, 25 };
	uint8_t *code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	srand(seed);
	major = majors[seed % sizeof(majors)];
	heap.low = (uint64_t)code;
	heap.high = (uint64_t)code + CODE_BYTES;
	heap.segmap_low = (uint64_t)segments;
	heap.shift = SEGMENT_SHIFT;
	make_tables();
	make_noise(code);
	make_interpreter(code);
	gHotSpotVMIntConstants = numbers;
	gHotSpotVMTypes = sizes;
	gHotSpotVMStructs = fields;
	while (cpu_ms() < ms)
		run_code(code);
	return 0;
}

#endif
