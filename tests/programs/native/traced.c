/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced MS MODE [LIBRARY]: publishes OpenTelemetry's process and thread contexts while it works in
 * a span, and works outside of one. As LIBRARY (built with -DLIBRARY) it holds the thread-local
 * variable instead. A MODE other than "span" publishes a record that breaks a rule:
 *
 *   invalid   its mark says that it is being written
 *   nowhere   the pointer leads to no memory
 *   edge      the record ends at memory that does not exist
 *   cut       an attribute claims more bytes than there are
 *   spans     each turn has another span
 *   racing    another thread changes the record all the time
 *   forged    the process context claims 4 GB
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

struct record {
	uint8_t trace_id[16], span_id[8], valid, flags;
	uint16_t attributes_len;
	uint8_t attributes[256];
};

#ifndef BESIDE
__attribute__((visibility("default"))) __thread struct record *otel_thread_ctx_v1;
#endif

#ifdef LIBRARY

__attribute__((visibility("default"))) struct record **slot(void)
{
	return &otel_thread_ctx_v1;
}

#else

enum { PAGE = 4096 };

struct header {
	char signature[8];
	uint32_t version, payload_len;
	uint64_t published_ns;
	const void *payload;
};

/* ProcessContext { attributes: [ key map of "http.route" and "userid" ] } */
static const char payload[] = "\x12\x3b\x0a\x1d"
			      "threadlocal.attribute_key_map"
			      "\x12\x1a\x2a\x18"
			      "\x0a\x0c\x0a\x0a"
			      "http.route"
			      "\x0a\x08\x0a\x06"
			      "userid";

static struct record record = {
	.trace_id = "\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36",
	.span_id = "\x00\xf0\x67\xaa\x0b\xa9\x02\xb7",
	.valid = 1,
	.attributes_len = 14,
	.attributes = "\x00\x05/cart\x01\x05"
		      "alice",
};

static volatile uint64_t sink;

CALLED static void traced_hot(void)
{
	sink = spin(sink, 1 << 20);
}

CALLED static void untraced_hot(void)
{
	sink = spin(sink, 1 << 20);
}

static void publish_process(const char *mode)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct header *h;

	if (fd < 0 || ftruncate(fd, PAGE) < 0)
		exit(1);
	h = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (h == MAP_FAILED)
		exit(1);
	memcpy(h->signature, "OTEL_CTX", sizeof(h->signature));
	h->version = 2;
	h->payload_len = strcmp(mode, "forged") ? sizeof(payload) - 1 : UINT32_MAX;
	h->payload = payload;
	h->published_ns = 1;
}

/* A copy of the record whose head ends at the end of memory. */
static struct record *at_the_edge(void)
{
	char *memory =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || munmap(memory + PAGE, PAGE) < 0)
		exit(1);
	return memcpy(memory + PAGE - 28, &record, 28);
}

static void *race(void *unused)
{
	volatile struct record *r = &record;

	for (uint64_t n = 0;; n++) {
		r->attributes_len = (uint16_t)n;
		r->attributes[1] = (uint8_t)n;
		r->valid = n % 2;
	}
	return unused;
}

static struct record *made_for(const char *mode)
{
	pthread_t thread;

	if (!strcmp(mode, "nowhere"))
		return (struct record *)0x1234567890ab;
	if (!strcmp(mode, "edge"))
		return at_the_edge();
	if (!strcmp(mode, "cut"))
		record.attributes_len = 10;
	if (!strcmp(mode, "invalid"))
		record.valid = 0;
	if (!strcmp(mode, "racing") && pthread_create(&thread, NULL, race, NULL))
		exit(1);
	return &record;
}

static struct record **find_slot(const char *library)
{
	struct record **(*slot)(void);
	void *handle = library ? dlopen(library, RTLD_NOW) : NULL;

	*(void **)&slot = handle ? dlsym(handle, "slot") : NULL;
#ifndef BESIDE
	if (!library)
		return &otel_thread_ctx_v1;
#endif
	return slot ? slot() : NULL;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "span";
	struct record **slot = find_slot(argc > 3 ? argv[3] : NULL), *made = made_for(mode);
	uint64_t n = 0;

	if (!slot)
		return 1;
	publish_process(mode);
	while (busy(busy_ms(argc, argv))) {
		if (!strcmp(mode, "spans"))
			memcpy(record.span_id, &n, sizeof(n));
		n++;
		*slot = made;
		traced_hot();
		*slot = NULL;
		untraced_hot();
	}
	return 0;
}

#endif
