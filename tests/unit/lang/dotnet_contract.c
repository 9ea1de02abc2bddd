/* SPDX-License-Identifier: Apache-2.0 */
/* covers: src/lang/dotnet/contract.c */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lang/dotnet/dotnet.h"
#include "tests/test.h"

int test_dotnet_contract(void);

/* The parts of a descriptor that are needed, as .NET 10.0.9 has them. */
#define STORED                                                                                     \
	"\"Module\":{\"Assembly\":248,\"Base\":224,\"ReadyToRunInfo\":704},"                       \
	"\"DynamicMethodDesc\":{\"!\":48,\"MethodName\":[32,\"pointer\"]},"
#define RANGES                                                                                     \
	"\"RangeSectionMap\":{\"TopLevelData\":0},"                                                \
	"\"RangeSectionFragment\":{\"RangeBegin\":8,\"RangeEndOpen\":16,\"RangeSection\":24,"      \
	"\"Next\":0},"                                                                             \
	"\"RangeSection\":{\"RangeBegin\":0,\"RangeEndOpen\":8,\"JitManager\":24,\"Flags\":16,"    \
	"\"HeapList\":40,\"R2RModule\":32},"
#define CODE                                                                                       \
	"\"CodeHeapListNode\":{\"Next\":0,\"MapBase\":32,\"HeaderMap\":40},"                       \
	"\"RealCodeHeader\":{\"MethodDesc\":24,\"NumUnwindInfos\":32,\"UnwindInfos\":36},"         \
	"\"RuntimeFunction\":{\"!\":12},"                                                          \
	"\"ReadyToRunInfo\":{\"NumRuntimeFunctions\":88,\"RuntimeFunctions\":80},"
#define METHODS                                                                                    \
	"\"MethodDesc\":{\"!\":16,\"ChunkIndex\":2,\"Flags\":6,\"Flags3AndTokenRemainder\":0},"    \
	"\"MethodDescChunk\":{\"!\":24,\"MethodTable\":0,\"FlagsAndTokenRange\":18},"              \
	"\"MethodTable\":{\"!\":64,\"Module\":24}"
#define GLOBALS                                                                                    \
	"\"globals\":{\"MethodDescTokenRemainderBitCount\":[\"0xc\",\"uint8\"],"                   \
	"\"RID\":[\"linux-x64\",\"string\"],"                                                      \
	"\"ExecutionManagerCodeRangeMapAddress\":[[20],\"pointer\"]},"
#define CONTRACTS "\"contracts\":{\"Thread\":1,\"ExecutionManager\":2}}"
#define WHOLE                                                                                      \
	"{\"version\":0,\"baseline\":\"empty\",\"types\":{" STORED RANGES CODE METHODS             \
	"}," GLOBALS CONTRACTS

static struct dotnet_vm vm;
static uint32_t root;
static bool is_whole;

static int parse(const char *text)
{
	vm = (struct dotnet_vm){ .module_ready = 1, .dynamic_name = 2, .module_base = 3 };
	root = 0;
	is_whole = false;
	return dotnet_contract_parse(text, strlen(text), &vm, &root, &is_whole);
}

/* Parses the whole descriptor with the first @from replaced by @to. */
static int parse_changed(const char *from, const char *to)
{
	static const char whole[] = WHOLE;
	static char text[2 * sizeof(whole)];
	const char *at = strstr(whole, from);

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
	return parse(text);
}

static void takes_the_offsets_of_a_version_that_describes_itself(void **state)
{
	(void)state;
	assert_int_equal(parse(WHOLE), 0);
	assert_true(is_whole);
	assert_int_equal(root, 20);
	assert_int_equal(vm.module_ready, 704);
	assert_int_equal(vm.module_base, 224);
	assert_int_equal(vm.dynamic_name, 32);
	/* a later version has moved what may move */
	assert_int_equal(parse_changed("\"Base\":224", "\"Base\":[4096,\"pointer\"]"), 0);
	assert_true(is_whole);
	assert_int_equal(vm.module_base, 4096);
}

static void a_part_of_the_description_is_not_whole(void **state)
{
	static const char *const missing[] = { "\"ReadyToRunInfo\":704", "\"MapBase\":32,",
					       "\"RuntimeFunction\":{\"!\":12},", "[20]",
					       "\"MethodName\":[32,\"pointer\"]" };
	static const char *const instead[] = { "\"X\":1", "", "", "[\"20\"]", "\"MethodName\":{}" };

	(void)state;
	for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++) {
		assert_int_equal(parse_changed(missing[i], instead[i]), 0);
		assert_false(is_whole);
	}
	assert_int_equal(vm.dynamic_name, 2);
	/* .NET 9 */
	assert_int_equal(parse("{\"types\":{" STORED METHODS "},\"contracts\":{\"Thread\":1}}"), 0);
	assert_false(is_whole);
	assert_int_equal(root, 0);
	assert_int_equal(vm.module_ready, 704);
	assert_int_equal(parse("{}"), 0);
	assert_int_equal(vm.module_ready, 1);
}

static void a_structure_that_differs_is_refused(void **state)
{
	static const char *const from[] = { "\"MapBase\":32",    "\"0xc\"",
					    "\"HeapList\":40",   "\"ExecutionManager\":2",
					    "\"Base\":224",      "\"Base\":224",
					    "\"TopLevelData\":0" };
	static const char *const to[] = { "\"MapBase\":48",       "\"0xd\"",
					  "\"HeapList\":48",      "\"ExecutionManager\":3",
					  "\"Base\":-1",          "\"Base\":70000",
					  "\"TopLevelData\":1e30" };

	(void)state;
	for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++)
		assert_int_equal(parse_changed(from[i], to[i]), -ENOTSUP);
}

static void malformed_text_is_an_error(void **state)
{
	(void)state;
	for (size_t len = 1; len < sizeof(WHOLE) - 1; len++)
		assert_int_equal(dotnet_contract_parse(WHOLE, len, &vm, &root, &is_whole),
				 -EBADMSG);
}

int test_dotnet_contract(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_the_offsets_of_a_version_that_describes_itself),
		cmocka_unit_test(a_part_of_the_description_is_not_whole),
		cmocka_unit_test(a_structure_that_differs_is_refused),
		cmocka_unit_test(malformed_text_is_an_error),
	};

	return TEST_RUN("test_dotnet_contract", tests, NULL, NULL);
}
