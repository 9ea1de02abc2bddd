/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/process_image.h"

#include "elf/image.h"
#include "tests/test.h"

enum { SPAN = 400 };

static int image_setup(void **state)
{
	struct process_image *im = malloc(sizeof(*im));

	*state = im;
	return !im || process_image_init(im) < 0;
}

static int image_teardown(void **state)
{
	process_image_fini(*state);
	free(*state);
	return 0;
}

static void add(struct process_image *im, uint64_t start, uint64_t end, uint64_t file_off,
		const char *path)
{
	const struct unwind_mapping m = { .start = start, .end = end, .file_off = file_off };

	assert_int_equal(process_image_add(im, &m, path, NULL, 0), 0);
}

static void a_file_has_one_id_for_all_its_mappings(void **state)
{
	struct process_image *im = *state;

	add(im, 0x1000, 0x2000, 0, "/proc/self/exe");
	add(im, 0x2000, 0x3000, 0, "/etc/passwd");
	add(im, 0x3000, 0x4000, 0x1000, "/proc/self/exe");
	add(im, 0x4000, 0x5000, 0, "[heap]");
	assert_int_equal(im->files.len, 3); /* entry 0 is unused */
	assert_int_equal(im->mappings.data[0].file, im->mappings.data[2].file);
	assert_int_not_equal(im->mappings.data[0].file, im->mappings.data[1].file);
	assert_int_equal(im->mappings.data[3].kind, MAPPING_ANONYMOUS);
	assert_non_null(im->files.data[im->mappings.data[0].file].elf);
	assert_string_equal(im->files.data[im->mappings.data[0].file].path, "/proc/self/exe");
}

/* Such a file is walked by frame pointers; it is not opened again for each mapping. */
static void a_file_that_cannot_be_read_has_an_id(void **state)
{
	struct process_image *im = *state;
	char path[PROCESS_IMAGE_PATH_MAX + 50];

	add(im, 0x1000, 0x2000, 0, "/nonexistent/file");
	add(im, 0x2000, 0x3000, 0, "/etc/passwd");
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	add(im, 0x3000, 0x4000, 0, path);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(im->mappings.data[i].kind, MAPPING_FILE);
		assert_null(im->files.data[im->mappings.data[i].file].elf);
		process_image_sweep(im, im->mappings.data[i].file);
	}
	assert_int_equal(process_image_seal(im), 0);
}

static void a_file_may_be_bytes_in_memory(void **state)
{
	uint8_t ehdr[64] = "\177ELF\2\1\1";
	const struct unwind_mapping m = { .start = 0x1000, .end = 0x2000 };
	struct process_image *im = *state;

	ehdr[16] = 3;
	ehdr[18] = 62;
	ehdr[52] = 64;
	assert_int_equal(process_image_add(im, &m, "", ehdr, sizeof(ehdr)), 0);
	assert_int_equal(im->mappings.data[0].kind, MAPPING_FILE);
	assert_non_null(im->files.data[1].elf);
}

static void finds_the_mapping_of_an_address(void **state)
{
	struct process_image *im = *state;

	add(im, 0x1000, 0x2000, 0, "");
	add(im, 0x3000, 0x4000, 0, "");
	assert_null(process_image_find(im, 0xfff));
	assert_int_equal(process_image_find(im, 0x1000)->start, 0x1000);
	assert_int_equal(process_image_find(im, 0x1fff)->start, 0x1000);
	assert_null(process_image_find(im, 0x2000));
	assert_int_equal(process_image_find(im, 0x3fff)->start, 0x3000);
	assert_null(process_image_find(im, UINT64_MAX));
}

/* The file, and the offset in it plus 1, at each address; 0: not mapped. Regions have file 100+. */
struct model {
	uint32_t file[SPAN];
	uint64_t off[SPAN];
};

static void check_model(const struct process_image *im, const struct model *m)
{
	for (size_t i = 1; i < im->mappings.len; i++)
		assert_true(im->mappings.data[i - 1].end <= im->mappings.data[i].start);
	for (uint64_t a = 0; a < SPAN; a++) {
		const struct unwind_mapping *found = process_image_find(im, a);

		assert_int_equal(found != NULL, m->file[a] != 0);
		if (!found)
			continue;
		assert_int_equal(found->file, m->file[a]);
		if (found->kind == MAPPING_FILE)
			assert_int_equal(found->file_off + a - found->start, m->off[a]);
	}
}

static void covers_parts_of_mappings_as_a_plain_model_does(void **state)
{
	srandom(12);
	for (int round = 0; round < 100; round++) {
		struct process_image im = { 0 };
		struct model m = { 0 };
		uint64_t at = 0;

		/* The image has mappings alone, which need no tables. */
		while (at < SPAN - 60) {
			struct unwind_mapping map = { .start = at + (uint64_t)random() % 20,
						      .file = 1 + (uint32_t)random() % 5,
						      .file_off = (uint64_t)random() % 1000,
						      .kind = MAPPING_FILE };

			map.end = map.start + 1 + (uint64_t)random() % 40;
			for (uint64_t a = map.start; a < map.end; a++) {
				m.file[a] = map.file;
				m.off[a] = map.file_off + a - map.start;
			}
			at = map.end;
			assert_int_equal(vec_push(&im.mappings, map), 0);
		}
		for (uint32_t i = 0; i < 6; i++) {
			struct unwind_mapping over = { .start = (uint64_t)random() % (SPAN - 80),
						       .file = 100 + i,
						       .kind = MAPPING_ANONYMOUS };

			over.end = over.start + 1 + (uint64_t)random() % 79;
			for (uint64_t a = over.start; a < over.end; a++)
				m.file[a] = over.file;
			assert_int_equal(process_image_cover(&im, &over), 0);
			check_model(&im, &m);
		}
		vec_fini(&im.mappings);
	}
}

#define IMAGE_TEST(fn) cmocka_unit_test_setup_teardown(fn, image_setup, image_teardown)

TEST_GROUP(test_process_image, IMAGE_TEST(a_file_has_one_id_for_all_its_mappings),
	   IMAGE_TEST(a_file_that_cannot_be_read_has_an_id),
	   IMAGE_TEST(a_file_may_be_bytes_in_memory), IMAGE_TEST(finds_the_mapping_of_an_address),
	   TEST(covers_parts_of_mappings_as_a_plain_model_does))
