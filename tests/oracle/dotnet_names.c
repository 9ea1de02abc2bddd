/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dotnet_names PID: symbolizes addresses of a stopped process that runs .NET as a sample there
 * would be: by the walk that runs in the kernel, built for the host, and the reader of languages.
 * Reads a hexadecimal address per line and prints it with the name; "-" if the first frame is not
 * one of .NET.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/process_image.h"
#include "elf/image.h"
#include "lang/lang.h"
#include "lang/vm_memory.h"
#include "proc/maps.h"
#include "proc/memory.h"
#include "unwind/walk.h"

enum { STACK_BYTES = 256 };

static const uint64_t stack_at = 0x7ffd00000000;

struct world {
	int pid;
	struct process_image image;
	struct vm_memory vms;
	struct langs *langs;
	struct vm_slot slot;
	uint64_t woven[LANG_STACK_MAX];
};

static int read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	const struct world *w = ctx;

	return proc_memory_read((uint32_t)w->pid, addr, dst, len);
}

static void detect(struct world *w, const struct unwind_mapping *m)
{
	const struct elf_image *elf = w->image.files.data[m->file].elf;
	struct lang_file file = { 0 };

	if (w->slot.vm || !elf)
		return;
	langs_detect(w->langs, elf, -1, &file);
	if (!file.vm || file.loop_off < m->file_off ||
	    file.loop_off - m->file_off >= m->end - m->start)
		return;
	w->slot = (struct vm_slot){ .vm = file.vm,
				    .file = m->file,
				    .bias = m->start + file.loop_off - m->file_off -
					    file.loop_vaddr };
}

static int on_map(void *ctx, const struct proc_map *m)
{
	struct world *w = ctx;
	struct unwind_mapping map = { .start = m->start, .end = m->end, .file_off = m->file_off };
	const struct unwind_mapping *added;
	char path[PROCESS_IMAGE_PATH_MAX] = "";
	int r;

	if (m->inode && m->path[0] == '/' && geteuid() != 0) /* map_files is for root only */
		snprintf(path, sizeof(path), "%s", m->path);
	else if (m->inode && m->path[0] == '/')
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, w->pid,
			 m->start, m->end);
	r = process_image_add(&w->image, &map, path, NULL, 0);
	if (r < 0)
		return r;
	added = &w->image.mappings.data[w->image.mappings.len - 1];
	if (added->kind == MAPPING_FILE)
		detect(w, added);
	return 0;
}

static void print_name(struct world *w, uint64_t pc)
{
	static const uint8_t stack[STACK_BYTES];
	struct unwind_walk_input in = { .process = w->image.process,
					.stack = stack,
					.stack_len = sizeof(stack),
					.stack_at = stack_at,
					.is_stopped = true,
					.read = read_memory,
					.ctx = w };
	struct lang_stack found = {
		.process = { .pid = (uint32_t)w->pid, .read = read_memory, .ctx = w }
	};
	struct symbol_frame frame;
	bool is_complete;

	in.process.vms[0] = w->slot;
	in.regs[UREG_RIP] = pc;
	in.regs[UREG_RSP] = stack_at;
	in.regs[UREG_RBP] = stack_at + STACK_BYTES / 2;
	found.n_words = unwind_walk(w->image.walker, &in, &found.words, &is_complete);
	found.n_vm_words = unwind_walk_vm_words(w->image.walker, &found.vm_words, &found.truncated);
	if (!langs_weave(w->langs, &found, w->woven) ||
	    w->woven[0] >> FRAME_KIND_SHIFT != FRAME_SCRIPT) {
		printf("%" PRIx64 "\t-\n", pc);
		return;
	}
	langs_symbolize(w->langs, w->woven[0], &frame);
	printf("%" PRIx64 "\t%s\n", pc, frame.name);
}

int main(int argc, char **argv)
{
	static struct world w;
	char line[64];

	if (argc != 2)
		return 2;
	w.pid = atoi(argv[1]);
	vm_memory_init(&w.vms);
	if (process_image_init(&w.image) < 0 || langs_new(&w.langs, &w.vms.tables, false) < 0)
		return 1;
	unwind_walker_set_vms(w.image.walker, &w.vms.tables);
	if (proc_maps_read(w.pid, PROC_MAPS_EXEC, on_map, &w, NULL) < 0 ||
	    process_image_seal(&w.image) < 0 || !w.slot.vm)
		return 1;
	while (fgets(line, sizeof(line), stdin))
		print_name(&w, strtoull(line, NULL, 16));
	langs_free(w.langs);
	process_image_fini(&w.image);
	return 0;
}
