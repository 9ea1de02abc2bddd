/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A core file as a capture uses it: the registers of one thread, the executable mappings, and
 * the memory that the file has. `cameo debug capture` writes such files with only the words
 * that a walk read; gcore(1) and the kernel write whole ones, which are read as well.
 *
 * A capture adds notes of owner "Cameo": which words of a page are real (CORE_NOTE_WORDS), what
 * the mapped files are (CORE_NOTE_FILE), bytes of those files (CORE_NOTE_FILE_BYTES) and the stack
 * trace that was printed when the capture was made (CORE_NOTE_TRACE). The format otherwise is that
 * of core(5) for the processor of the build.
 *
 * The file is untrusted: every offset is checked, and callers run under sigbus_run().
 * One thread.
 *
 * Limits apply to the number of segments and files; sizes are limited by the file itself, because
 * parts of a core are pointers into its bytes.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "elf/note.h"

struct buf;
struct err;
struct process_pages;

enum core_note { CORE_NOTE_WORDS = 1, CORE_NOTE_FILE, CORE_NOTE_FILE_BYTES, CORE_NOTE_TRACE };

enum {
	CORE_SEGMENTS_MAX = 1 << 16,
	CORE_FILES_MAX = 4096,
	CORE_TRACE_MAX = 1 << 20,
	CORE_FILE_BYTES_MAX = 256 << 20, /* the largest file that is reassembled */
	CORE_NO_FILE = UINT32_MAX,
};

/* An executable mapping. */
struct core_region {
	uint64_t start, end;
	uint64_t file_off;
	uint32_t file; /* index of struct core's files, or CORE_NO_FILE */
	const void *
		bytes; /* the mapping's memory where the core has all of it (the vDSO); else NULL */
};

/* A part of a mapped file. */
struct core_part {
	uint64_t off;
	const void *data;
	uint64_t len;
};

/* A file that the process had mapped. */
struct core_file {
	const char *path;
	uint64_t size; /* in bytes; 0: unknown, as in the core files of other programs */
	struct elf_build_id build_id;
	struct {
		VEC(struct core_part);
	} parts;
};

/* Memory that the core has. */
struct core_load {
	uint64_t at, len;
	const uint8_t *data;
	const uint64_t *words; /* bit N: word N of this page was read; NULL: all of it is real */
};

struct core {
	uint64_t regs[UREG_COUNT];
	uint64_t thread_pointer;
	int pid; /* of the thread whose registers these are */
	struct {
		VEC(struct core_region);
	} regions; /* in order of address */
	struct {
		VEC(struct core_file);
	} files;
	struct {
		VEC(struct core_load);
	} loads;           /* in order of address */
	const char *trace; /* trace_len bytes; NULL: there is none */
	size_t trace_len;
};

/**
 * core_parse() - find what a walk needs in the bytes of a core file
 *
 * @data is borrowed and must stay valid as long as @out. Return: 0; -EBADMSG with the reason if
 * this is not a core file of this processor or its headers are inconsistent; -E2BIG over a limit;
 * -ENOMEM. Release @out with core_fini() in any case.
 */
int core_parse(struct core *out, const void *data, size_t len, struct err *err);
void core_fini(struct core *c);

/*
 * Reads the process's memory out of the core (a struct core): 0, or -EFAULT if it is not there. A
 * word of a scrubbed page that was not read at capture time fails too, rather than reading as zero:
 * an unwinder that reads more than the one that made the capture must not use zeros as data.
 */
int core_read_memory(void *core, uint64_t addr, void *dst, size_t len);

/*
 * Writes a core file. @regions, @files (with their parts) and @trace come from @c, whose loads are
 * ignored: the memory is that of @pages, which process_pages_scrub() has been called on. The caller
 * checks buf_error(@out). @out must be empty, since offsets are counted from its start.
 */
void core_write(struct buf *out, const struct core *c, const struct process_pages *pages);
