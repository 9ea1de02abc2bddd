/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks bpf/vmlinux.h, which is written by hand: each kernel structure that our BPF objects
 * declare must have its fields in the running kernel's BTF, with the same sizes. libbpf relocates
 * offsets, but it cannot know that a field changed its width.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "tests/test.h"

static const char *const ours[] = { "task_struct", "thread_struct", "mm_struct" };

static struct btf *kernel, *object;

/* The size of a member in bits: of its bit field, or of its type. */
static uint32_t member_bits(const struct btf *btf, const struct btf_type *t, uint32_t i)
{
	uint32_t bits = btf_member_bitfield_size(t, i);

	return bits ? bits : 8 * (uint32_t)btf__resolve_size(btf, btf_members(t)[i].type);
}

/*
 * The size in bits of the member @name of @t or of an anonymous member of it; 0 if there is none.
 */
static uint32_t find_member(const struct btf *btf, const struct btf_type *t, const char *name)
{
	const struct btf_member *m = btf_members(t);

	for (uint32_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_type *inner = btf__type_by_id(btf, m[i].type);
		const char *is = btf__name_by_offset(btf, m[i].name_off);
		uint32_t bits;

		if (!strcmp(is, name))
			return member_bits(btf, t, i);
		if (*is || !btf_is_composite(inner))
			continue;
		bits = find_member(btf, inner, name);
		if (bits)
			return bits;
	}
	return 0;
}

static void each_field_is_in_the_running_kernel(void **state)
{
	for (size_t s = 0; s < sizeof(ours) / sizeof(ours[0]); s++) {
		int have = btf__find_by_name_kind(object, ours[s], BTF_KIND_STRUCT);
		int want = btf__find_by_name_kind(kernel, ours[s], BTF_KIND_STRUCT);
		const struct btf_type *t, *k;

		assert_true(have > 0 && want > 0);
		t = btf__type_by_id(object, (uint32_t)have);
		k = btf__type_by_id(kernel, (uint32_t)want);
		assert_true(btf_vlen(t) > 0);
		for (uint32_t i = 0; i < btf_vlen(t); i++) {
			const char *name = btf__name_by_offset(object, btf_members(t)[i].name_off);
			uint32_t bits = find_member(kernel, k, name);

			/* a nested structure: only the fields that we declare are compared */
			if (bits &&
			    btf_is_composite(btf__type_by_id(object, btf_members(t)[i].type)))
				continue;
			if (bits != member_bits(object, t, i))
				print_error("%s.%s: %u bits here, %u in the kernel\n", ours[s],
					    name, member_bits(object, t, i), bits);
			assert_int_equal(bits, member_bits(object, t, i));
		}
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_field_is_in_the_running_kernel) };
	int failed;

	if (argc != 2)
		return 2;
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0) {
		puts("this kernel has no BTF");
		return 77;
	}
	kernel = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	object = btf__parse(argv[1], NULL);
	if (!kernel || !object)
		return 1;
	failed = cmocka_run_group_tests_name("vmlinux", tests, NULL, NULL);
	btf__free(kernel);
	btf__free(object);
	return failed;
}
