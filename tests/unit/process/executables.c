/* SPDX-License-Identifier: Apache-2.0 */
/* The executable is that of the test, as if it were an interpreter. */
#include "process/executables.h"

#include <unistd.h>

#include "proc/maps.h"
#include "process/mapping_set.h"
#include "tests/test.h"
#include "tests/unit/process/machine.h"

enum { VM = 3, BIAS = 0x1234000 };

struct fixture {
	struct machine machine;
	struct executables executables;
	struct mapping_set *maps;
	struct known_executable own;
	struct unwind_process description;
	uint64_t code; /* address of the first executable segment */
};

static int on_map(void *ctx, const struct proc_map *m)
{
	struct fixture *f = ctx;
	struct file_ref ref = file_ref_of((uint32_t)getpid(), m);
	char path[4096] = "";

	(void)!readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (f->code || strcmp(m->path, path) != 0)
		return 0;
	f->code = m->start;
	f->own.file = file_table_find(f->machine.files, &ref);
	f->own.key = (struct executable_key){ .inode = m->inode, .device = 77 };
	return mapping_set_add(f->maps, &(struct unwind_mapping){ .start = m->start,
								  .end = m->end,
								  .file_off = m->file_off,
								  .file = f->own.file,
								  .kind = MAPPING_FILE });
}

static void begin(struct fixture *f)
{
	*f = (struct fixture){ .maps = mapping_set_new(NULL) };
	machine_init(&f->machine);
	assert_int_equal(proc_maps_read((int)getpid(), PROC_MAPS_EXEC, on_map, f, NULL), 0);
	assert_int_not_equal(f->own.file, FILE_ID_NONE);
	f->description.vms[0] =
		(struct vm_slot){ .vm = VM, .file = f->own.file, .bias = f->code + BIAS };
}

static void end(struct fixture *f)
{
	executables_fini(&f->executables);
	mapping_set_unref(f->maps, f->machine.tables, 0);
	machine_fini(&f->machine);
}

/* Returns the number of executables that were made known so far. */
static uint32_t note(struct fixture *f)
{
	executables_note(&f->executables, &f->machine.sampler, f->machine.files, &f->own, f->maps,
			 &f->description, (uint32_t)getpid());
	return f->machine.sampler.n_executables;
}

static void an_interpreter_is_made_known_once(void **state)
{
	const struct executable *e;
	struct fixture f;

	begin(&f);
	assert_int_equal(note(&f), 1);
	assert_int_equal(note(&f), 1);
	e = &f.machine.sampler.executable;
	assert_int_equal(e->vm, VM);
	assert_int_equal(e->file, f.own.file);
	/* relative to a start of the code in the first page of the segment */
	assert_true(BIAS - e->bias < 4096);
	assert_true(e->bytes > 0);
	assert_int_equal(f.machine.sampler.executable_key.device, 77);
	/* another inode with the same content */
	f.own.key.inode++;
	assert_int_equal(note(&f), 2);
	/* the inode has another content */
	f.executables.data[0].serial++;
	f.own.key.inode--;
	assert_int_equal(note(&f), 3);
	assert_int_equal(f.executables.len, 2);
	end(&f);
}

static void other_executables_are_not(void **state)
{
	struct fixture f;

	begin(&f);
	/* the interpreter is a library */
	f.description.vms[0].file++;
	assert_int_equal(note(&f), 0);
	f.description.vms[0].file--;
	f.description.vms[0].vm = 0;
	assert_int_equal(note(&f), 0);
	f.description.vms[0].vm = VM;
	/* the process runs another program by now: its code is elsewhere */
	mapping_set_unref(f.maps, f.machine.tables, 0);
	f.maps = mapping_set_new(NULL);
	assert_int_equal(mapping_set_add(f.maps, &(struct unwind_mapping){ .start = 0x1000,
									   .end = 0x9000,
									   .file = f.own.file,
									   .kind = MAPPING_FILE }),
			 0);
	assert_int_equal(note(&f), 0);
	end(&f);
}

static void many_interpreters_are_forgotten_when_they_are_not_used(void **state)
{
	struct fixture f;

	begin(&f);
	/* each has an inode of its own, up to the limit */
	for (uint32_t i = 0; i < EXECUTABLES_MAX; i++, f.own.key.inode++)
		(void)note(&f);
	assert_int_equal(note(&f), EXECUTABLES_MAX);
	executables_reap(&f.executables, &f.machine.sampler, f.machine.files);
	assert_int_equal(f.executables.len, EXECUTABLES_MAX);
	/* the file is evicted after two sweeps without a mark */
	for (int i = 0; i < 2; i++)
		file_table_sweep(f.machine.files, 0);
	executables_reap(&f.executables, &f.machine.sampler, f.machine.files);
	assert_int_equal(f.executables.len, 0);
	assert_int_equal(f.machine.sampler.n_executables_removed, EXECUTABLES_MAX);
	end(&f);
}

TEST_GROUP(test_executables, TEST(many_interpreters_are_forgotten_when_they_are_not_used),
	   TEST(an_interpreter_is_made_known_once), TEST(other_executables_are_not))
