/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages between the privileged process and its symbol worker. Each
 * message is one packet of at most PROTOCOL_PACKET_MAX bytes over a
 * SOCK_SEQPACKET pair. Neither side trusts the other: readers check every
 * length and count.
 *
 *	parent                           worker
 *	                                 HELLO     how it is confined
 *	REQUEST  key, addresses
 *	                                 NEED      a file of that key   (any number)
 *	FILE     result (+ descriptor)
 *	                                 RESPONSE  frames               (any number)
 *	                                 DONE      result
 *
 * Functions are pure: they do no I/O and may run in any thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	PROTOCOL_PACKET_MAX = 60 * 1024,
	PROTOCOL_ADDRS_MAX = 512,
	PROTOCOL_FRAMES_MAX = 128,
	PROTOCOL_STRING_MAX = 4 * 1024,
	PROTOCOL_ID_MAX = 64,
};

enum protocol_type {
	PROTOCOL_HELLO = 1,
	PROTOCOL_REQUEST,
	PROTOCOL_NEED,
	PROTOCOL_FILE,
	PROTOCOL_RESPONSE,
	PROTOCOL_DONE,
	PROTOCOL_TYPE_MAX,
};

enum protocol_need_kind {
	PROTOCOL_NEED_FILE,  /* the executable or library itself */
	PROTOCOL_NEED_DEBUG, /* its separate debug file */
	PROTOCOL_NEED_ALT,   /* dwz's alternate file, by name and build id */
	PROTOCOL_NEED_DWO,   /* a split unit's .dwo, by name, directory and id */
	PROTOCOL_NEED_DWP,   /* the .dwp, which holds all split units */
	PROTOCOL_NEED_MAX,
};

struct protocol_need {
	enum protocol_need_kind kind;
	const char *name, *dir; /* "" if not applicable */
	const uint8_t *id;
	size_t id_len;
};

struct protocol_frame {
	const char *name;    /* unmangled, as in DWARF; "" if unknown */
	const char *linkage; /* mangled; "" if unknown */
	const char *file;
	uint32_t line, start_line;
	uint32_t lang; /* DW_LANG_*; 0 if unknown */
};

/* A parsed packet. The members of its type are set; pointers refer to the packet's bytes. */
struct protocol_msg {
	enum protocol_type type;
	uint32_t seq;
	int32_t result;            /* FILE, DONE */
	uint64_t key;              /* REQUEST */
	size_t n_addrs;            /* REQUEST */
	const uint8_t *addrs;      /* REQUEST: 8 bytes each, unaligned; see protocol_addr() */
	struct protocol_need need; /* NEED */
	const char *text;          /* HELLO */
	const uint8_t *response;   /* RESPONSE: see protocol_next_response() */
	size_t response_len;
};

/* Returns address @i of a REQUEST. */
uint64_t protocol_addr(const struct protocol_msg *m, size_t i);

/* Parses and validates a packet. Returns 0 or -EBADMSG. */
int protocol_parse(struct protocol_msg *out, const void *data, size_t len);

/**
 * protocol_next_response() - read the frames of the next address in a RESPONSE
 *
 * @out has room for PROTOCOL_FRAMES_MAX frames. *@out_index is the index of the
 * address in the request, not yet checked against its length.
 *
 * Return: the number of frames, at least 1; 0 at the end; -EBADMSG.
 */
int protocol_next_response(struct protocol_msg *m, uint32_t *out_index, struct protocol_frame *out);

/* Writers fill an empty buffer. Check buf_error() afterwards. */
void protocol_put_hello(struct buf *b, const char *text);
void protocol_put_request(struct buf *b, uint32_t seq, uint64_t key, const uint64_t *addrs,
			  size_t n);
void protocol_put_need(struct buf *b, uint32_t seq, const struct protocol_need *need);
void protocol_put_result(struct buf *b, enum protocol_type type, uint32_t seq, int32_t result);
void protocol_put_response_header(struct buf *b, uint32_t seq);

/* Appends the frames of one address. Strings and frames beyond the limits are truncated. */
void protocol_put_response(struct buf *b, uint32_t index, const struct protocol_frame *frames,
			   size_t n);
