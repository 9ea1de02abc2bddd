/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks refuse each message that the other side would not send if it worked as intended:
 * numbers beyond their limits, lengths that do not add up, texts with a NUL. The contents, such as
 * names and lines, remain untrusted. Heads of answers are copied before they are read, because they
 * are not aligned in the stream.
 */
#include "reader/lang_message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/context/context.h"

enum {
	IS_STILL = 1,
	COVERS_CALLER = 2,
	HAS_FUNCTION = 4,
	HAS_NEAR_NAME = 8,
	FLAGS = 15,
	ERROR_MIN = -4095,
	N_TEXTS = 3,
};

#define USER_END (1ULL << 47)

/* The fixed part of an answer. The calls, the lines and the texts follow. */
struct head {
	uint32_t question;
	int32_t result;
	uint32_t flags, n_calls;
	uint32_t n_lines, first_line, bytecode;
	uint16_t version, doubt;
	uint32_t text_len[N_TEXTS], reserved; /* of name, file, near_name */
};

/* ---- requests ------------------------------------------------------------------------------- */

static bool are_valid(const struct vm_range ranges[VM_RANGES_MAX])
{
	for (size_t i = 0; i < VM_RANGES_MAX; i++)
		if (ranges[i].hi && ranges[i].hi < ranges[i].lo)
			return false;
	return true;
}

static bool is_valid_code(const struct vm_code *c)
{
	return c->fold <= 1 && c->generated <= VM_GENERATED_RANGES && are_valid(c->loop) &&
	       are_valid(c->entry) && are_valid(c->marked) && are_valid(c->stepped);
}

bool lang_vm_is_valid(const struct lang_vm *v)
{
	return v->vm && v->vm < VM_TABLE_MAX && v->file_vm && v->file_vm < VM_TABLE_MAX &&
	       lang_get(v->code.lang) && is_valid_code(&v->code);
}

const struct lang_regions_request *lang_regions_request_check(const void *data, size_t len)
{
	const struct lang_regions_request *q = data;

	return len == sizeof(*q) && lang_vm_is_valid(&q->vm) ? q : NULL;
}

const struct lang_vm *lang_ask_vms(const struct lang_ask_request *q)
{
	return (const struct lang_vm *)(q + 1);
}

const struct lang_question *lang_ask_questions(const struct lang_ask_request *q)
{
	return (const struct lang_question *)(lang_ask_vms(q) + q->n_vms);
}

static bool has_vm(const struct lang_ask_request *q, uint32_t vm)
{
	for (uint32_t i = 0; i < q->n_vms; i++)
		if (lang_ask_vms(q)[i].vm == vm)
			return true;
	return false;
}

const struct lang_ask_request *lang_ask_request_check(const void *data, size_t len)
{
	const struct lang_ask_request *q = data;

	if (len < sizeof(*q) || q->n_vms > LANG_VMS_MAX || q->n > LANG_QUESTIONS_MAX ||
	    len != sizeof(*q) + q->n_vms * sizeof(struct lang_vm) +
			    q->n * sizeof(struct lang_question))
		return NULL;
	for (uint32_t i = 0; i < q->n_vms; i++)
		if (!lang_vm_is_valid(&lang_ask_vms(q)[i]))
			return NULL;
	for (uint32_t i = 0; i < q->n; i++) {
		const struct lang_question *question = &lang_ask_questions(q)[i];

		if (question->kind != LANG_ASK_FUNCTION && question->kind != LANG_ASK_CALLS)
			return NULL;
		if (!has_vm(q, VM_FRAME_INDEX(question->words[0])))
			return NULL;
	}
	return q;
}

/* ---- replies -------------------------------------------------------------------------------- */

static bool is_text(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return len < size;
}

int lang_detection_check(const struct lang_detection *d)
{
	if (!is_text(d->runtime, sizeof(d->runtime)) || !is_text(d->version, sizeof(d->version)) ||
	    !is_text(d->problem, sizeof(d->problem)) || !is_valid_code(&d->code) ||
	    d->code.lang >= LANG_MAX || context_layout_check(&d->context) < 0)
		return -EBADMSG;
	return d->result == 0 || d->result == -ENOTSUP || d->result == -ENOENT ? 0 : -EBADMSG;
}

/* A region may not claim memory of files or of another language. */
static bool is_valid_region(const struct unwind_mapping *m, uint32_t lang)
{
	return m->start < m->end && m->end <= USER_END &&
	       (m->kind & 0xff) == (MAPPING_LANG & 0xff) && MAPPING_LANG_OF(m->kind) == lang &&
	       MAPPING_LANG_VM(m->file) == 0;
}

int lang_regions_check(const struct lang_regions *r, uint32_t lang)
{
	int n = r->result & ~LANG_ATTACH_PARTIAL;

	if (r->result <= 0)
		return r->result < 0 && r->result >= ERROR_MIN ? 0 : -EBADMSG;
	if (n > LANG_REGIONS_MAX)
		return -EBADMSG;
	for (int i = 0; i < n; i++)
		if (!is_valid_region(&r->regions[i], lang))
			return -EBADMSG;
	return 0;
}

/* ---- answers -------------------------------------------------------------------------------- */

static uint32_t text_len(const char *text)
{
	return text ? (uint32_t)strnlen(text, LANG_TEXT_MAX) : 0;
}

void lang_answer_put(struct buf *b, uint32_t question, const struct lang_answer *a)
{
	const struct lang_function *f = &a->function;
	const char *const texts[N_TEXTS] = { f->name, f->file, f->near_name };
	struct head h = { .question = question, .result = a->result };

	if (a->is_still)
		h.flags = IS_STILL;
	else if (a->result == 0 && f->name)
		h.flags = HAS_FUNCTION | (f->covers_caller ? COVERS_CALLER : 0) |
			  (f->near_name ? HAS_NEAR_NAME : 0);
	else if (a->result > 0)
		h.n_calls = (uint32_t)a->result;
	if (h.flags & HAS_FUNCTION) {
		h.n_lines = f->n_lines;
		h.first_line = f->first_line;
		h.bytecode = f->bytecode;
		h.version = f->version;
		h.doubt = f->doubt;
		for (size_t i = 0; i < N_TEXTS; i++)
			h.text_len[i] = text_len(texts[i]);
	}
	buf_put(b, &h, sizeof(h));
	buf_put(b, a->calls, h.n_calls * sizeof(a->calls[0]));
	buf_put(b, f->lines, h.n_lines);
	for (size_t i = 0; i < N_TEXTS; i++)
		buf_put(b, texts[i], h.text_len[i]);
}

/*
 * An answer is exactly one of these: a function, the statement that a function is still the same,
 * calls, or an error. Fields of the others must be 0.
 */
static bool is_valid_head(const struct head *h, uint32_t question, uint32_t kind)
{
	bool has_function = h->flags & HAS_FUNCTION;

	if (h->question != question || h->flags > FLAGS || h->n_calls > LANG_CALLS_MAX ||
	    h->n_lines > LANG_LINES_MAX || h->doubt > UINT8_MAX || h->result < ERROR_MIN)
		return false;
	for (size_t i = 0; i < N_TEXTS; i++)
		if (h->text_len[i] > (has_function ? LANG_TEXT_MAX : 0))
			return false;
	if (!has_function && (h->n_lines || h->flags & (COVERS_CALLER | HAS_NEAR_NAME)))
		return false;
	if (kind == LANG_ASK_CALLS)
		return !h->flags && h->n_calls == (h->result > 0 ? (uint32_t)h->result : 0);
	return h->result <= 0 && !h->n_calls &&
	       (h->flags & (HAS_FUNCTION | IS_STILL) ? h->result == 0 : h->result < 0);
}

/* Copies a text of @len bytes. Return: 0; -EBADMSG if it has a NUL; -ENOMEM. */
static int take_text(const uint8_t **at, size_t len, char **out)
{
	if (memchr(*at, 0, len))
		return -EBADMSG;
	*out = malloc(len + 1);
	if (!*out)
		return -ENOMEM;
	memcpy(*out, *at, len);
	(*out)[len] = 0;
	*at += len;
	return 0;
}

static int take_function(const uint8_t **at, const struct head *h, struct lang_function *out)
{
	char **const texts[N_TEXTS] = { &out->name, &out->file, &out->near_name };
	int r = 0;

	out->first_line = h->first_line;
	out->bytecode = h->bytecode;
	out->version = h->version;
	out->doubt = (uint8_t)h->doubt;
	out->covers_caller = h->flags & COVERS_CALLER;
	out->lines = h->n_lines ? malloc(h->n_lines) : NULL;
	if (h->n_lines && !out->lines)
		return -ENOMEM;
	if (h->n_lines)
		memcpy(out->lines, *at, h->n_lines);
	out->n_lines = h->n_lines;
	*at += h->n_lines;
	for (size_t i = 0; i < N_TEXTS - !(h->flags & HAS_NEAR_NAME) && r == 0; i++)
		r = take_text(at, h->text_len[i], texts[i]);
	return r;
}

int lang_answer_next(const uint8_t **data, size_t *len, uint32_t question, uint32_t kind,
		     struct lang_answer *out)
{
	const uint8_t *at = *data;
	struct head h;
	size_t need;
	int r = 0;

	out->function = (struct lang_function){ 0 };
	if (!*len)
		return 0;
	if (*len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, at, sizeof(h));
	if (!is_valid_head(&h, question, kind))
		return -EBADMSG;
	need = sizeof(h) + h.n_calls * sizeof(out->calls[0]) + h.n_lines + h.text_len[0] +
	       h.text_len[1] + h.text_len[2];
	if (*len < need)
		return -EBADMSG;
	at += sizeof(h);
	out->result = h.result;
	out->is_still = h.flags & IS_STILL;
	memcpy(out->calls, at, h.n_calls * sizeof(out->calls[0]));
	at += h.n_calls * sizeof(out->calls[0]);
	if (h.flags & HAS_FUNCTION)
		r = take_function(&at, &h, &out->function);
	if (r < 0) {
		lang_function_fini(&out->function);
		return r;
	}
	*data += need;
	*len -= need;
	return 1;
}

bool lang_side_file_is_valid(const struct lang_side_file *f)
{
	size_t len = strnlen(f->name, sizeof(f->name));

	if (len <= 4 || len == sizeof(f->name) || strcmp(f->name + len - 4, ".pdb"))
		return false;
	for (size_t i = 0; i < len; i++)
		if (f->name[i] == '/' || (unsigned char)f->name[i] < ' ' || f->name[i] == 0x7f)
			return false;
	return true;
}
