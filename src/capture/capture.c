/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread is stopped for the walk only. Later steps do not depend on it:
 * pages are copied as the walk reads them, and mapped files are held open by descriptors. Parts of
 * those files are read after the thread runs again.
 *
 * Only parts of files are stored, because libraries on one stack can be large: the headers,
 * symbols, unwind tables and, up to a limit, code, since functions without CFI are unwound by
 * reading their instructions. A language runtime is detected and read by means of its data, so it
 * is stored whole up to a larger limit.
 */
#include "capture/capture.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/regular_file.h"
#include "capture/core.h"
#include "capture/process_pages.h"
#include "capture/stack_trace.h"
#include "elf/image.h"
#include "elf/note.h"
#include "proc/maps.h"
#include "proc/memory.h"

enum {
	REGIONS_MAX = 1 << 14,
	VDSO_MAX = 1 << 16,
	CODE_MAX = 8 << 20,     /* executable sections up to this size are stored */
	RUNTIME_MAX = 32 << 20, /* a language runtime up to this size is stored whole */
};

/* A mapped file while the capture is made; the same index as struct core's files. */
struct open_file {
	char path[PROC_PATH_MAX];
	char open[32];         /* "/proc/self/fd/N" */
	int fd;                /* -1: it could not be opened */
	struct elf_image *elf; /* of a file on the stack; or NULL */
};

struct thread_capture {
	const struct capture_options *opt;
	struct core core;
	struct process_pages *pages;
	struct stack_trace *trace;
	struct {
		VEC(struct open_file *);
	} files;
	uint8_t *vdso;
};

static void thread_capture_fini(struct thread_capture *t)
{
	for (size_t i = 0; i < t->files.len; i++) {
		elf_image_free(t->files.data[i]->elf);
		closep(&t->files.data[i]->fd);
		free(t->files.data[i]);
	}
	vec_fini(&t->files);
	stack_trace_free(t->trace);
	process_pages_free(t->pages);
	core_fini(&t->core);
	free(t->vdso);
}

/* ---- the thread ------------------------------------------------------------------ */

/*
 * Unlike PTRACE_ATTACH, PTRACE_SEIZE does not send SIGSTOP, which could stay pending when the
 * thread is resumed.
 */
static int stop_thread(int tid, struct err *err)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return err_set(err, -errno, "cannot trace thread %d: %s", tid, strerror(errno));
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 || waitpid(tid, &status, __WALL) != tid ||
	    !WIFSTOPPED(status))
		return err_set(err, -ESRCH, "cannot stop thread %d: it has exited", tid);
	return 0;
}

static int read_registers(struct core *c, int tid, struct err *err)
{
	struct user_regs_struct u;
	struct iovec all = { &u, sizeof(u) };

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &all) < 0)
		return err_set(err, -errno, "cannot read the registers of thread %d: %s", tid,
			       strerror(errno));
	arch_registers(&u, c->regs);
	c->thread_pointer = arch_thread_pointer(&u);
	c->pid = tid;
	return 0;
}

/* ---- mappings ---------------------------------------------------------------------- */

/*
 * Opens the mapped file itself, even if its path leads elsewhere by now. The kernel grants
 * map_files to privileged processes only; others open the path if it still leads to that file.
 */
static int open_mapped(int pid, const struct proc_map *m)
{
	char path[PROC_PATH_MAX + 32];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start,
		 m->end);
	fd = regular_file_open(path, NULL);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, m->path);
	fd = regular_file_open(path, &st);
	if (fd >= 0 && st.st_ino == m->inode)
		return fd;
	closep(&fd);
	return -ENOENT;
}

static int file_index(struct thread_capture *t, const struct proc_map *m, uint32_t *out)
{
	struct core_file shown = { 0 };
	struct open_file *f;
	struct stat st;

	for (size_t i = 0; i < t->files.len; i++) {
		if (!strcmp(t->files.data[i]->path, m->path)) {
			*out = (uint32_t)i;
			return 0;
		}
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	snprintf(f->path, sizeof(f->path), "%s", m->path);
	f->fd = open_mapped(t->opt->pid, m);
	snprintf(f->open, sizeof(f->open), "/proc/self/fd/%d", f->fd);
	if (f->fd >= 0 && fstat(f->fd, &st) == 0)
		shown.size = (uint64_t)st.st_size;
	shown.path = f->path;
	*out = (uint32_t)t->files.len;
	if (vec_push(&t->files, f) < 0) {
		closep(&f->fd);
		free(f);
		return -ENOMEM;
	}
	return vec_push(&t->core.files, shown);
}

/* The vDSO does not have a file. If it cannot be read, its frames are walked by frame pointers. */
static int add_vdso(struct thread_capture *t, struct core_region *region)
{
	size_t len = region->end - region->start;

	if (t->vdso || len > VDSO_MAX)
		return 0;
	t->vdso = malloc(len);
	if (!t->vdso)
		return -ENOMEM;
	if (proc_memory_read((uint32_t)t->opt->pid, region->start, t->vdso, len) == 0)
		region->bytes = t->vdso;
	return 0;
}

static int on_map(void *ctx, const struct proc_map *m)
{
	struct thread_capture *t = ctx;
	struct core_region region = {
		.start = m->start, .end = m->end, .file_off = m->file_off, .file = CORE_NO_FILE
	};
	struct stack_trace_mapping map = {
		.start = m->start, .end = m->end, .file_off = m->file_off, .path = m->path
	};
	int r = 0;

	if (t->core.regions.len == REGIONS_MAX)
		return -E2BIG;
	if (m->inode && m->path[0] == '/')
		r = file_index(t, m, &region.file);
	else if (!strcmp(m->path, "[vdso]"))
		r = add_vdso(t, &region);
	if (r < 0)
		return r;
	map.bytes = region.bytes;
	if (region.file != CORE_NO_FILE && t->files.data[region.file]->fd >= 0)
		map.open = t->files.data[region.file]->open;
	r = stack_trace_add(t->trace, &map);
	return r < 0 ? r : vec_push(&t->core.regions, region);
}

/* ---- files -------------------------------------------------------------------------- */

static int add_part(struct core_file *f, const struct elf_image *elf, uint64_t off, uint64_t len)
{
	struct elf_span span;

	if (!len || elf_image_at_offset(elf, off, len, &span) < 0)
		return 0;
	return vec_push(&f->parts, (struct core_part){ off, span.data, span.len });
}

/* Does unwinding or symbolization need this section, or is it code that may lack CFI? */
static bool is_section_stored(const struct elf_section *s, const char *name)
{
	static const char *const stored[] = { ".debug_frame", ".eh_frame", ".eh_frame_hdr",
					      ".gopclntab", ".go.buildinfo" };

	for (size_t i = 0; i < sizeof(stored) / sizeof(stored[0]); i++)
		if (!strcmp(name, stored[i]))
			return true;
	if (s->flags & SHF_EXECINSTR)
		return s->size <= CODE_MAX;
	switch (s->type) {
	case SHT_DYNSYM:
	case SHT_SYMTAB:
	case SHT_STRTAB:
	case SHT_NOTE:
	case SHT_DYNAMIC:
	case SHT_RELA:
	case SHT_GNU_HASH:
		return true;
	default:
		return false;
	}
}

static int add_sections(struct core_file *f, const struct elf_image *elf, const Elf64_Ehdr *e)
{
	struct elf_section names, s;
	struct elf_span strings = { 0 };
	int r = 0;

	if (elf_image_section_header(elf, e->e_shstrndx, &names) == 0)
		(void)elf_image_at_offset(elf, names.file_off, names.size, &strings);
	for (uint32_t i = 1; i < elf_image_n_sections(elf) && r == 0; i++) {
		struct elf_span header;
		const char *name = NULL;
		Elf64_Word at;

		if (elf_image_section_header(elf, i, &s) < 0 || s.type == SHT_NOBITS ||
		    elf_image_at_offset(elf, e->e_shoff + i * sizeof(Elf64_Shdr),
					sizeof(Elf64_Shdr), &header) < 0)
			continue;
		memcpy(&at, header.data, sizeof(at));
		name = elf_span_string(&strings, at);
		if (is_section_stored(&s, name ? name : ""))
			r = add_part(f, elf, s.file_off, s.size);
	}
	return r;
}

/*
 * Wrong offsets in the headers only lead to parts that are omitted: elf_image_at_offset() checks
 * them.
 */
static int add_parts(struct core_file *f, const struct elf_image *elf)
{
	struct elf_span span;
	Elf64_Ehdr e;
	int r;

	if (elf_image_at_offset(elf, 0, sizeof(e), &span) < 0)
		return 0;
	memcpy(&e, span.data, sizeof(e));
	r = add_part(f, elf, 0, sizeof(e));
	if (r == 0)
		r = add_part(f, elf, e.e_phoff, (uint64_t)e.e_phnum * sizeof(Elf64_Phdr));
	if (r == 0)
		r = add_part(f, elf, e.e_shoff, (uint64_t)e.e_shnum * sizeof(Elf64_Shdr));
	return r < 0 ? r : add_sections(f, elf, &e);
}

/* A language runtime is recognized by its data as well. */
static bool is_stored_whole(const struct thread_capture *t, const struct core_file *f)
{
	return t->opt->whole_files ||
	       (f->size <= RUNTIME_MAX && stack_trace_is_runtime(t->trace, f->path));
}

/* Stores the identity of each file, and the parts of those that are on the stack. */
static int add_files(struct thread_capture *t)
{
	int r = 0;

	for (size_t i = 0; i < t->files.len && r == 0; i++) {
		struct open_file *f = t->files.data[i];
		struct core_file *shown = &t->core.files.data[i];

		if (f->fd < 0 || elf_image_open(&f->elf, f->fd, NULL) < 0)
			continue;
		elf_note_gnu_build_id(f->elf, &shown->build_id);
		if (!stack_trace_has_file(t->trace, f->path) || shown->size > CORE_FILE_BYTES_MAX)
			continue;
		r = is_stored_whole(t, shown) ? add_part(shown, f->elf, 0, elf_image_len(f->elf))
					      : add_parts(shown, f->elf);
	}
	return r;
}

/* ---- all of it ------------------------------------------------------------------------ */

static int walk_stopped(struct thread_capture *t, int tid, struct err *err)
{
	struct stack_trace_thread thread = { .pid = t->opt->pid,
					     .read = process_pages_read,
					     .ctx = t->pages };
	int r = read_registers(&t->core, tid, err);

	if (r == 0)
		r = proc_maps_read(t->opt->pid, PROC_MAPS_EXEC, on_map, t, err);
	if (r < 0)
		return err_set(err, r, "cannot read the mappings of process %d: %s", t->opt->pid,
			       strerror(-r));
	memcpy(thread.regs, t->core.regs, sizeof(thread.regs));
	thread.thread_pointer = t->core.thread_pointer;
	return stack_trace_walk(t->trace, &thread);
}

/*
 * Walks the thread, resumes it if @resume, and reads those parts of the files that are stored. The
 * thread is resumed in any case, also after an error.
 */
static int capture_thread(struct thread_capture *t, int tid, bool resume, struct buf *trace,
			  struct err *err)
{
	int r = process_pages_new(&t->pages, t->opt->pid);

	if (r == 0)
		r = stack_trace_new(&t->trace);
	if (r == 0)
		r = walk_stopped(t, tid, err);
	if (resume)
		(void)ptrace(PTRACE_DETACH, tid, NULL, NULL);
	if (r == 0)
		r = add_files(t);
	if (r < 0)
		return r;
	process_pages_scrub(t->pages);
	stack_trace_print(t->trace, trace);
	return buf_error(trace);
}

static int capture(const struct capture_options *opt, bool resume, struct buf *out,
		   struct buf *trace, struct err *err)
{
	_cleanup_(thread_capture_fini) struct thread_capture t = { .opt = opt };
	int r = capture_thread(&t, opt->tid ? opt->tid : opt->pid, resume, trace, err);

	if (r == 0) {
		t.core.trace = (const char *)trace->data;
		t.core.trace_len = trace->len;
		core_write(out, &t.core, t.pages);
		r = buf_error(out);
	}
	return r < 0 ? err_set(err, r, "cannot capture process %d: %s", opt->pid, strerror(-r)) : 0;
}

int capture_stopped(const struct capture_options *opt, struct buf *out, struct buf *trace,
		    struct err *err)
{
	return capture(opt, false, out, trace, err);
}

int capture_take(const struct capture_options *opt, struct buf *out, struct buf *trace,
		 struct err *err)
{
	int r = stop_thread(opt->tid ? opt->tid : opt->pid, err);

	return r < 0 ? r : capture(opt, true, out, trace, err);
}
