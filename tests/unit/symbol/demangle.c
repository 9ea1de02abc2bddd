/* SPDX-License-Identifier: Apache-2.0 */
#include "symbol/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

static void check(const char *raw, enum demangle_mode mode, enum demangle_scheme scheme,
		  const char *want)
{
	char *got = demangle_name(raw, mode, scheme);

	if (want) {
		assert_non_null(got);
		assert_string_equal(got, want);
	} else {
		assert_null(got);
	}
	free(got);
}

static void demangles_cxx(void **state)
{
	check("_ZNSt6vectorIiSaIiEE9push_backERKi", DEMANGLE_FULL, DEMANGLE_BY_PREFIX,
	      "std::vector<int, std::allocator<int> >::push_back(int const&)");
	check("_ZNSt6vectorIiSaIiEE9push_backERKi", DEMANGLE_SHORT, DEMANGLE_BY_PREFIX,
	      "std::vector::push_back");
	check("_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", DEMANGLE_SHORT,
	      DEMANGLE_BY_PREFIX, "std::operator<<");
	check("_ZZ4mainENKUlvE_clEv", DEMANGLE_FULL, DEMANGLE_BY_PREFIX,
	      "main::{lambda()#1}::operator()() const");
	check("_ZZ4mainENKUlvE_clEv", DEMANGLE_SHORT, DEMANGLE_BY_PREFIX,
	      "main::{lambda#1}::operator()");
	check("_ZN12_GLOBAL__N_11fEi", DEMANGLE_SHORT, DEMANGLE_BY_PREFIX,
	      "(anonymous namespace)::f");
	check("_ZN1AptEv", DEMANGLE_SHORT, DEMANGLE_BY_PREFIX, "A::operator->");
}

static void keeps_clone_and_plt_suffixes(void **state)
{
	check("_Z1fi@plt", DEMANGLE_FULL, DEMANGLE_BY_PREFIX, "f(int)@plt");
	check("_Z1fi@plt", DEMANGLE_SHORT, DEMANGLE_BY_PREFIX, "f@plt");
	check("_Z1fi.constprop.0", DEMANGLE_FULL, DEMANGLE_BY_PREFIX,
	      "f(int) [clone .constprop.0]");
	check("_Z1fi.llvm.1234567", DEMANGLE_FULL, DEMANGLE_BY_PREFIX, "f(int)");
}

static void demangles_both_rust_schemes(void **state)
{
	check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", DEMANGLE_FULL, DEMANGLE_BY_PREFIX,
	      "core::fmt::Formatter::pad");
	/* a hash of few different digits */
	check("_ZN3std6thread6Thread4join17hddd6ee66166e6e1dE", DEMANGLE_FULL, DEMANGLE_BY_PREFIX,
	      "std::thread::Thread::join");
	check("_RNvNtCs1234_7mycrate3foo3bar", DEMANGLE_FULL, DEMANGLE_BY_PREFIX,
	      "mycrate::foo::bar");
	check("_RINvNtC3std3mem4dropiE", DEMANGLE_FULL, DEMANGLE_BY_PREFIX,
	      "std::mem::drop::<isize>");
	check("_RINvNtC3std3mem4dropiE", DEMANGLE_SHORT, DEMANGLE_BY_PREFIX, "std::mem::drop");
	check("_ZN60_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$4drop"
	      "17h0123456789abcdefE",
	      DEMANGLE_SHORT, DEMANGLE_BY_PREFIX, "<alloc::vec::Vec as core::ops::Drop>::drop");
}

/* Bb_ refers back to the type u8. An "u" and a digit inside of an identifier are not punycode. */
static void demangles_rust_with_many_references_unless_it_has_punycode(void **state)
{
	char plain[128] = "_RINvC4lu5x1fTh", punycode[128] = "_RINvCu4x_y1fTh";
	char want[256] = "lu5x::f::<(u8";

	for (int i = 0; i < 25; i++) {
		strcat(plain, "Bb_");
		strcat(punycode, "Bb_");
		strcat(want, ", u8");
	}
	strcat(want, ")>");
	check(strcat(plain, "EE"), DEMANGLE_FULL, DEMANGLE_BY_PREFIX, want);
	check(strcat(punycode, "EE"), DEMANGLE_FULL, DEMANGLE_BY_PREFIX, NULL);
}

static void demangles_rust_constants_of_128_bits(void **state)
{
	check("_RINvC1a1fKnn80000000000000000000000000000000_Ko123456789abcdef01_E", DEMANGLE_FULL,
	      false, "a::f::<-0x80000000000000000000000000000000, 0x123456789abcdef01>");
	check("_RINvC1a1fKj123456789abcdef0_E", DEMANGLE_FULL, DEMANGLE_BY_PREFIX,
	      "a::f::<1311768467463790320>");
}

static void demangles_d_and_ada(void **state)
{
	check("_D3std5stdio7writelnFZv", DEMANGLE_FULL, DEMANGLE_BY_PREFIX, "std.stdio.writeln()");
	check("_D3std5stdio7writelnFZv", DEMANGLE_SHORT, DEMANGLE_BY_PREFIX, "std.stdio.writeln");
	check("_Dmain", DEMANGLE_FULL, DEMANGLE_BY_PREFIX, "D main");
	check("_ada_hello", DEMANGLE_FULL, DEMANGLE_BY_PREFIX, "hello");
	check("pkg__sub__proc", DEMANGLE_FULL, DEMANGLE_ADA, "pkg.sub.proc");
	check("pkg__sub__proc", DEMANGLE_FULL, DEMANGLE_BY_PREFIX, NULL);
}

static void leaves_unmangled_names_unchanged(void **state)
{
	check("main", DEMANGLE_FULL, DEMANGLE_BY_PREFIX, NULL);
	check("", DEMANGLE_FULL, DEMANGLE_BY_PREFIX, NULL);
	check("_ZNSt", DEMANGLE_FULL, DEMANGLE_BY_PREFIX, NULL);
	check("_start", DEMANGLE_FULL, DEMANGLE_BY_PREFIX, NULL);
	check("_Z1fi", DEMANGLE_NO, DEMANGLE_BY_PREFIX, NULL);
}

/* Each S<n>_ stands for a type twice as long as the previous one. */
static void leaves_a_name_that_expands_exponentially_raw(void **state)
{
	char raw[2048] = "_Z1f4pairIiiE";
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	for (int i = 0; i < 60; i++) {
		char more[32], sub[4] = "_";

		if (i >= 2)
			snprintf(sub, sizeof(sub), "%c_", digits[(i - 2) % 36]);
		if (i)
			snprintf(sub, sizeof(sub), i == 1 ? "0_" : "%c_", digits[(i - 1) % 36]);
		snprintf(more, sizeof(more), "S_IS%sS%sE", sub, sub);
		strcat(raw, more);
	}
	check(raw, DEMANGLE_FULL, DEMANGLE_BY_PREFIX, NULL);
}

static void leaves_a_name_that_is_too_long_raw(void **state)
{
	char *raw = malloc(DEMANGLE_RAW_MAX + 100);

	memset(raw, '1', DEMANGLE_RAW_MAX + 99);
	raw[DEMANGLE_RAW_MAX + 99] = '\0';
	memcpy(raw, "_Z", 2);
	check(raw, DEMANGLE_FULL, DEMANGLE_BY_PREFIX, NULL);
	free(raw);
}

static void the_cache_returns_the_same_string_until_trimmed(void **state)
{
	struct demangle *d;
	const char *first;

	assert_int_equal(demangle_new(&d, DEMANGLE_FULL), 0);
	first = demangle_get(d, "_Z1fi", DEMANGLE_BY_PREFIX);
	assert_string_equal(first, "f(int)");
	assert_ptr_equal(demangle_get(d, "_Z1fi", DEMANGLE_BY_PREFIX), first);
	assert_string_equal(demangle_get(d, "a__b", DEMANGLE_BY_PREFIX), "a__b");
	assert_string_equal(demangle_get(d, "a__b", DEMANGLE_ADA), "a.b");
	demangle_trim(d, SIZE_MAX);
	assert_ptr_equal(demangle_get(d, "_Z1fi", DEMANGLE_BY_PREFIX), first);
	demangle_trim(d, 0);
	assert_string_equal(demangle_get(d, "_Z1fi", DEMANGLE_BY_PREFIX), "f(int)");
	demangle_free(d);
}

TEST_GROUP(test_demangle, TEST(demangles_cxx), TEST(keeps_clone_and_plt_suffixes),
	   TEST(demangles_both_rust_schemes),
	   TEST(demangles_rust_with_many_references_unless_it_has_punycode),
	   TEST(demangles_rust_constants_of_128_bits), TEST(demangles_d_and_ada),
	   TEST(leaves_unmangled_names_unchanged),
	   TEST(leaves_a_name_that_expands_exponentially_raw),
	   TEST(leaves_a_name_that_is_too_long_raw),
	   TEST(the_cache_returns_the_same_string_until_trimmed))
