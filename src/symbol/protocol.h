/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bodies of the messages (roles/message.h) between a process that needs symbols and its
 * symbolizer. Neither side trusts the other: readers check every length and count.
 *
 *	parent                                  symbolizer
 *	OPEN     config, file
 *	                                        reply: facts
 *	RESOLVE  config, addresses, file
 *	                                        question: a file              (any number)
 *	answer   descriptor
 *	                                        part: frames                  (any number)
 *	                                        reply: done, tables to cache
 *
 * Functions are pure: they do no I/O and may run in any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "elf/image.h"
#include "elf/note.h"

enum {
	PROTOCOL_ADDRS_MAX = 4096,
	PROTOCOL_FRAMES_MAX = 128,
	PROTOCOL_NAME_MAX = 32 * 1024,
	PROTOCOL_SYSTEM_NAME_MAX = 16 * 1024,
	PROTOCOL_PATH_MAX = 4 * 1024, /* also the limit of strings in questions */
	PROTOCOL_ID_MAX = 64,
	PROTOCOL_TABLES_MAX = 2,
	PROTOCOL_TABLE_NAME_MAX = 64,
	PROTOCOL_CACHE_KEY_LEN = 16,
	PROTOCOL_MD5_LEN = 16,
};

enum protocol_job { PROTOCOL_OPEN = 1, PROTOCOL_RESOLVE };

enum protocol_part { PROTOCOL_FRAMES = 1 };

enum protocol_flag {
	PROTOCOL_TABLES_ONLY = 1, /* no DWARF, debug files or .gnu_debugdata */
	PROTOCOL_NAME_ALL = 2,    /* report where functions without a symbol begin */
	PROTOCOL_CACHE = 4,       /* sorted tables are cached: cache_key is set */
	PROTOCOL_FLAGS_ALL = 7,
};

/*
 * The settings of a request. Requests do not depend on earlier ones, because the symbolizer may
 * have been restarted.
 */
struct protocol_config {
	uint64_t key;           /* identifies the file; never reused */
	uint64_t table_bytes;   /* limit on symbol tables */
	uint32_t flags;         /* enum protocol_flag */
	uint32_t demangle;      /* enum demangle_mode */
	uint32_t debug_version; /* changes when there may be another debug file than before */
	uint32_t n_addrs;       /* that follow; 0 in OPEN */
	uint8_t cache_key[PROTOCOL_CACHE_KEY_LEN];
};

struct protocol_request {
	struct protocol_config config;
	uint64_t addrs[PROTOCOL_ADDRS_MAX]; /* config.n_addrs of them are sent */
};

/* Returns the bytes of a request with @n addresses. */
size_t protocol_request_len(size_t n);

/* Returns the checked request, which is @data, or NULL. @data is aligned to 8. */
const struct protocol_request *protocol_check_request(const void *data, size_t len);

/* The reply to OPEN. */
struct protocol_facts {
	struct elf_build_id build_id;
	uint32_t is_elf; /* 0 or 1 */
	uint32_t n_segments;
	struct elf_segment segments[ELF_SEGMENTS_MAX];
};

/*
 * Returns the checked reply to OPEN, or NULL. The end of each segment is in the address space, and
 * so is its end in the file.
 */
const struct protocol_facts *protocol_check_facts(const void *data, size_t len);

/* The reply to RESOLVE. Descriptor @i of the message is the table with the name tables[i]. */
struct protocol_done {
	uint64_t table_bytes; /* held by symbol tables of all files */
	uint32_t has_debug;   /* 1: debug information of the file was found */
	uint32_t n_tables;
	char tables[PROTOCOL_TABLES_MAX][PROTOCOL_TABLE_NAME_MAX];
};

/* Returns the checked reply to RESOLVE, which came with @n_fds descriptors, or NULL. */
const struct protocol_done *protocol_check_done(const void *data, size_t len, size_t n_fds);

enum protocol_need_kind {
	PROTOCOL_NEED_DEBUG = 1, /* a candidate for the debug file, by name and build id */
	PROTOCOL_NEED_ALT,       /* a candidate for dwz's alternate file, by name and build id */
	PROTOCOL_NEED_DWO,       /* a split unit's .dwo, by name and directory */
	PROTOCOL_NEED_DWP,       /* the .dwp, which holds all split units */
	PROTOCOL_NEED_TABLE,     /* a cached symbol table, by name */
	PROTOCOL_NEED_MAX,
};

/* A question. */
struct protocol_need {
	enum protocol_need_kind kind;
	uint32_t attempt;       /* DEBUG, ALT: number of the candidate, from 0 */
	const char *name, *dir; /* "" if not applicable */
	const uint8_t *id;
	size_t id_len;
};

void protocol_put_need(struct buf *b, const struct protocol_need *need);

/* Parses a question of @kind. Strings are borrowed from @data. Returns 0 or -EBADMSG. */
int protocol_parse_need(struct protocol_need *out, uint32_t kind, const void *data, size_t len);

struct protocol_frame {
	const char *name;        /* demangled */
	const char *system_name; /* as in the file */
	const char *file;        /* "" if unknown */
	uint32_t line, start_line;
	uint16_t discriminator;
	const uint8_t *md5; /* of the compiled file, PROTOCOL_MD5_LEN bytes; NULL: unknown */
};

/* The frames of one address; no frames if no source has a name for it. */
struct protocol_response {
	uint32_t index;  /* of the address in the request; not checked */
	uint32_t source; /* enum symbolizer_source; not checked */
	uint64_t start;  /* without frames: where the function begins; the address if unknown */
	size_t n;
	struct protocol_frame frames[PROTOCOL_FRAMES_MAX]; /* the innermost first */
};

/*
 * Appends a response to a part. Strings and frames beyond the limits are truncated. Returns false,
 * and leaves the part unchanged, if it would be too long with the response.
 */
bool protocol_put_response(struct buf *b, const struct protocol_response *r);

/* A part that is being read. */
struct protocol_reader {
	const uint8_t *data;
	size_t len;
};

/*
 * Reads the next response. Strings are borrowed from the part. Returns 1; 0 at the end; -EBADMSG.
 */
int protocol_next_response(struct protocol_reader *r, struct protocol_response *out);
