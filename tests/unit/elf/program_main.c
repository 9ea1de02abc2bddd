/* SPDX-License-Identifier: Apache-2.0 */
/* The programs are start-up code as linkers write it, at CODE, with main() at MAIN. */
#include "elf/program_main.h"

#include <elf.h>
#include <unistd.h>

#include "elf/image.h"
#include "tests/test.h"
#include "tests/unit/elf/fixture.h"

enum { CODE = 0x1000, MAIN = 0x1080, SLOT = 0x3008, CODE_LEN = 256, E_ENTRY = 24, E_MACHINE = 18 };

static uint64_t main_of(uint16_t machine, const void *code, size_t len, uint32_t relative)
{
	const Elf64_Rela rela[] = { { SLOT - 8, ELF64_R_INFO(0, relative), 0x1234 },
				    { SLOT, ELF64_R_INFO(0, relative), MAIN } };
	const uint64_t entry = CODE;
	uint8_t text[CODE_LEN] = { 0 };
	struct fixture f;
	uint64_t found;
	int fd;
	struct elf_image *img;

	memcpy(text, code, len);
	fixture_init(&f);
	fixture_load(&f, fixture_add(&f, ".text", SHT_PROGBITS, text, sizeof(text)), CODE,
		     PF_R | PF_X);
	fixture_add(&f, ".rela.dyn", SHT_RELA, rela, sizeof(rela));
	fd = fixture_memfd(&f);
	assert_int_equal(pwrite(fd, &entry, sizeof(entry), E_ENTRY), sizeof(entry));
	assert_int_equal(pwrite(fd, &machine, sizeof(machine), E_MACHINE), sizeof(machine));
	assert_int_equal(elf_image_open(&img, fd, NULL), 0);
	close(fd);
	found = elf_program_main(img);
	elf_image_free(img);
	fixture_fini(&f);
	return found;
}

static uint64_t x86_main(const void *code, size_t len)
{
	return main_of(EM_X86_64, code, len, R_X86_64_RELATIVE);
}

static uint64_t arm64_main(const void *code, size_t len)
{
	return main_of(EM_AARCH64, code, len, R_AARCH64_RELATIVE);
}

#define GLIBC                                                                                      \
	0x31, 0xed, 0x49, 0x89, 0xd1, 0x5e, 0x48, 0x89, 0xe2, 0x48, 0x83, 0xe4, 0xf0, 0x50, 0x54

/* xor %r8d,%r8d; xor %ecx,%ecx */
#define NO_INIT 0x45, 0x31, 0xc0, 0x31, 0xc9

static void glibc_passes_a_distance(void **state)
{
	static const uint8_t code[] = { GLIBC, NO_INIT, 0x48, 0x8d, 0x3d, 0x65, 0x00, 0x00,
					0x00,  0xff,    0x15, 0x00, 0x00, 0x00, 0x00, 0xf4 };

	assert_int_equal(x86_main(code, sizeof(code)), MAIN);
}

static void glibc_passes_an_address(void **state)
{
	/* with endbr64, and the functions that glibc before 2.34 passed */
	static const uint8_t code[] = { 0xf3, 0x0f, 0x1e, 0xfa, GLIBC, 0x49, 0xc7, 0xc0, 0x00,
					0x11, 0x00, 0x00, 0x48, 0xc7,  0xc1, 0x00, 0x12, 0x00,
					0x00, 0x48, 0xc7, 0xc7, 0x80,  0x10, 0x00, 0x00, 0x67,
					0xe8, 0x00, 0x00, 0x00, 0x00,  0xf4 };

	assert_int_equal(x86_main(code, sizeof(code)), MAIN);
}

static void glibc_passes_what_a_relocation_has(void **state)
{
	static const uint8_t code[] = { GLIBC, NO_INIT, 0x48, 0x8b, 0x3d, 0xed, 0x1f, 0x00,
					0x00,  0xff,    0x15, 0x00, 0x00, 0x00, 0x00, 0xf4 };

	assert_int_equal(x86_main(code, sizeof(code)), MAIN);
}

static void musl_passes_it_in_a_second_function(void **state)
{
	static const uint8_t code[] = { 0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35, 0x00,
					0x00, 0x00, 0x00, 0x48, 0x83, 0xe4, 0xf0, 0xe8, 0x02, 0x00,
					0x00, 0x00, 0x90, 0x90, /* _start */
					0x8b, 0x37, 0x48, 0x8d, 0x57, 0x08, 0x4c, 0x8d, 0x05, 0x00,
					0x00, 0x00, 0x00, 0x45, 0x31, 0xc9, 0x48, 0x8d, 0x3d, 0x51,
					0x00, 0x00, 0x00, 0xe9, 0x00, 0x00, 0x00, 0x00 };

	assert_int_equal(x86_main(code, sizeof(code)), MAIN);
}

/* As Debian 13's musl is built. */
static void the_second_function_may_begin_with_endbr64(void **state)
{
	static const uint8_t code[] = { 0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35,
					0x00, 0x00, 0x00, 0x00, 0x48, 0x83, 0xe4, 0xf0, 0xe8,
					0x02, 0x00, 0x00, 0x00, 0x90, 0x90, /* _start */
					0xf3, 0x0f, 0x1e, 0xfa, 0x8b, 0x37, 0x48, 0x8d, 0x57,
					0x08, 0x45, 0x31, 0xc9, 0x48, 0x8d, 0x3d, 0x54, 0x00,
					0x00, 0x00, 0xe9, 0x00, 0x00, 0x00, 0x00 };

	assert_int_equal(x86_main(code, sizeof(code)), MAIN);
}

static void static_musl_relocates_itself_first(void **state)
{
	uint8_t code[] = { 0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d,
			   0x35, 0x00, 0x00, 0x00, 0x00, 0x48, 0x83, 0xe4,
			   0xf0, 0xe8, 0x02, 0x00, 0x00, 0x00, 0x90, 0x90, /* _start */
			   0x49, 0x89, 0xf8, 0x48, 0x8d, 0x0d, 0x00, 0x01,
			   0x00, 0x00, 0x48, 0x8d, 0x05, 0x05, 0x00, 0x00,
			   0x00, 0x4c, 0x89, 0xc6, 0xff, 0xe0, /* the second function */
			   0x48, 0x8d, 0x56, 0x08, 0x8b, 0x36, 0x45, 0x31,
			   0xc9, 0x48, 0x8d, 0x3d, 0x42, 0x00, 0x00, 0x00,
			   0xe9, 0x00, 0x00, 0x00, 0x00 };
	uint8_t *jump = code + 44;

	assert_int_equal(x86_main(code, sizeof(code)), MAIN);
	jump[1] = 0xe2; /* jmp *%rdx, which holds nothing known */
	assert_int_equal(x86_main(code, sizeof(code)), 0);
	jump[0] = 0xc3;
	assert_int_equal(x86_main(code, sizeof(code)), 0);
}

/* Anything unknown between may change the argument: here mov %rax,%rdi. */
static void other_start_up_code_has_none(void **state)
{
	static const uint8_t changed[] = {
		GLIBC, NO_INIT, 0x48, 0x8d, 0x3d, 0x65, 0x00, 0x00, 0x00,
		0x48,  0x89,    0xc7, 0xff, 0x15, 0x00, 0x00, 0x00, 0x00
	};
	static const uint8_t other[] = { 0x31, 0xed, 0x48, 0x8d, 0x3d, 0x75, 0x00, 0x00,
					 0x00, 0xe8, 0x00, 0x00, 0x00, 0x00, 0xf4 };

	assert_int_equal(x86_main(changed, sizeof(changed)), 0);
	assert_int_equal(x86_main(other, sizeof(other)), 0);
	assert_int_equal(x86_main("", 1), 0);
	assert_int_equal(arm64_main("", 1), 0);
}

/* Also a file that ends in the middle of it. */
static void truncated_start_up_code_has_none(void **state)
{
	static const uint8_t code[] = { GLIBC, NO_INIT, 0x48, 0x8d, 0x3d, 0x65,
					0x00,  0x00,    0x00, 0xff, 0x15 };

	for (size_t len = 0; len < sizeof(code); len++) {
		uint64_t entry = CODE;
		struct elf_image *img;
		struct fixture f;
		int fd;

		fixture_init(&f);
		fixture_load(&f, fixture_add(&f, ".text", SHT_PROGBITS, code, len), CODE,
			     PF_R | PF_X);
		fd = fixture_memfd(&f);
		assert_int_equal(pwrite(fd, &entry, sizeof(entry), E_ENTRY), sizeof(entry));
		assert_int_equal(elf_image_open(&img, fd, NULL), 0);
		close(fd);
		assert_int_equal(elf_program_main(img), 0);
		elf_image_free(img);
		fixture_fini(&f);
	}
}

/* bti c; mov x29,#0; mov x30,#0; mov x5,x0; ldr x1,[sp]; add x2,sp,#8; mov x6,sp */
#define GLIBC_ARM64                                                                                \
	0xd503245f, 0xd280001d, 0xd280001e, 0xaa0003e5, 0xf94003e1, 0x910023e2, 0x910003e6

/* mov x3,#0; mov x4,#0; bl __libc_start_main; bl abort */
#define CALL_ARM64 0xd2800003, 0xd2800004, 0x94000000, 0x94000000

static void arm64_passes_a_wrapper(void **state)
{
	/* adrp x0,0x1000; add x0,x0,#0x34; ...; nop; b 0x1080 */
	static const uint32_t code[] = { GLIBC_ARM64, 0x90000000, 0x9100d000,
					 CALL_ARM64,  0xd503201f, 0x14000012 };

	assert_int_equal(arm64_main(code, sizeof(code)), MAIN);
}

static void arm64_passes_main_that_begins_with_a_jump(void **state)
{
	uint32_t code[CODE_LEN / 4] = { GLIBC_ARM64, 0x90000000, 0x91020000, CALL_ARM64 };

	code[(MAIN - CODE) / 4] = 0x14000004;
	assert_int_equal(arm64_main(code, sizeof(code)), MAIN);
}

static void arm64_passes_what_a_relocation_has(void **state)
{
	/* adrp x0,0x3000; ldr x0,[x0,#8] */
	static const uint32_t code[] = { GLIBC_ARM64, 0xd0000000, 0xf9400400, CALL_ARM64 };

	assert_int_equal(arm64_main(code, sizeof(code)), MAIN);
}

static void arm64_passes_an_address_nearby(void **state)
{
	/* nop; adr x0,0x1080 */
	static const uint32_t code[] = { GLIBC_ARM64, 0xd503201f, 0x10000300, CALL_ARM64 };

	assert_int_equal(arm64_main(code, sizeof(code)), MAIN);
}

TEST_GROUP(test_program_main, TEST(glibc_passes_a_distance), TEST(glibc_passes_an_address),
	   TEST(glibc_passes_what_a_relocation_has), TEST(musl_passes_it_in_a_second_function),
	   TEST(the_second_function_may_begin_with_endbr64),
	   TEST(static_musl_relocates_itself_first), TEST(other_start_up_code_has_none),
	   TEST(truncated_start_up_code_has_none), TEST(arm64_passes_a_wrapper),
	   TEST(arm64_passes_main_that_begins_with_a_jump), TEST(arm64_passes_an_address_nearby),
	   TEST(arm64_passes_what_a_relocation_has))
