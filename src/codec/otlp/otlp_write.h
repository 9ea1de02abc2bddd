/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes OpenTelemetry's ExportProfilesServiceRequest (profiles v1development, version 1.10), the
 * body of an export and the content of an .otlp.pb file. Attributes of resources do not refer to
 * the dictionary, as Pyroscope and Parca do not resolve such references.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct err;
struct otlp_request;
struct profile;

struct otlp_attribute {
	const char *key;
	const char *str; /* NULL: the value is @num */
	int64_t num;
};

/* Renames a label; to NULL: drops it. */
struct otlp_rename {
	const char *from, *to;
};

/* Everything is borrowed for the call. The arrays may be NULL if their length is 0. */
struct otlp_options {
	const struct otlp_attribute *resource; /* "service.name" and others */
	size_t n_resource;
	const struct otlp_rename *labels; /* labels not listed keep their names */
	size_t n_labels;
	const char *scope_name, *scope_version; /* NULL: none */
	const uint8_t *profile_id;              /* 16 bytes; NULL: none */
	/*
	 * A profile of the protocol has one sample type. False: write one profile for each type.
	 * True: write only the first type; receivers compute the others from its counts and period.
	 */
	bool first_type_only;
};

/*
 * Appends a request of one profile; labels become attributes of samples. A sample with as many
 * timestamps as its value is written as timestamps, any other with its value. @opt may be NULL.
 * Returns 0 or -ENOMEM.
 */
int otlp_write(const struct profile *p, const struct otlp_options *opt, struct buf *out,
	       struct err *err);

/*
 * A request of several profiles and resources that share one dictionary. Returns 0 or -ENOMEM. One
 * thread at a time.
 */
int otlp_request_new(struct otlp_request **out);
void otlp_request_free(struct otlp_request *q);

DEFINE_FREEP(struct otlp_request, otlp_request_free)

/**
 * otlp_request_add() - add a profile with its resource
 *
 * Adds samples from *@io_sample on until the request has about @max_bytes, but at least one.
 * *@io_sample is then the first sample for the next request, or the number of samples. Set
 * first_type_only in @opt if a profile may have to be split. Samples with value 0 are omitted, and
 * so is a profile without any others.
 *
 * Return: 1 if something was added, 0 if not; -ENOMEM, after which the request can only be
 * freed.
 */
int otlp_request_add(struct otlp_request *q, const struct profile *p,
		     const struct otlp_options *opt, size_t max_bytes, uint32_t *io_sample);

/*
 * An estimate of the request's size in bytes. It is never exact, since lengths of nested messages
 * are not known before the end; callers compare it with a limit that leaves room.
 */
size_t otlp_request_bytes(const struct otlp_request *q);

/* Appends the request to @out. Nothing can be added afterwards. Returns 0 or -ENOMEM. */
int otlp_request_write(struct otlp_request *q, struct buf *out);
