/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the privileged process and its symbol worker say to each other: packets
 * over a SOCK_SEQPACKET pair, one message a packet, never more than
 * PROTOCOL_PACKET_MAX bytes. Either side treats the other's packets as a
 * stranger's: readers check every length and count.
 *
 *	parent                           worker
 *	                                 HELLO   how it is confined
 *	ASK     key, addresses
 *	                                 NEED    a file of that key   (any number)
 *	GIVE    result (+ descriptor)
 *	                                 ANSWER  frames               (any number)
 *	                                 DONE    result
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
	PROTOCOL_ASK,
	PROTOCOL_NEED,
	PROTOCOL_GIVE,
	PROTOCOL_ANSWER,
	PROTOCOL_DONE,
	PROTOCOL_TYPE_MAX,
};

enum protocol_need_kind {
	PROTOCOL_NEED_FILE,  /* the executable or library itself */
	PROTOCOL_NEED_DEBUG, /* its separate debug file */
	PROTOCOL_NEED_ALT,   /* dwz's alternate file: name, build id */
	PROTOCOL_NEED_DWO,   /* a split unit: name, directory, id */
	PROTOCOL_NEED_DWP,   /* all split units */
	PROTOCOL_NEED_MAX,
};

struct protocol_need {
	enum protocol_need_kind kind;
	const char *name, *dir; /* "" if there is none */
	const uint8_t *id;
	size_t id_len;
};

struct protocol_frame {
	const char *name;    /* as the source says it; "" if it does not know */
	const char *linkage; /* mangled; "" if it does not know */
	const char *file;
	uint32_t line, start_line;
	uint32_t lang; /* DW_LANG_*; 0 if not known */
};

/* A packet, read: the members of its type are set; all is borrowed from the packet. */
struct protocol_msg {
	enum protocol_type type;
	uint32_t seq;
	int32_t result;            /* GIVE, DONE */
	uint64_t key;              /* ASK */
	size_t n_addrs;            /* ASK */
	const uint8_t *addrs;      /* ASK: 8 bytes each, unaligned; see protocol_addr() */
	struct protocol_need need; /* NEED */
	const char *text;          /* HELLO */
	const uint8_t *answers;    /* ANSWER: see protocol_next_answer() */
	size_t answers_len;
};

uint64_t protocol_addr(const struct protocol_msg *m, size_t i);

/* 0 or -EBADMSG. */
int protocol_parse(struct protocol_msg *out, const void *data, size_t len);

/**
 * protocol_next_answer() - the next address's frames of an ANSWER
 *
 * @out holds PROTOCOL_FRAMES_MAX. Return: number of frames (1 at least); 0
 * when there are no more; -EBADMSG.
 */
int protocol_next_answer(struct protocol_msg *m, uint32_t *out_index, struct protocol_frame *out);

/* Writers: into an empty buffer. buf_error() says whether it went well. */
void protocol_put_hello(struct buf *b, const char *text);
void protocol_put_ask(struct buf *b, uint32_t seq, uint64_t key, const uint64_t *addrs, size_t n);
void protocol_put_need(struct buf *b, uint32_t seq, const struct protocol_need *need);
void protocol_put_result(struct buf *b, enum protocol_type type, uint32_t seq, int32_t result);
void protocol_put_answer_header(struct buf *b, uint32_t seq);

/* One address's frames behind the header; cut strings and frames off at the limits. */
void protocol_put_answer(struct buf *b, uint32_t index, const struct protocol_frame *frames,
			 size_t n);
