/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transaction is written only after the previous one was flushed. Frames continue the checksum of
 * the frame before. So if a second commit follows a first one without a break in that chain,
 * everything before the second one has been flushed, and a wrong checksum there is damage. Frames
 * of a transaction that was rolled back may follow the end of the log with correct checksums of
 * their own, but they do not continue those of the log.
 */
#include "store/sqlite/log_sums.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "base/cleanup.h"

enum {
	MAGIC = 0x377f0682, /* of logs with little-endian checksums */
	SUM_LEN = 8,
	SALT_LEN = 8,
	MAX_PAGE_LEN = 65536,
};

/* Places in a header of a frame. */
enum { AT_COMMIT = 4, AT_SALT = 8, AT_SUM = 16 };

/* Places in the header of the log. */
enum { AT_LOG_SALT = 16, AT_LOG_SUM = 24 };

struct log_sum {
	uint32_t a, b;
};

static uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static struct log_sum sum_at(const uint8_t *p)
{
	return (struct log_sum){ big_endian(p), big_endian(p + 4) };
}

static struct log_sum add_to_sum(struct log_sum s, const uint8_t *data, int len)
{
	for (int i = 0; i < len; i += 8) {
		uint32_t words[2];

		memcpy(words, data + i, sizeof(words));
		s.a += words[0] + s.b;
		s.b += words[1] + s.a;
	}
	return s;
}

static bool is_sum(struct log_sum s, const uint8_t *p)
{
	return s.a == big_endian(p) && s.b == big_endian(p + 4);
}

static int read_at(struct sqlite3_file *log, void *data, int len, int64_t offset)
{
	return log->pMethods->xRead(log, data, len, offset);
}

bool log_sums_is_page(int len, int64_t offset)
{
	return len >= 512 && !(len & (len - 1)) &&
	       offset >= LOG_SUMS_HEADER_LEN + LOG_SUMS_FRAME_HEADER_LEN &&
	       (offset - LOG_SUMS_HEADER_LEN) % (len + LOG_SUMS_FRAME_HEADER_LEN) ==
		       LOG_SUMS_FRAME_HEADER_LEN;
}

bool log_sums_is_frame(int len, int64_t offset)
{
	int page_len = len - LOG_SUMS_FRAME_HEADER_LEN;

	return page_len >= 512 && !(page_len & (page_len - 1)) && page_len <= MAX_PAGE_LEN &&
	       offset >= LOG_SUMS_HEADER_LEN && (offset - LOG_SUMS_HEADER_LEN) % len == 0;
}

/* Does a frame continue the checksum of what is in front of it, the header or another frame? */
static int continues(struct sqlite3_file *log, const uint8_t *head, const uint8_t *page, int len,
		     int64_t offset, bool *out)
{
	int64_t previous = offset == LOG_SUMS_HEADER_LEN ? AT_LOG_SUM : offset - len - SUM_LEN;
	uint8_t before[SUM_LEN];
	int rc = read_at(log, before, SUM_LEN, previous);

	if (rc == SQLITE_OK)
		*out = is_sum(add_to_sum(add_to_sum(sum_at(before), head, AT_SALT), page, len),
			      head + AT_SUM);
	return rc;
}

int log_sums_verify_page(struct sqlite3_file *log, const uint8_t *page, int len, int64_t offset)
{
	uint8_t head[LOG_SUMS_FRAME_HEADER_LEN];
	int64_t at = offset - LOG_SUMS_FRAME_HEADER_LEN;
	bool good = false;
	int rc = read_at(log, head, sizeof(head), at);

	if (rc == SQLITE_OK)
		rc = continues(log, head, page, len, at, &good);
	return rc != SQLITE_OK ? rc : good ? SQLITE_OK : SQLITE_IOERR_DATA;
}

/* The frames after a wrong checksum. */
struct rest {
	const uint8_t *salt; /* of the frames of this log; older ones have others */
	bool committed;      /* there was a commit, and all frames since continue it */
	bool later;          /* another one follows it */
};

static void see_frame(struct rest *r, const uint8_t *frame, bool good)
{
	bool is_own = !memcmp(frame + AT_SALT, r->salt, SALT_LEN);
	bool is_commit = is_own && big_endian(frame + AT_COMMIT) != 0;

	r->later = r->later || (r->committed && is_commit && good);
	r->committed = (r->committed && is_own && good) || is_commit;
}

/* Reads frames of @len bytes from @offset to the end of the log. */
static int see_rest(struct sqlite3_file *log, struct rest *r, int len, int64_t offset)
{
	_cleanup_(freep) uint8_t *frame = malloc((size_t)len);
	int rc = frame ? SQLITE_OK : SQLITE_IOERR_NOMEM;
	bool good = false;

	for (; rc == SQLITE_OK && !r->later; offset += len) {
		rc = read_at(log, frame, len, offset);
		if (rc == SQLITE_OK)
			rc = continues(log, frame, frame + LOG_SUMS_FRAME_HEADER_LEN,
				       len - LOG_SUMS_FRAME_HEADER_LEN, offset, &good);
		if (rc == SQLITE_OK)
			see_frame(r, frame, good);
	}
	return rc == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : rc;
}

int log_sums_verify_frame(struct sqlite3_file *log, const uint8_t *frame, int len, int64_t offset)
{
	uint8_t header[LOG_SUMS_HEADER_LEN];
	struct rest rest = { .salt = header + AT_LOG_SALT };
	bool good = false;
	int rc = read_at(log, header, sizeof(header), 0);

	if (rc == SQLITE_OK)
		rc = continues(log, frame, frame + LOG_SUMS_FRAME_HEADER_LEN,
			       len - LOG_SUMS_FRAME_HEADER_LEN, offset, &good);
	if (rc != SQLITE_OK || (good && !memcmp(frame + AT_SALT, rest.salt, SALT_LEN)))
		return rc;
	/* a frame of an older log ends this one */
	rest.committed = big_endian(frame + AT_COMMIT) != 0;
	rc = see_rest(log, &rest, len, offset + len);
	return rc == SQLITE_OK && rest.later ? SQLITE_IOERR_DATA : rc;
}

int log_sums_verify_header(struct sqlite3_file *log, const uint8_t *header, int page_len)
{
	uint8_t head[LOG_SUMS_FRAME_HEADER_LEN];
	struct rest rest = { .salt = head + AT_SALT, .committed = true };
	int rc;

	if (big_endian(header) == MAGIC &&
	    is_sum(add_to_sum((struct log_sum){ 0 }, header, AT_LOG_SUM), header + AT_LOG_SUM))
		return SQLITE_OK;
	/* The header is flushed before the first frame, so one commit is enough. */
	rc = read_at(log, head, sizeof(head), LOG_SUMS_HEADER_LEN);
	if (rc == SQLITE_OK)
		rc = see_rest(log, &rest, page_len + LOG_SUMS_FRAME_HEADER_LEN,
			      LOG_SUMS_HEADER_LEN + page_len + LOG_SUMS_FRAME_HEADER_LEN);
	if (rc == SQLITE_IOERR_SHORT_READ)
		return SQLITE_OK;
	return rc == SQLITE_OK && rest.later ? SQLITE_IOERR_DATA : rc;
}
