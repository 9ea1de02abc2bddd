/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the methods of the classes in a script. V8 does not store the class of a method, and
 * its parser infers names only for functions that are assigned, so the source text is read. The
 * scanner splits it into tokens only as far as required to distinguish braces from those within
 * strings, templates, comments and regular expressions. A parenthesis directly in the body of a
 * class starts the parameters of a method; this is also V8's start position of the function.
 *
 * This is not a parser: malformed text produces methods that do not exist, or none, but never
 * an error.
 */
#include "lang/v8/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/vec.h"

enum {
	NESTING_MAX = 4096,
	METHODS_MAX = 1 << 18,
	SEARCHES = 16, /* limit of searches for a regular expression, in lengths of the text */
};

enum brace { BRACE_OTHER, BRACE_CLASS, BRACE_TEMPLATE, BRACE_PARENTHESIS };

/* the kind of the previous token, which decides whether a slash is a division */
enum previous { PREVIOUS_OPERATOR, PREVIOUS_OPERAND };

struct name {
	uint32_t at, len;
};

struct scanner {
	const uint8_t *text;
	uint32_t n, width, at;
	enum previous previous;
	struct name word;     /* the previous one */
	struct name assigned; /* the left side of the current assignment */
	uint64_t n_searched;  /* characters in which no regular expression ended */
	struct {
		uint8_t kind; /* enum brace */
		bool pending; /* a class was named at this depth, and its body follows */
		struct name class;
	} nesting[NESTING_MAX + 1];
	uint32_t depth;
	struct {
		VEC(struct v8_method);
	} methods;
};

static uint32_t char_at(const struct scanner *s, uint32_t at)
{
	uint16_t wide;

	if (at >= s->n)
		return 0;
	if (s->width == 1)
		return s->text[at];
	memcpy(&wide, s->text + 2ULL * at, sizeof(wide));
	return wide;
}

static bool is_word_char(uint32_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '#' || c >= 0x80;
}

static bool word_is(const struct scanner *s, struct name w, const char *text)
{
	uint32_t n = (uint32_t)strlen(text);

	if (w.len != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (char_at(s, w.at + i) != (uint8_t)text[i])
			return false;
	return true;
}

/* ---- tokens without structure ---------------------------------------------------- */

static void skip_line(struct scanner *s)
{
	while (s->at < s->n && char_at(s, s->at) != '\n')
		s->at++;
}

static void skip_comment(struct scanner *s)
{
	while (s->at < s->n && !(char_at(s, s->at) == '*' && char_at(s, s->at + 1) == '/'))
		s->at++;
	s->at += 2;
}

static void skip_string(struct scanner *s, uint32_t quote)
{
	for (; s->at < s->n && char_at(s, s->at) != quote && char_at(s, s->at) != '\n'; s->at++)
		if (char_at(s, s->at) == '\\')
			s->at++;
	s->at++;
	s->previous = PREVIOUS_OPERAND;
}

/* Skips to the end of the template, or into an expression within it. */
static void skip_template(struct scanner *s)
{
	for (; s->at < s->n && char_at(s, s->at) != '`'; s->at++) {
		if (char_at(s, s->at) == '\\') {
			s->at++;
		} else if (char_at(s, s->at) == '$' && char_at(s, s->at + 1) == '{') {
			s->at += 2;
			s->previous = PREVIOUS_OPERATOR;
			if (s->depth < NESTING_MAX)
				s->nesting[s->depth].kind = BRACE_TEMPLATE;
			s->depth++;
			return;
		}
	}
	s->at++;
	s->previous = PREVIOUS_OPERAND;
}

/*
 * Skips a regular expression. One that does not end on its line was a division. The sum of such
 * searches is limited, since a hostile text can be one line of slashes.
 */
static void skip_regexp(struct scanner *s)
{
	bool in_class = false;
	uint32_t i = s->at;

	if (s->n_searched > SEARCHES * (uint64_t)s->n)
		return;
	for (; i < s->n && char_at(s, i) != '\n'; i++) {
		uint32_t c = char_at(s, i);

		if (c == '\\')
			i++;
		else if (c == '[')
			in_class = true;
		else if (c == ']')
			in_class = false;
		else if (c == '/' && !in_class)
			break;
	}
	if (char_at(s, i) != '/') {
		s->n_searched += i - s->at;
		return;
	}
	s->at = i + 1;
	s->previous = PREVIOUS_OPERAND;
}

static void skip_slash(struct scanner *s)
{
	uint32_t next = char_at(s, s->at);

	if (next == '/') {
		skip_line(s);
	} else if (next == '*') {
		s->at++;
		skip_comment(s);
	} else if (s->previous != PREVIOUS_OPERAND) {
		skip_regexp(s);
	} else {
		s->previous = PREVIOUS_OPERATOR;
	}
}

/* ---- structure --------------------------------------------------------------------- */

static void open_brace(struct scanner *s, enum brace kind)
{
	if (s->depth < NESTING_MAX) {
		if (kind == BRACE_OTHER && s->nesting[s->depth].pending)
			kind = BRACE_CLASS;
		if (kind == BRACE_CLASS)
			s->nesting[s->depth].pending = false;
		s->nesting[s->depth].kind = (uint8_t)kind;
		s->nesting[s->depth + 1].pending = false;
	}
	s->depth++;
	s->previous = PREVIOUS_OPERATOR;
}

static void close_brace(struct scanner *s, bool parenthesis)
{
	s->previous = parenthesis ? PREVIOUS_OPERAND : PREVIOUS_OPERATOR;
	if (!s->depth)
		return;
	s->depth--;
	if (s->depth < NESTING_MAX && s->nesting[s->depth].kind == BRACE_TEMPLATE && !parenthesis)
		skip_template(s);
}

/* Records a method if the parenthesis at @at is directly in the body of a class. */
static int open_parenthesis(struct scanner *s, uint32_t at)
{
	int r = 0;

	if (s->depth && s->depth <= NESTING_MAX && s->nesting[s->depth - 1].kind == BRACE_CLASS &&
	    s->methods.len < METHODS_MAX) {
		struct name class = s->nesting[s->depth - 1].class;

		if (class.len)
			r = vec_push(&s->methods, ((struct v8_method){ at, class.at, class.len }));
	}
	open_brace(s, BRACE_PARENTHESIS);
	return r;
}

/* Determines the name of a class: the word after it, or the name that it is assigned to. */
static void begin_class(struct scanner *s)
{
	struct name name = s->assigned;
	uint32_t at = s->at;

	while (char_at(s, at) == ' ' || char_at(s, at) == '\n' || char_at(s, at) == '\t' ||
	       char_at(s, at) == '\r')
		at++;
	if (!is_word_char(char_at(s, at)) && char_at(s, at) != '{')
		return; /* It is a property or an object's key that is called "class". */
	if (is_word_char(char_at(s, at))) {
		struct name next = { at, 0 };

		while (is_word_char(char_at(s, at + next.len)))
			next.len++;
		if (!word_is(s, next, "extends"))
			name = next;
	}
	if (s->depth < NESTING_MAX) {
		s->nesting[s->depth].pending = true;
		s->nesting[s->depth].class = name;
	}
}

static void read_word(struct scanner *s)
{
	static const char *const operators[] = { "return", "typeof", "case",  "in",        "of",
						 "delete", "void",   "throw", "new",       "else",
						 "do",     "yield",  "await", "instanceof" };
	struct name w = { s->at, 0 };
	bool property = s->at && char_at(s, s->at - 1) == '.';

	while (is_word_char(char_at(s, s->at)) && s->at < s->n)
		s->at++;
	w.len = s->at - w.at;
	if (word_is(s, w, "class") && !property)
		begin_class(s);
	s->word = w;
	s->assigned = (struct name){ 0 };
	s->previous = PREVIOUS_OPERAND;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]) && !property; i++)
		if (word_is(s, w, operators[i]))
			s->previous = PREVIOUS_OPERATOR;
}

/* Returns whether the = before s->at is not part of a comparison or an arrow. */
static bool is_assignment(const struct scanner *s)
{
	uint32_t next = char_at(s, s->at), last = s->at > 1 ? char_at(s, s->at - 2) : 0;

	return next != '=' && next != '>' && last != '=' && last != '!' && last != '<' &&
	       last != '>';
}

static int read_punctuator(struct scanner *s, uint32_t c)
{
	switch (c) {
	case '{':
		open_brace(s, BRACE_OTHER);
		return 0;
	case '[':
		open_brace(s, BRACE_PARENTHESIS);
		return 0;
	case '(':
		return open_parenthesis(s, s->at - 1);
	case '}':
		close_brace(s, false);
		return 0;
	case ')':
	case ']':
		close_brace(s, true);
		return 0;
	case '=':
		s->assigned = is_assignment(s) ? s->word : (struct name){ 0 };
		s->previous = PREVIOUS_OPERATOR;
		return 0;
	case '+':
	case '-':
		/* x++ is an operand, so that a slash after it is a division. */
		s->previous = s->at > 1 && char_at(s, s->at - 2) == c ? PREVIOUS_OPERAND
								      : PREVIOUS_OPERATOR;
		return 0;
	default:
		s->assigned = (struct name){ 0 };
		s->previous = PREVIOUS_OPERATOR;
		return 0;
	}
}

static int read_token(struct scanner *s)
{
	uint32_t c = char_at(s, s->at);

	if (is_word_char(c)) {
		read_word(s);
		return 0;
	}
	s->at++;
	if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
		return 0;
	if (c == '/')
		skip_slash(s);
	else if (c == '"' || c == '\'')
		skip_string(s, c);
	else if (c == '`')
		skip_template(s);
	else
		return read_punctuator(s, c);
	return 0;
}

int v8_find_methods(const void *text, uint32_t n, uint32_t width, struct v8_method **out,
		    size_t *out_n)
{
	struct scanner *s = calloc(1, sizeof(*s));
	int r = s ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	s->text = text;
	s->n = n;
	s->width = width;
	while (s->at < s->n && r == 0)
		r = read_token(s);
	if (r < 0) {
		vec_fini(&s->methods);
	} else {
		*out = s->methods.data;
		*out_n = s->methods.len;
	}
	free(s);
	return r;
}

bool v8_class_at(const struct v8_method *methods, size_t n, uint32_t place, struct v8_method *out)
{
	size_t at = bisect(n, i, methods[i].at < place);

	if (at == n || methods[at].at != place)
		return false;
	*out = methods[at];
	return true;
}
