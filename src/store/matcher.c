/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions come from untrusted clients. PCRE2 therefore runs them with limits on match
 * steps and heap, and without its JIT compiler. A pattern such as (a+)+b needs time exponential in
 * the length of the value when it backtracks; MATCH_STEPS bounds that. The JIT is off because it
 * needs memory that is both writable and executable.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "store/matcher.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pcre2.h>

#include "base/err.h"

enum {
	MATCH_STEPS = 100000,
	MATCH_HEAP_KIB = 1024,
};

/*
 * code, limits and data are NULL unless op is a regular expression. data holds the state of one
 * match, the reason why a matcher belongs to one thread at a time.
 */
struct matcher {
	enum matcher_op op;
	char *name, *value;
	pcre2_code *code;
	pcre2_match_context *limits;
	pcre2_match_data *data;
	bool failed;
};

void matcher_free(struct matcher *m)
{
	if (!m)
		return;
	pcre2_match_data_free(m->data);
	pcre2_match_context_free(m->limits);
	pcre2_code_free(m->code);
	free(m->name);
	free(m->value);
	free(m);
}

/* Compiles the regular expression in UTF mode; invalid UTF-8 in values is tolerated. */
static int compile(struct matcher *m, struct err *err)
{
	PCRE2_SIZE at;
	int error;

	if (strlen(m->value) > MATCHER_MAX_PATTERN)
		return err_set(err, -EINVAL, "the regular expression is longer than %d bytes",
			       MATCHER_MAX_PATTERN);
	m->code = pcre2_compile((PCRE2_SPTR)m->value, PCRE2_ZERO_TERMINATED,
				PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF |
					PCRE2_MATCH_INVALID_UTF | PCRE2_DOTALL,
				&error, &at, NULL);
	if (!m->code) {
		PCRE2_UCHAR why[120] = "";

		pcre2_get_error_message(error, why, sizeof(why));
		return err_set(err, -EINVAL, "invalid regular expression at byte %zu: %s",
			       (size_t)at, (const char *)why);
	}
	m->limits = pcre2_match_context_create(NULL);
	m->data = pcre2_match_data_create_from_pattern(m->code, NULL);
	if (!m->limits || !m->data)
		return -ENOMEM;
	pcre2_set_match_limit(m->limits, MATCH_STEPS);
	pcre2_set_heap_limit(m->limits, MATCH_HEAP_KIB);
	return 0;
}

int matcher_new(struct matcher **out, enum matcher_op op, const char *name, const char *value,
		struct err *err)
{
	_cleanup_(matcher_freep) struct matcher *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	m->op = op;
	m->name = strdup(name);
	m->value = strdup(value);
	if (!m->name || !m->value)
		return -ENOMEM;
	if (op == MATCHER_RE || op == MATCHER_NOT_RE) {
		r = compile(m, err);
		if (r < 0)
			return r;
	}
	*out = steal_ptr(&m);
	return 0;
}

const char *matcher_name(const struct matcher *m)
{
	return m->name;
}

enum matcher_op matcher_op(const struct matcher *m)
{
	return m->op;
}

const char *matcher_value(const struct matcher *m)
{
	return m->value;
}

bool matcher_failed(const struct matcher *m)
{
	return m->failed;
}

bool matcher_test(struct matcher *m, const char *value, size_t len)
{
	int r;

	if (m->op == MATCHER_EQ || m->op == MATCHER_NE) {
		bool same = strlen(m->value) == len && !memcmp(m->value, value, len);

		return same == (m->op == MATCHER_EQ);
	}
	if (m->failed)
		return false;
	r = pcre2_match(m->code, (PCRE2_SPTR)value, len, 0, 0, m->data, m->limits);
	m->failed = r < 0 && r != PCRE2_ERROR_NOMATCH;
	if (m->failed)
		return false;
	return (r >= 0) == (m->op == MATCHER_RE);
}
