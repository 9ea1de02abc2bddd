/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages between this process and the processes that work for it in a role (role.h,
 * pool.h). A message is one packet of a SOCK_SEQPACKET pair: a header, a body and descriptors.
 *
 *	parent                        child
 *	                              HELLO      how it is confined (text)
 *	REQUEST  kind, fixed struct
 *	                              PART       a piece of a long result      (any number)
 *	                              QUESTION   the child needs something     (any number)
 *	ANSWER   for the question
 *	                              REPLY      result, fixed struct
 *
 * Neither side trusts the other: role_message_receive() checks every length and count, and the
 * bodies are checked by those who use them. Both sides run the same binary, so
 * integers have host byte order; the version protects against a binary that was replaced meanwhile.
 */
#include <stddef.h>
#include <stdint.h>

enum {
	ROLE_VERSION = 1,
	ROLE_BODY_MAX = 60 * 1024,
	ROLE_FDS_MAX = 4,
};

enum role_message_type {
	ROLE_HELLO = 1,
	ROLE_REQUEST,
	ROLE_PART,
	ROLE_QUESTION,
	ROLE_ANSWER,
	ROLE_REPLY,
	ROLE_MESSAGE_TYPE_MAX,
};

/* The kind of the request with a socket that starts a copy of a launcher (launcher.h). */
enum { ROLE_LAUNCH = 0x7fffffff };

struct launch_reply {
	int32_t pid;
};

struct role_header {
	uint32_t len; /* bytes of the packet including this header */
	uint16_t version;
	uint8_t type; /* enum role_message_type */
	uint8_t n_fds;
	uint32_t request;    /* number of the request; 0 in HELLO */
	uint32_t kind;       /* REQUEST, QUESTION, PART: defined by the role */
	int32_t result;      /* REPLY, ANSWER: 0 or -errno */
	uint32_t timeout_ms; /* REQUEST: the child ends itself somewhat later than this */
};
_Static_assert(sizeof(struct role_header) == 24, "both sides agree on the header");

struct role_message {
	struct role_header h;
	uint32_t body_len;
	int fds[ROLE_FDS_MAX]; /* h.n_fds of them, owned by the receiver */
	_Alignas(8) uint8_t body[ROLE_BODY_MAX];
};

/*
 * Checks a header that came with a packet of @len bytes and @n_fds descriptors. Returns 0 or
 * -EBADMSG.
 */
int role_header_check(const struct role_header *h, size_t len, size_t n_fds);

/**
 * role_message_send() - send one packet
 *
 * The caller sets type, request, kind, result and timeout_ms of @h; the rest is set here. @flags
 * are those of sendmsg(): with MSG_DONTWAIT a receiver that does not read cannot block the sender.
 *
 * Return: 0; -EMSGSIZE for a body over ROLE_BODY_MAX; -EPIPE if the receiver is gone; -EAGAIN;
 * -errno.
 */
int role_message_send(int sock, const struct role_header *h, const void *body, size_t len,
		      const int *fds, size_t n_fds, int flags);

/**
 * role_message_receive() - receive one packet
 *
 * Return: 0; -EPIPE at the end of the stream; -EBADMSG for a malformed packet, whose descriptors
 * are closed; -EAGAIN with MSG_DONTWAIT in @flags; -errno.
 */
int role_message_receive(int sock, struct role_message *m, int flags);

/* Closes the descriptors of @m that the receiver did not take (by setting them to -1). */
void role_message_close_fds(struct role_message *m);
