/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the readers of functions of PHP, Perl, Ruby and Lua on synthetic memory: each reads a
 * function from the structures of its interpreter, and corrupt memory is read within bounds.
 *
 * covers: src/lang/perl/code.c
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lua/lua.h"
#include "lang/perl/perl.h"
#include "lang/php/php.h"
#include "lang/ruby/ruby.h"
#include "memory.h"
#include "tests/test.h"

extern const struct lang php_lang, perl_lang, ruby_lang, lua_lang;

enum { VM = 1 };

struct world {
	struct memory m;
	struct php_vm php[2];
	struct perl_vm perl[2];
	struct ruby_vm ruby[2];
	struct lua_vm lua[2];
	struct lang_function f;
};

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	memory_init(&w->m, 11);
	w->m.tables.php = w->php;
	w->m.tables.perl = w->perl;
	w->m.tables.ruby = w->ruby;
	w->m.tables.lua = w->lua;
	assert_int_equal(php_offsets(&w->php[VM], 8, 2), 0);
	w->perl[VM] = (struct perl_vm){ .interpreter = 0x5000, .version = 36 };
	w->ruby[VM].version = 303;
}

static void forget(struct world *w)
{
	free(w->f.name);
	free(w->f.file);
	free(w->f.lines);
	free(w->f.near_name);
	w->f = (struct lang_function){ 0 };
}

static int read_as(struct world *w, const struct lang *lang, uint64_t addr, uint32_t place,
		   uint32_t cookie)
{
	forget(w);
	w->f.place = place;
	return lang->read(&w->m.tables, VM, &w->m.process, addr, cookie, &w->f);
}

static uint64_t add(struct world *w, size_t len)
{
	return memory_add(&w->m, NULL, len);
}

static void put(struct world *w, uint64_t at, uint64_t word)
{
	memory_put(&w->m, at, word);
}

/* ---- PHP ---- */

static uint64_t php_string(struct world *w, const char *text)
{
	uint64_t at = add(w, 24 + strlen(text) + 1);

	put(w, at + 16, strlen(text));
	memcpy(memory_at(&w->m, at + 24), text, strlen(text));
	return at;
}

static uint64_t php_function(struct world *w, uint8_t type, const char *class, const char *name)
{
	uint64_t at = add(w, 200), scope;

	*(uint8_t *)memory_at(&w->m, at) = type;
	if (name)
		put(w, at + PHP_FUNC_NAME, php_string(w, name));
	if (class) {
		scope = add(w, 16);
		put(w, at + PHP_FUNC_SCOPE, scope);
		put(w, scope + 8, php_string(w, class));
	}
	put(w, at + w->php[VM].func_filename, php_string(w, "/srv/index.php"));
	put(w, at + w->php[VM].func_filename + 8, 17);
	return at;
}

static void php_functions_have_class_file_and_line(void **state)
{
	static struct world w;

	world_init(&w);
	assert_int_equal(read_as(&w, &php_lang, php_function(&w, 2, "Thing", "act"), 20, 0), 0);
	assert_string_equal(w.f.name, "Thing::act");
	assert_string_equal(w.f.file, "/srv/index.php");
	assert_int_equal(w.f.first_line, 17);
	assert_int_equal(php_lang.line(&w.f, 20), 20);
	assert_int_equal(read_as(&w, &php_lang, php_function(&w, 2, NULL, NULL), 0, 0), 0);
	assert_string_equal(w.f.name, "<index.php>");
	assert_int_equal(read_as(&w, &php_lang, php_function(&w, 1, NULL, "usort"), 0, 0), 0);
	assert_string_equal(w.f.name, "usort");
	assert_string_equal(w.f.file, "");
	forget(&w);
}

static void php_functions_are_identified_by_their_cookies(void **state)
{
	static struct world w;
	uint64_t at, name;
	uint32_t cookie;

	world_init(&w);
	at = php_function(&w, 1, NULL, "usort");
	assert_int_equal(read_as(&w, &php_lang, at, 0, 12345), -ESTALE);
	memcpy(&name, memory_at(&w.m, at + PHP_FUNC_NAME), sizeof(name));
	cookie = lang_cookie(PHP_HEAD_BYTES(name, UINT64_C(0)));
	assert_int_equal(read_as(&w, &php_lang, at, 0, cookie), 0);
	put(&w, at + PHP_FUNC_SCOPE, 0x7000); /* the same name, but a method */
	assert_int_equal(read_as(&w, &php_lang, at, 0, cookie), -ESTALE);
	*(uint8_t *)memory_at(&w.m, at) = 9; /* not a type of function */
	assert_int_equal(read_as(&w, &php_lang, at, 0, 0), -ESTALE);
	assert_int_equal(read_as(&w, &php_lang, 0x123456789000, 0, 0), -EFAULT);
	forget(&w);
}

/* ---- Perl ---- */

static uint64_t perl_hek(struct world *w, const char *text)
{
	uint64_t at = add(w, 8 + strlen(text) + 1);

	*(uint32_t *)memory_at(&w->m, at + 4) = (uint32_t)strlen(text);
	memcpy(memory_at(&w->m, at + 8), text, strlen(text));
	return at;
}

static uint64_t perl_package(struct world *w, const char *name)
{
	uint64_t stash = add(w, 24), body = add(w, 80);

	put(w, stash, body);
	put(w, body + 32, perl_hek(w, name));
	return stash;
}

/* Adds a CV that has a name instead of a glob. */
static uint64_t perl_sub(struct world *w, uint64_t *out_body)
{
	uint64_t cv = add(w, 24), body = add(w, 120);

	put(w, cv, body);
	put(w, body + 32, perl_package(w, "Some::Thing"));
	put(w, body + PERL_CV_NAME, perl_hek(w, "act"));
	put(w, body + PERL_CV_FILE, memory_add(&w->m, "lib/Thing.pm", 13));
	*(uint32_t *)memory_at(&w->m, body + 92) = 0x8000;
	*out_body = body;
	return cv;
}

static void perl_subs_have_package_and_file(void **state)
{
	static struct world w;
	uint64_t body, cv;

	world_init(&w);
	cv = perl_sub(&w, &body);
	assert_int_equal(read_as(&w, &perl_lang, cv, 7, 0), 0);
	assert_string_equal(w.f.name, "Some::Thing::act");
	assert_string_equal(w.f.file, "lib/Thing.pm");
	assert_int_equal(perl_lang.line(&w.f, 7), 7);
	assert_int_equal(read_as(&w, &perl_lang, cv, 7, 99), -ESTALE);
	assert_int_equal(read_as(&w, &perl_lang, cv | PERL_BEGIN, 7, 0), 0);
	assert_string_equal(w.f.name, "Some::Thing::act");
	/* a BEGIN block is freed once it has run */
	assert_int_equal(read_as(&w, &perl_lang, cv | PERL_BEGIN, 7, 99), 0);
	assert_string_equal(w.f.name, "BEGIN");
	forget(&w);
}

static void a_perl_sub_without_a_package_has_its_name(void **state)
{
	static struct world w;
	uint64_t body, cv;

	world_init(&w);
	cv = perl_sub(&w, &body);
	put(&w, body + 32, 0x123456789000);
	assert_int_equal(read_as(&w, &perl_lang, cv, 7, 0), 0);
	assert_string_equal(w.f.name, "act");
	forget(&w);
}

static void perl_code_outside_of_subs_is_named_by_its_file(void **state)
{
	static const char file[24] = "bin/job.pl";
	static struct world w;
	uint64_t cop;

	world_init(&w);
	cop = add(&w, 80);
	put(&w, cop + PERL_COP_FILE, memory_add(&w.m, file, sizeof(file)));
	assert_int_equal(read_as(&w, &perl_lang, cop | PERL_FILE, 7, 0), 0);
	assert_string_equal(w.f.name, "<job.pl>");
	assert_int_equal(read_as(&w, &perl_lang, cop | PERL_REGEX, 7, 0), 0);
	assert_string_equal(w.f.name, "{regex code}");
	assert_int_equal(read_as(&w, &perl_lang, cop | PERL_SORT, 7, 0), 0);
	assert_string_equal(w.f.name, "{sort block}");
	forget(&w);
}

static void all_evaluated_perl_code_has_one_name(void **state)
{
	static const char file[24] = "(eval 2681)";
	static struct world w;
	uint64_t cop, text[2] = { 0 };

	world_init(&w);
	cop = add(&w, 80);
	put(&w, cop + PERL_COP_FILE, memory_add(&w.m, file, sizeof(file)));
	/* the sample recorded the first eval(), whose file name has been freed */
	memcpy(text, "(eval 1)", sizeof("(eval 1)"));
	assert_int_equal(read_as(&w, &perl_lang, cop | PERL_FILE, 7,
				 lang_cookie(PERL_FILE_BYTES(PERL_FILE, 1, text[0], text[1]))),
			 0);
	assert_string_equal(w.f.name, "<(eval)>");
	assert_string_equal(w.f.file, "(eval)");
	forget(&w);
}

/* Memory that the process reuses once a file name of ten bytes has been read. */
struct reused {
	struct world w;
	int (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
	uint64_t file;
	unsigned int n_bytes;
};

static int read_reused(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct reused *u = ctx;
	int r = u->read(&u->w.m, addr, dst, len);

	u->n_bytes += len == 1;
	if (u->n_bytes == 10)
		memcpy(memory_at(&u->w.m, u->file), "else", 4);
	return r;
}

static void perl_code_freed_while_it_is_read_is_stale(void **state)
{
	static const char file[24] = "bin/job.pl";
	static struct reused u;
	uint64_t cop, text[2];

	world_init(&u.w);
	cop = add(&u.w, 80);
	u.file = memory_add(&u.w.m, file, sizeof(file));
	put(&u.w, cop + PERL_COP_FILE, u.file);
	memcpy(text, file, sizeof(text));
	u.read = u.w.m.process.read;
	u.w.m.process.read = read_reused;
	u.w.m.process.ctx = &u;
	assert_int_equal(read_as(&u.w, &perl_lang, cop | PERL_FILE, 7,
				 lang_cookie(PERL_FILE_BYTES(PERL_FILE, u.file, text[0], text[1]))),
			 -ESTALE);
	forget(&u.w);
}

static void without_threads_a_perl_file_is_a_glob(void **state)
{
	static struct world w;
	uint64_t cop, glob, body;

	world_init(&w);
	w.perl[VM].interpreter = 0;
	cop = add(&w, 80);
	glob = add(&w, 24);
	body = add(&w, 56);
	put(&w, cop + PERL_COP_FILE, glob);
	put(&w, glob, body);
	put(&w, body + PERL_GLOB_NAME, perl_hek(&w, "_<bin/nightly.pl........"));
	assert_int_equal(read_as(&w, &perl_lang, cop | PERL_FILE, 7, 0), 0);
	assert_string_equal(w.f.name, "<nightly.pl........>");
	put(&w, glob, 0x123456789000);
	assert_int_equal(read_as(&w, &perl_lang, cop | PERL_FILE, 7, 0), -ESTALE);
	forget(&w);
}

/* ---- Ruby ---- */

static uint64_t ruby_object(struct world *w, uint64_t flags, size_t len)
{
	uint64_t at = add(w, len);

	put(w, at, flags);
	return at;
}

static uint64_t word_at(struct world *w, uint64_t at)
{
	uint64_t v;

	memcpy(&v, memory_at(&w->m, at), sizeof(v));
	return v;
}

static uint64_t ruby_string(struct world *w, const char *text)
{
	uint64_t at = ruby_object(w, RUBY_T_STRING, 24 + strlen(text) + 1);

	put(w, at + 16, strlen(text));
	memcpy(memory_at(&w->m, at + 24), text, strlen(text));
	return at;
}

/* Adds the class Object, from which the layout of classes is derived. */
static void ruby_classes(struct world *w)
{
	uint64_t object = ruby_object(w, RUBY_T_CLASS, 400);
	uint64_t singleton = ruby_object(w, RUBY_T_CLASS, 400);

	w->ruby[VM].object_class = add(w, 8);
	put(w, w->ruby[VM].object_class, object);
	put(w, object + 8, singleton);
	put(w, object + 48, ruby_string(w, "Object"));
	put(w, singleton + 64, object);
}

static uint64_t ruby_iseq(struct world *w, const char *label)
{
	uint64_t iseq = ruby_object(w, RUBY_T_IMEMO | RUBY_IMEMO_ISEQ << 12, 32);
	uint64_t body = add(w, 200);

	put(w, iseq + 16, body);
	put(w, body + 8, add(w, 64)); /* code */
	put(w, body + 64, ruby_string(w, "/srv/app.rb"));
	put(w, body + 80, ruby_string(w, label));
	put(w, body + 88, 30);
	return iseq;
}

/* Adds a method of @class, for use in a cookie and a place. */
static uint64_t ruby_method(struct world *w, uint64_t class)
{
	uint64_t method = ruby_object(w, RUBY_T_IMEMO | RUBY_IMEMO_METHOD << 12, 48);

	put(w, method + 32, class);
	return method;
}

static uint64_t ruby_thing(struct world *w)
{
	uint64_t class = ruby_object(w, RUBY_T_CLASS, 400);

	put(w, class + 48, ruby_string(w, "Thing"));
	return class;
}

static const char *ruby_name(struct world *w, const char *label, uint64_t method)
{
	assert_int_equal(read_as(w, &ruby_lang, ruby_iseq(w, label), 0, (uint32_t)(method >> 3)),
			 0);
	return w->f.name;
}

static void ruby_methods_and_their_blocks_have_a_class(void **state)
{
	static struct world w;
	uint64_t method;

	world_init(&w);
	ruby_classes(&w);
	method = ruby_method(&w, ruby_thing(&w));
	assert_string_equal(ruby_name(&w, "act", method), "Thing#act");
	assert_string_equal(w.f.file, "/srv/app.rb");
	assert_int_equal(w.f.first_line, 30);
	assert_string_equal(ruby_name(&w, "block in act", method), "block in Thing#act");
	assert_string_equal(ruby_name(&w, "rescue in act", method), "rescue in Thing#act");
	assert_false(w.f.covers_caller);
	assert_string_equal(ruby_name(&w, "<=>", method), "Thing#<=>");
	assert_string_equal(ruby_name(&w, "<main>", method), "<main>");
	forget(&w);
}

static void ruby_singleton_classes_are_named_after_their_object(void **state)
{
	static struct world w;
	uint64_t singleton;

	world_init(&w);
	ruby_classes(&w);
	singleton = ruby_object(&w, RUBY_T_CLASS, 400);
	put(&w, singleton + 64, ruby_thing(&w));
	assert_string_equal(ruby_name(&w, "made", ruby_method(&w, singleton)), "Thing.made");
	/* the singleton class of an object has no name, even next to a field that holds one */
	put(&w, singleton + 64, ruby_object(&w, 1, 40));
	put(&w, singleton + 80, ruby_thing(&w));
	assert_string_equal(ruby_name(&w, "made", ruby_method(&w, singleton)), "made");
	forget(&w);
}

static void ruby_34_names_rescue_and_eval_after_their_method(void **state)
{
	static struct world w;
	uint64_t method, iseq, around;

	world_init(&w);
	w.ruby[VM].version = 304;
	ruby_classes(&w);
	method = ruby_method(&w, ruby_thing(&w));
	assert_string_equal(ruby_name(&w, "rescue in rescue in act", method), "Thing#act");
	assert_true(w.f.covers_caller);
	iseq = ruby_iseq(&w, "block in <compiled>");
	around = ruby_iseq(&w, "act");
	put(&w, word_at(&w, iseq + 16) + 160, around);
	assert_int_equal(read_as(&w, &ruby_lang, iseq, 0, (uint32_t)(method >> 3)), 0);
	assert_string_equal(w.f.name, "block in Thing#act");
	put(&w, word_at(&w, iseq + 16) + 160, iseq); /* its parent is itself */
	assert_int_equal(read_as(&w, &ruby_lang, iseq, 0, (uint32_t)(method >> 3)), 0);
	assert_false(w.f.covers_caller);
	forget(&w);
}

static void ruby_collects_garbage_in_phases(void **state)
{
	static struct world w;

	world_init(&w);
	assert_int_equal(read_as(&w, &ruby_lang, RUBY_GC, 0, 1), 0);
	assert_string_equal(w.f.name, "(garbage collection)");
	assert_int_equal(read_as(&w, &ruby_lang, RUBY_GC | 2 << RUBY_KIND_BITS, 0, 1), 0);
	assert_string_equal(w.f.name, "(garbage collection: sweeping)");
	assert_true(ruby_lang.is_still(&w.m.process, RUBY_GC, &w.f, 9));
	forget(&w);
}

static void an_iseq_with_other_code_is_another(void **state)
{
	static struct world w;
	uint64_t iseq, body, code;

	world_init(&w);
	iseq = ruby_iseq(&w, "act");
	body = word_at(&w, iseq + 16);
	code = word_at(&w, body + 8);
	assert_int_equal(read_as(&w, &ruby_lang, iseq, (uint32_t)(code >> 3) & 0xfffff, 0), 0);
	assert_true(ruby_lang.is_still(&w.m.process, iseq, &w.f, (uint32_t)(code >> 3)));
	assert_true(ruby_lang.is_still(&w.m.process, iseq, &w.f, 77));
	put(&w, body + 8, code + 4096);
	assert_false(ruby_lang.is_still(&w.m.process, iseq, &w.f, (uint32_t)(code >> 3) + 512));
	assert_true(ruby_lang.is_still(&w.m.process, 0x10, &w.f, 77)); /* unreadable */
	forget(&w);
}

static void an_object_that_is_not_an_iseq_is_stale(void **state)
{
	static struct world w;

	world_init(&w);
	assert_int_equal(read_as(&w, &ruby_lang, ruby_string(&w, "x"), 0, 0), -ESTALE);
	assert_int_equal(read_as(&w, &ruby_lang, ruby_string(&w, "x") | RUBY_CFUNC, 0, 0), -ESTALE);
	forget(&w);
}

/* ---- all languages ---- */

static const struct lang *const all[] = { &php_lang, &perl_lang, &ruby_lang, &lua_lang };

/* Memory whose pointers refer to itself, so that structures form cycles. */
static void memory_that_points_into_itself_is_read_with_bounds(void **state)
{
	static struct world w;

	world_init(&w);
	srandom(13);
	for (size_t turn = 0; turn < 200; turn++) {
		w.m.len = 4096;
		for (size_t at = 0; at < w.m.len; at += 8) {
			uint64_t pointer = MEMORY_AT + ((uint64_t)random() & 0xff8);
			uint64_t word = turn % 3 == 0  ? pointer
					: random() & 1 ? pointer
						       : (uint64_t)random() % 0x3010;

			memcpy(w.m.bytes + at, &word, sizeof(word));
		}
		for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
			uint64_t at = MEMORY_AT + ((uint64_t)random() & 0xfff);
			int r;

			w.ruby[VM].version = (uint16_t[]){ 207, 301, 302, 304 }[turn % 4];
			w.perl[VM].aux_is_behind_array = turn & 1;
			w.perl[VM].interpreter = turn & 2;
			r = read_as(&w, all[i], at, (uint32_t)random(), 0);
			assert_true(r <= 0);
			assert_true(r < 0 || (w.f.name && w.f.file));
			(void)all[i]->line(&w.f, (uint32_t)random());
		}
	}
	forget(&w);
}

/* clang-format off */
TEST_GROUP(test_readers,
	   TEST(php_functions_have_class_file_and_line),
	   TEST(php_functions_are_identified_by_their_cookies),
	   TEST(perl_subs_have_package_and_file),
	   TEST(a_perl_sub_without_a_package_has_its_name),
	   TEST(perl_code_outside_of_subs_is_named_by_its_file),
	   TEST(all_evaluated_perl_code_has_one_name),
	   TEST(perl_code_freed_while_it_is_read_is_stale),
	   TEST(without_threads_a_perl_file_is_a_glob),
	   TEST(ruby_methods_and_their_blocks_have_a_class),
	   TEST(ruby_singleton_classes_are_named_after_their_object),
	   TEST(ruby_34_names_rescue_and_eval_after_their_method),
	   TEST(ruby_collects_garbage_in_phases),
	   TEST(an_iseq_with_other_code_is_another),
	   TEST(an_object_that_is_not_an_iseq_is_stale),
	   TEST(memory_that_points_into_itself_is_read_with_bounds))
