/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "tests/test.h"

/* A file with two segments (the second prelinked to an odd address) and three sections. */
struct file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[3];
	uint8_t code[64];
	char names[64];
	Elf64_Shdr sh[4];
};

enum { DATA_VADDR = 0x10000, CODE_SECTION = 1, NOBITS_SECTION = 2, NAMES_SECTION = 3 };
#define CODE_VADDR 0xffff800000400000ull

static uint32_t add_name(struct file *f, const char *name)
{
	uint32_t at = 1;

	while (f->names[at])
		at += (uint32_t)strlen(f->names + at) + 1;
	strncpy(f->names + at, name, sizeof(f->names) - 1 - at);
	return at;
}

static void file_init(struct file *f)
{
	*f = (struct file){
		.eh = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_entry = CODE_VADDR,
			.e_phoff = offsetof(struct file, ph),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3,
			.e_shoff = offsetof(struct file, sh),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 4,
			.e_shstrndx = NAMES_SECTION,
		},
		.ph = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = DATA_VADDR,
			  .p_filesz = sizeof(struct file), .p_memsz = 0x4000 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE_VADDR,
			  .p_offset = offsetof(struct file, code), .p_filesz = 64, .p_memsz = 64 },
			{ .p_type = PT_NOTE, .p_vaddr = DATA_VADDR + offsetof(struct file, code),
			  .p_offset = offsetof(struct file, code), .p_filesz = 8 },
		},
	};
	f->sh[CODE_SECTION] = (Elf64_Shdr){ .sh_name = add_name(f, ".text"),
					    .sh_type = SHT_PROGBITS,
					    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					    .sh_addr = CODE_VADDR,
					    .sh_offset = offsetof(struct file, code),
					    .sh_size = 64 };
	f->sh[NOBITS_SECTION] = (Elf64_Shdr){ .sh_name = add_name(f, ".bss"),
					      .sh_type = SHT_NOBITS,
					      .sh_size = 1ull << 40 };
	f->sh[NAMES_SECTION] = (Elf64_Shdr){ .sh_name = add_name(f, ".shstrtab"),
					     .sh_type = SHT_STRTAB,
					     .sh_link = 7,
					     .sh_offset = offsetof(struct file, names),
					     .sh_size = 64 };
}

static struct elf_image *open_good(const struct file *f)
{
	struct elf_image *img = NULL;
	struct err err = { 0 };

	assert_int_equal(elf_image_from_memory(&img, f, sizeof(*f), &err), 0);
	return img;
}

static int open_bad(const struct file *f, size_t len, struct err *err)
{
	struct elf_image *img = NULL;
	int r;

	*err = (struct err){ 0 };
	r = elf_image_from_memory(&img, f, len, err);
	assert_null(img);
	return r;
}

static void finds_sections_by_name_type_and_index(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct elf_section header;
	struct elf_span s;
	struct file f;
	uint32_t v;

	file_init(&f);
	img = open_good(&f);
	assert_int_equal(elf_image_section(img, ".text", &s), 0);
	assert_ptr_equal(s.data, f.code);
	assert_int_equal(s.len, 64);
	assert_true(s.vaddr == CODE_VADDR);
	assert_int_equal(s.file_off, offsetof(struct file, code));

	assert_int_equal(elf_image_section_of_type(img, SHT_STRTAB, &s, &v), 0);
	assert_ptr_equal(s.data, f.names);
	assert_int_equal(v, 7);
	assert_int_equal(elf_image_section_at(img, CODE_SECTION, &s), 0);
	assert_ptr_equal(s.data, f.code);
	assert_int_equal(elf_image_section_index(img, ".bss", &v), 0);
	assert_int_equal(v, NOBITS_SECTION);

	assert_int_equal(elf_image_n_sections(img), 4);
	assert_int_equal(elf_image_section_header(img, CODE_SECTION, &header), 0);
	assert_int_equal(header.flags, SHF_ALLOC | SHF_EXECINSTR);
}

static void reports_why_a_section_cannot_be_read(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct elf_section header;
	struct elf_span s;
	struct file f;

	file_init(&f);
	img = open_good(&f);
	assert_int_equal(elf_image_section(img, ".tex", &s), -ENOENT);
	assert_int_equal(elf_image_section(img, ".text.hot", &s), -ENOENT);
	assert_int_equal(elf_image_section(img, ".bss", &s), -ENODATA);
	assert_int_equal(elf_image_section_at(img, 0, &s), -ENOENT);
	assert_int_equal(elf_image_section_at(img, 4, &s), -ENOENT);
	assert_int_equal(elf_image_section_header(img, 4, &header), -ENOENT);
	assert_int_equal(elf_image_section_of_type(img, SHT_DYNSYM, &s, NULL), -ENOENT);

	f.sh[CODE_SECTION].sh_flags |= SHF_COMPRESSED;
	assert_int_equal(elf_image_section(img, ".text", &s), -ENOTSUP);
	f.sh[CODE_SECTION].sh_flags = 0;
	f.sh[CODE_SECTION].sh_size = UINT64_MAX;
	assert_int_equal(elf_image_section(img, ".text", &s), -EBADMSG);
	f.sh[CODE_SECTION].sh_size = 1;
	f.sh[CODE_SECTION].sh_offset = sizeof(f);
	assert_int_equal(elf_image_section(img, ".text", &s), -EBADMSG);
	f.sh[CODE_SECTION].sh_name = UINT32_MAX;
	assert_int_equal(elf_image_section(img, ".text", &s), -ENOENT);
}

static void translates_addresses_by_segment_and_prefers_code(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	uint64_t off, vaddr;
	struct file f;

	file_init(&f);
	img = open_good(&f);
	assert_int_equal(elf_image_vaddr_of(img, offsetof(struct file, code) + 3, &vaddr), 0);
	assert_true(vaddr == CODE_VADDR + 3);
	assert_int_equal(elf_image_vaddr_of(img, 5, &vaddr), 0);
	assert_int_equal(vaddr, DATA_VADDR + 5);
	assert_int_equal(elf_image_vaddr_of(img, sizeof(f), &vaddr), -ENOENT);

	assert_int_equal(elf_image_offset_of(img, CODE_VADDR + 63, &off), 0);
	assert_int_equal(off, offsetof(struct file, code) + 63);
	assert_int_equal(elf_image_offset_of(img, CODE_VADDR + 64, &off), -ENOENT);
	assert_int_equal(elf_image_offset_of(img, UINT64_MAX, &off), -ENOENT);
	/* in memory only: beyond the segment's bytes in the file */
	assert_int_equal(elf_image_offset_of(img, DATA_VADDR + 0x3000, &off), -ENOENT);
}

static void reads_bytes_at_an_address_only_within_one_segment(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct elf_span s;
	struct file f;

	file_init(&f);
	img = open_good(&f);
	assert_int_equal(elf_image_at_vaddr(img, CODE_VADDR + 60, 4, &s), 0);
	assert_ptr_equal(s.data, f.code + 60);
	assert_int_equal(elf_image_at_vaddr(img, CODE_VADDR + 60, 5, &s), -ENOENT);
	assert_int_equal(elf_image_at_vaddr(img, CODE_VADDR, SIZE_MAX, &s), -ENOENT);
	assert_int_equal(elf_image_at_vaddr(img, UINT64_MAX, 2, &s), -ENOENT);
	assert_int_equal(elf_image_at_offset(img, sizeof(f), 0, &s), 0);
	assert_int_equal(elf_image_at_offset(img, 1, UINT64_MAX, &s), -EBADMSG);
}

static void finds_program_headers(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	const struct elf_segment *segs;
	struct elf_span s;
	struct file f;

	file_init(&f);
	img = open_good(&f);
	assert_int_equal(elf_image_segments(img, &segs), 2);
	assert_false(segs[0].exec);
	assert_true(segs[1].exec);
	assert_int_equal(elf_image_phdr(img, PT_NOTE, &s), 0);
	assert_int_equal(s.len, 8);
	assert_int_equal(elf_image_phdr_nth(img, PT_LOAD, 1, &s), 0);
	assert_ptr_equal(s.data, f.code);
	assert_int_equal(elf_image_phdr_nth(img, PT_LOAD, 2, &s), -ENOENT);
	assert_int_equal(elf_image_phdr(img, PT_DYNAMIC, &s), -ENOENT);
	f.ph[2].p_filesz = UINT64_MAX;
	assert_int_equal(elf_image_phdr(img, PT_NOTE, &s), -EBADMSG);
}

static void clips_a_segment_to_the_file(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	const struct elf_segment *segs;
	struct file f;

	file_init(&f);
	f.ph[0].p_filesz = f.ph[0].p_memsz = 1ull << 40;
	f.ph[1].p_offset = UINT64_MAX;
	img = open_good(&f);
	assert_int_equal(elf_image_segments(img, &segs), 2);
	assert_int_equal(segs[0].filesz, sizeof(f));
	assert_int_equal(segs[1].filesz, 0);
}

static void the_number_of_segments_is_limited(void **state)
{
	struct {
		struct file f;
		Elf64_Phdr ph[ELF_SEGMENTS_MAX + 5];
	} many = { 0 };
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	const struct elf_segment *segs;

	file_init(&many.f);
	many.f.eh.e_phoff = sizeof(many.f);
	many.f.eh.e_phnum = ELF_SEGMENTS_MAX + 5;
	for (int i = 0; i < ELF_SEGMENTS_MAX + 5; i++)
		many.ph[i].p_type = PT_LOAD;
	assert_int_equal(elf_image_from_memory(&img, &many, sizeof(many), NULL), 0);
	assert_int_equal(elf_image_segments(img, &segs), ELF_SEGMENTS_MAX);
}

static void takes_large_counts_from_section_0(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	const struct elf_segment *segs;
	struct elf_span s;
	struct file f;

	file_init(&f);
	f.eh.e_shnum = 0;
	f.eh.e_shstrndx = SHN_XINDEX;
	f.eh.e_phnum = PN_XNUM;
	f.sh[0].sh_size = 4;
	f.sh[0].sh_link = NAMES_SECTION;
	f.sh[0].sh_info = 3;
	img = open_good(&f);
	assert_int_equal(elf_image_section(img, ".text", &s), 0);
	assert_int_equal(elf_image_segments(img, &segs), 2);
}

static void a_false_section_table_counts_as_none(void **state)
{
	static const uint64_t offsets[] = { 0, UINT64_MAX, UINT64_MAX - 8, sizeof(struct file) - 8,
					    offsetof(struct file, sh) + 1 };
	struct elf_span s;
	struct file f;

	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		_cleanup_(elf_image_freep) struct elf_image *img = NULL;
		const struct elf_segment *segs;

		file_init(&f);
		f.eh.e_shoff = offsets[i];
		img = open_good(&f);
		assert_int_equal(elf_image_section(img, ".text", &s), -ENOENT);
		assert_int_equal(elf_image_segments(img, &segs), 2);
	}
	file_init(&f);
	f.eh.e_shnum = 0;
	f.sh[0].sh_size = UINT64_MAX;
	elf_image_free(open_good(&f));
}

static void refuses_all_but_64_bit_little_endian_elf(void **state)
{
	struct err err;
	struct file f;

	file_init(&f);
	f.eh.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(open_bad(&f, sizeof(f), &err), -ENOEXEC);
	assert_non_null(strstr(err.msg, "32-bit"));
	f.eh.e_ident[EI_CLASS] = 9;
	assert_int_equal(open_bad(&f, sizeof(f), &err), -ENOEXEC);
	file_init(&f);
	f.eh.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(open_bad(&f, sizeof(f), &err), -ENOEXEC);
	assert_non_null(strstr(err.msg, "big-endian"));
	file_init(&f);
	f.eh.e_ident[0] = '#';
	assert_int_equal(open_bad(&f, sizeof(f), &err), -ENOEXEC);
	assert_int_equal(open_bad(&f, 0, &err), -ENOEXEC);
}

static void refuses_false_program_headers(void **state)
{
	struct err err;
	struct file f;

	file_init(&f);
	assert_int_equal(open_bad(&f, sizeof(Elf64_Ehdr) - 1, &err), -EBADMSG);
	assert_int_equal(open_bad(&f, offsetof(struct file, code) - 1, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "outside"));
	f.eh.e_phoff = UINT64_MAX - 4;
	assert_int_equal(open_bad(&f, sizeof(f), &err), -EBADMSG);
	file_init(&f);
	f.eh.e_phentsize = 32;
	assert_int_equal(open_bad(&f, sizeof(f), &err), -EBADMSG);
	file_init(&f);
	f.ph[0].p_vaddr = UINT64_MAX;
	assert_int_equal(open_bad(&f, sizeof(f), &err), -EBADMSG);
	file_init(&f);
	f.eh.e_phnum = PN_XNUM;
	f.sh[0].sh_info = UINT32_MAX;
	assert_int_equal(open_bad(&f, sizeof(f), &err), -EBADMSG);
	f.eh.e_shoff = 0;
	assert_int_equal(open_bad(&f, sizeof(f), &err), -EBADMSG);
}

/* Every prefix of a good file is either refused or opened and read completely. */
static void no_prefix_of_a_file_is_read_past_its_end(void **state)
{
	struct file f;

	file_init(&f);
	for (size_t len = 0; len <= sizeof(f); len++) {
		_cleanup_(freep) uint8_t *copy = malloc(len + 1);
		struct elf_image *img = NULL;
		struct elf_span s;

		assert_non_null(copy);
		memcpy(copy + 1, &f, len);
		if (elf_image_from_memory(&img, copy + 1, len, NULL) < 0)
			continue;
		if (elf_image_section(img, ".text", &s) == 0)
			assert_true(s.data >= copy + 1 && s.data + s.len <= copy + 1 + len);
		elf_image_free(img);
	}
}

static void opens_its_own_program(void **state)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_span text;

	assert_int_equal(elf_image_open(&img, fd, NULL), 0);
	assert_true(elf_image_len(img) > sizeof(Elf64_Ehdr));
	assert_int_equal(elf_image_section(img, ".text", &text), 0);
	assert_true(elf_image_entry(img) >= text.vaddr);
	assert_true(elf_image_entry(img) < text.vaddr + text.len);
	assert_true(elf_image_type(img) == ET_DYN || elf_image_type(img) == ET_EXEC);
	assert_true(elf_image_machine(img) != EM_NONE);
}

static void refuses_directories_text_and_empty_files(void **state)
{
	static const char *const paths[] = { "/", "/dev/null", "/etc/passwd", "/proc/self/maps" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		_cleanup_(closep) int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		struct elf_image *img = NULL;
		struct err err = { 0 };

		assert_int_equal(elf_image_open(&img, fd, &err), -ENOEXEC);
		assert_true(err.msg[0]);
	}
	assert_int_equal(elf_image_open(&(struct elf_image *){ NULL }, -1, NULL), -EBADF);
}

/* The file is sparse; its section headers lie beyond the third gigabyte. */
static void opens_a_file_of_more_than_2_gigabytes(void **state)
{
	const uint64_t shoff = (3ull << 30) + 8;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(closep) int fd = memfd_create("large", MFD_CLOEXEC);
	struct elf_span s;
	struct file f;

	file_init(&f);
	f.eh.e_shoff = shoff;
	f.sh[CODE_SECTION].sh_offset = shoff;
	assert_int_equal(pwrite(fd, &f, sizeof(f), 0), sizeof(f));
	assert_int_equal(pwrite(fd, f.sh, sizeof(f.sh), (off_t)shoff), sizeof(f.sh));
	assert_int_equal(elf_image_open(&img, fd, NULL), 0);
	assert_true(elf_image_len(img) == shoff + sizeof(f.sh));
	assert_int_equal(elf_image_section(img, ".text", &s), 0);
	assert_true(s.file_off == shoff);
	assert_memory_equal(s.data, f.sh, 64);
}

static void strings_end_within_their_span(void **state)
{
	const struct elf_span s = { (const uint8_t *)"one\0two", 7, 0, 0 };

	assert_string_equal(elf_span_string(&s, 0), "one");
	assert_string_equal(elf_span_string(&s, 3), "");
	assert_null(elf_span_string(&s, 4));
	assert_null(elf_span_string(&s, 7));
	assert_null(elf_span_string(&s, UINT64_MAX));
}

TEST_GROUP(test_image, TEST(finds_sections_by_name_type_and_index),
	   TEST(reports_why_a_section_cannot_be_read),
	   TEST(translates_addresses_by_segment_and_prefers_code),
	   TEST(reads_bytes_at_an_address_only_within_one_segment), TEST(finds_program_headers),
	   TEST(clips_a_segment_to_the_file), TEST(the_number_of_segments_is_limited),
	   TEST(takes_large_counts_from_section_0), TEST(a_false_section_table_counts_as_none),
	   TEST(refuses_all_but_64_bit_little_endian_elf), TEST(refuses_false_program_headers),
	   TEST(no_prefix_of_a_file_is_read_past_its_end), TEST(opens_its_own_program),
	   TEST(refuses_directories_text_and_empty_files),
	   TEST(opens_a_file_of_more_than_2_gigabytes), TEST(strings_end_within_their_span))
