/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is searched once by its build id: at the mapping's path (if that file has the id), among
 * the debug files of this machine, then at debuginfod by the thread that downloads. After a failure
 * it is not searched again for SYMBOLIZED_FILES_KEEP_S.
 *
 * A location is translated to a file offset if its mapping gives one, else it is used as a virtual
 * address of the file. The offsets of a debug file differ from those of its original; there, a
 * mapping is assumed to begin with the code if it has an offset, else with the first segment.
 *
 * A client chooses build ids and paths. A path is only used if the file there has the build id that
 * the client sent, so it learns at most that the server has a file which it could name exactly.
 *
 * Two locks: "turn" for the symbolizer, which is not thread-safe and held while it works; "lock"
 * for the list of files, held briefly. "turn" comes first.
 */
#include "server/ingest_symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"
#include "elf/image.h"
#include "profile/profile.h"
#include "server/symbolized_files.h"
#include "symbol/debugfile.h"
#include "symbol/debuginfod.h"
#include "symbol/symbolizer.h"

enum {
	MAX_MAPPINGS = 512, /* per profile */
	TIMEOUT_MS = 3000,
	PAGE = 4096,
	TABLES_BYTES = 32 << 20,
};

struct ingest_symbolizer {
	pthread_mutex_t turn;
	struct symbolizer *symbolizer;
	struct debuginfod *debuginfod; /* the downloading thread's; or NULL */
	int root;
	bool by_path;
	pthread_mutex_t lock;      /* guards files and stop */
	pthread_cond_t work, done; /* a search began or ended */
	struct symbolized_files files;
	bool stop, running;
	_Atomic uint64_t until_ns; /* look-ups end then, when the server stops; 0: it does not */
	pthread_t downloader;
};

void ingest_symbolizer_stop(struct ingest_symbolizer *s)
{
	atomic_store(&s->until_ns, clock_monotonic_ns() + TIMEOUT_MS * (uint64_t)CLOCK_MS_NS);
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->work);
	pthread_cond_broadcast(&s->done);
	pthread_mutex_unlock(&s->lock);
}

void ingest_symbolizer_free(struct ingest_symbolizer *s)
{
	if (!s)
		return;
	ingest_symbolizer_stop(s);
	if (s->running)
		pthread_join(s->downloader, NULL);
	symbolizer_free(s->symbolizer);
	debuginfod_free(s->debuginfod);
	symbolized_files_fini(&s->files);
	closep(&s->root);
	pthread_mutex_destroy(&s->turn);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->work);
	pthread_cond_destroy(&s->done);
	free(s);
}

/* The waits for downloads end at a monotonic time, which a change of the clock does not move. */
static void init_locks(struct ingest_symbolizer *s)
{
	pthread_mutex_init(&s->turn, NULL);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->done, NULL);
}

/*
 * False if the mapping has none, or none that is hexadecimal and of at most ELF_BUILD_ID_MAX bytes.
 */
static bool read_build_id(const struct profile *p, const struct profile_mapping *m,
			  struct elf_build_id *out)
{
	_cleanup_(buf_fini) struct buf bytes = { 0 };

	if (!m->build_id || hex_decode(profile_string(p, m->build_id),
				       profile_string_len(p, m->build_id), &bytes) < 0)
		return false;
	if (!bytes.len || bytes.len > ELF_BUILD_ID_MAX)
		return false;
	*out = (struct elf_build_id){ .len = (uint8_t)bytes.len };
	memcpy(out->bytes, bytes.data, bytes.len);
	return true;
}

/*
 * Finds the first page of a debug file and of its code. False unless there is exactly one
 * executable segment.
 */
static bool find_code(int fd, struct symbolized_file *f)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	const struct elf_segment *segments;
	size_t n, n_exec = 0;

	if (elf_image_open(&img, fd, NULL) < 0)
		return false;
	n = elf_image_segments(img, &segments);
	f->first = UINT64_MAX;
	for (size_t i = 0; i < n; i++) {
		uint64_t page = segments[i].vaddr - segments[i].vaddr % PAGE;

		f->first = page < f->first ? page : f->first;
		if (!segments[i].exec)
			continue;
		f->code = page;
		n_exec++;
	}
	return n_exec == 1;
}

/* Reads @fd and closes it. The caller has the turn. */
static void use_file(struct ingest_symbolizer *s, int fd, const char *path,
		     struct symbolized_file *f)
{
	const struct symbolizer_file file = {
		.fd = fd, .root_fd = -1, .debug_fd = -1, .path = path
	};
	bool usable = fd >= 0 && (!f->is_debug || find_code(fd, f)) &&
		      symbolizer_add_file(s->symbolizer, &file, &f->file) == 0;

	f->state = usable ? FOUND : MISSING;
	f->searched_ms = clock_monotonic_ms();
	closep(&fd);
}

/* Searches this machine. If the file is not found, the downloader searches it later. */
static void search_here(struct ingest_symbolizer *s, const char *path, struct symbolized_file *f)
{
	int fd = path[0] == '/' ? debugfile_open_checked(s->root, path, &f->id) : -1;

	f->is_debug = fd < 0;
	if (fd < 0)
		fd = debugfile_open_by_id(s->root, &f->id);
	if (fd < 0 && s->debuginfod)
		f->state = SEARCHING;
	else
		use_file(s, fd, path, f);
}

/*
 * Stores the result of a search. The caller has the turn, which is required to release the file
 * that is evicted for it. Returns 0 or -ENOMEM.
 */
static int put_file(struct ingest_symbolizer *s, struct symbolized_file *f)
{
	struct symbolized_file evicted;
	bool has_evicted;
	int r;

	f->used_ms = clock_monotonic_ms();
	pthread_mutex_lock(&s->lock);
	r = symbolized_files_put(&s->files, f, f->used_ms, &evicted, &has_evicted);
	if (r == 0 && f->state == SEARCHING)
		pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	if (has_evicted && evicted.state == FOUND)
		symbolizer_release_file(s->symbolizer, evicted.file);
	if (r < 0 && f->state == FOUND)
		symbolizer_release_file(s->symbolizer, f->file);
	return r == -ENOSPC ? 0 : r;
}

/*
 * Searches the file with a build id unless that was done recently. The caller has the turn, so no
 * other thread adds the same file. Without room in the table, it is not searched.
 */
static int search_file(struct ingest_symbolizer *s, const struct elf_build_id *id, const char *path)
{
	struct symbolized_file f = { .id = *id };
	bool search;

	pthread_mutex_lock(&s->lock);
	search = symbolized_files_should_search(&s->files, id, clock_monotonic_ms());
	pthread_mutex_unlock(&s->lock);
	if (!search)
		return 0;
	search_here(s, path, &f);
	return put_file(s, &f);
}

/* The entry of a file that was found, as a copy. */
static bool found_file(struct ingest_symbolizer *s, const struct elf_build_id *id,
		       struct symbolized_file *out)
{
	struct symbolized_file *known;
	bool found;

	pthread_mutex_lock(&s->lock);
	known = symbolized_files_find(&s->files, id);
	found = known && known->state == FOUND;
	if (known)
		known->used_ms = clock_monotonic_ms();
	if (found)
		*out = *known;
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* Downloads files one after the other, in the order in which profiles needed them. */
static void *downloader_main(void *arg)
{
	struct ingest_symbolizer *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		const struct symbolized_file *next = symbolized_files_next_search(&s->files);
		struct symbolized_file f;
		int fd;

		if (!next) {
			pthread_cond_wait(&s->work, &s->lock);
			continue;
		}
		f = *next;
		pthread_mutex_unlock(&s->lock);
		fd = debuginfod_find(s->debuginfod, &f.id);
		pthread_mutex_lock(&s->turn);
		use_file(s, fd, "", &f);
		put_file(s, &f); /* replaces the entry, which needs no memory */
		pthread_mutex_unlock(&s->turn);
		pthread_mutex_lock(&s->lock);
		pthread_cond_broadcast(&s->done);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/*
 * Finds the file at the path of a mapping without build id, if the options allow that. The caller
 * releases it, since another file may be there the next time.
 */
static bool find_unchecked(struct ingest_symbolizer *s, const char *path,
			   struct symbolized_file *out)
{
	struct symbolizer_file file = { .root_fd = -1, .debug_fd = -1, .path = path };
	bool found;

	if (!s->by_path || path[0] != '/')
		return false;
	file.fd = debugfile_open_at(s->root, path);
	if (file.fd < 0)
		return false;
	*out = (struct symbolized_file){ .state = FOUND };
	found = symbolizer_add_file(s->symbolizer, &file, &out->file) == 0;
	close(file.fd);
	return found;
}

/* Unsymbolized locations of one file, looked up as one batch. */
struct batch {
	struct profile *p;
	struct {
		VEC(uint32_t);
	} locations;
	struct {
		VEC(uint64_t);
	} addresses;
	struct {
		VEC(struct profile_line);
	} lines;
};

static void batch_fini(struct batch *pl)
{
	vec_fini(&pl->locations);
	vec_fini(&pl->addresses);
	vec_fini(&pl->lines);
}

/* NULL becomes string 0, which is "". */
static int add_text(struct profile *p, const char *text, uint32_t *out)
{
	return text ? profile_add_string(p, text, strlen(text), out) : 0;
}

/* Stores the functions and lines of one location, innermost first. */
static int on_frames(void *ctx, size_t cookie, const struct symbol_frame *frames, size_t n_frames)
{
	struct batch *pl = ctx;
	int r = 0;

	pl->lines.len = 0;
	for (size_t i = 0; r == 0 && i < n_frames; i++) {
		struct profile_function f = { .start_line = frames[i].start_line };
		struct profile_line line = { .line = frames[i].line };

		r = add_text(pl->p, frames[i].name, &f.name);
		if (r == 0)
			r = add_text(pl->p, frames[i].system_name, &f.system_name);
		if (r == 0)
			r = add_text(pl->p, frames[i].file, &f.file);
		if (r == 0)
			r = profile_add_function(pl->p, &f, &line.function);
		if (r == 0)
			r = vec_push(&pl->lines, line);
	}
	return r < 0 ? r
		     : profile_set_location_lines(pl->p, pl->locations.data[cookie], pl->lines.data,
						  pl->lines.len);
}

/*
 * Symbolizes the locations of a mapping that lie within its address range (by offset) or outside
 * (by address). One batch per file and kind of address, since each batch is a round trip to the
 * sandbox.
 */
static int symbolize_locations(struct ingest_symbolizer *s, const struct symbolized_file *f,
			       struct batch *pl, uint32_t mapping, bool within)
{
	const struct profile_mapping m = *profile_mapping(pl->p, mapping);

	pl->locations.len = pl->addresses.len = 0;
	for (uint32_t i = 0; i < profile_n_locations(pl->p); i++) {
		struct profile_location l = profile_location(pl->p, i);
		uint64_t at = l.address;

		if (l.mapping != mapping || l.n_lines ||
		    (l.address >= m.start && l.address < m.limit) != within)
			continue;
		if (within)
			at = at - m.start +
			     (!f->is_debug ? m.file_off
			      : m.file_off ? f->code
					   : f->first);
		if (vec_push(&pl->locations, i) < 0 || vec_push(&pl->addresses, at) < 0)
			return -ENOMEM;
	}
	if (!pl->locations.len)
		return 0;
	return symbolizer_resolve(s->symbolizer, f->file,
				  within && !f->is_debug ? SYMBOLIZER_OFFSET : SYMBOLIZER_VADDR,
				  pl->addresses.data, pl->addresses.len, on_frames, pl);
}

/*
 * Symbolizes one mapping. Failures other than lack of memory leave it unsymbolized. Addresses
 * within the mapping's range are translated by its offset; profiles of other tools also have
 * addresses that are relative to the file already, which lie outside of the range.
 */
static int symbolize_mapping(struct ingest_symbolizer *s, struct profile *p, uint32_t mapping)
{
	_cleanup_(batch_fini) struct batch pl = { .p = p };
	const struct profile_mapping *m = profile_mapping(p, mapping);
	struct symbolized_file f;
	struct elf_build_id id;
	bool has_id = read_build_id(p, m, &id);
	int r;

	if (has_id ? !found_file(s, &id, &f) : !find_unchecked(s, profile_string(p, m->file), &f))
		return 0;
	r = symbolize_locations(s, &f, &pl, mapping, true);
	if (r == 0)
		r = symbolize_locations(s, &f, &pl, mapping, false);
	if (!has_id)
		symbolizer_release_file(s->symbolizer, f.file);
	return r == -ENOMEM ? r : 0;
}

/* Marks the mappings that have unsymbolized locations. */
static bool *find_unsymbolized(const struct ingest_symbolizer *s, const struct profile *p,
			       bool *out_any)
{
	bool *unsymbolized = calloc((size_t)profile_n_mappings(p) + 1, sizeof(*unsymbolized));

	*out_any = false;
	for (uint32_t i = 0; unsymbolized && i < profile_n_locations(p); i++) {
		struct profile_location l = profile_location(p, i);

		if (l.n_lines || l.mapping == PROFILE_NONE ||
		    (!s->by_path && !profile_mapping(p, l.mapping)->build_id))
			continue;
		unsymbolized[l.mapping] = true;
		*out_any = true;
	}
	return unsymbolized;
}

bool ingest_symbolizer_can_help(struct ingest_symbolizer *s, const struct profile *p)
{
	bool any, can = false;
	_cleanup_(freep) bool *unsymbolized = find_unsymbolized(s, p, &any);
	struct elf_build_id id;

	if (!unsymbolized || !any)
		return false;
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; !can && i < profile_n_mappings(p); i++) {
		const struct symbolized_file *known;

		if (!unsymbolized[i])
			continue;
		if (!read_build_id(p, profile_mapping(p, i), &id)) {
			can = s->by_path;
			continue;
		}
		known = symbolized_files_find(&s->files, &id);
		can = (known && known->state != MISSING) ||
		      symbolized_files_should_search(&s->files, &id, clock_monotonic_ms());
	}
	pthread_mutex_unlock(&s->lock);
	return can;
}

typedef int (*mapping_fn)(struct ingest_symbolizer *s, struct profile *p, uint32_t mapping);

static int search_mapping(struct ingest_symbolizer *s, struct profile *p, uint32_t mapping)
{
	const struct profile_mapping *m = profile_mapping(p, mapping);
	struct elf_build_id id;

	return read_build_id(p, m, &id) ? search_file(s, &id, profile_string(p, m->file)) : 0;
}

/* Calls @fn for the marked mappings, one profile at a time. */
static int for_mappings(struct ingest_symbolizer *s, struct profile *p, const bool *marked,
			mapping_fn fn)
{
	uint32_t n = 0;
	int r = 0;

	pthread_mutex_lock(&s->turn);
	for (uint32_t i = 0; r == 0 && i < profile_n_mappings(p) && n < MAX_MAPPINGS; i++) {
		if (!marked[i])
			continue;
		n++;
		r = fn(s, p, i);
	}
	pthread_mutex_unlock(&s->turn);
	return r;
}

/* Returns true if a file of the profile is being downloaded. Called with the lock. */
static bool is_searching(struct ingest_symbolizer *s, const struct profile *p, const bool *marked)
{
	struct elf_build_id id;

	for (uint32_t i = 0; i < profile_n_mappings(p); i++) {
		const struct symbolized_file *known;

		if (!marked[i] || !read_build_id(p, profile_mapping(p, i), &id))
			continue;
		known = symbolized_files_find(&s->files, &id);
		if (known && known->state == SEARCHING)
			return true;
	}
	return false;
}

/* Ends at @until_ns, or when the server stops; the files that are there by then are used. */
static void wait_for_downloads(struct ingest_symbolizer *s, const struct profile *p,
			       const bool *marked, uint64_t until_ns)
{
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (r == 0 && !s->stop && is_searching(s, p, marked))
		r = thread_wait_until(&s->done, &s->lock, until_ns);
	pthread_mutex_unlock(&s->lock);
}

/*
 * At most MAX_MAPPINGS mappings per profile are looked up, so that one profile cannot occupy the
 * symbolizer.
 */
int ingest_symbolizer_apply(struct ingest_symbolizer *s, struct profile *p, uint64_t until_ns)
{
	bool any;
	_cleanup_(freep) bool *unsymbolized = find_unsymbolized(s, p, &any);
	int r = unsymbolized ? 0 : -ENOMEM;

	if (r < 0 || !any)
		return r;
	r = for_mappings(s, p, unsymbolized, search_mapping);
	if (r == 0 && s->debuginfod)
		wait_for_downloads(s, p, unsymbolized, until_ns);
	return r < 0 ? r : for_mappings(s, p, unsymbolized, symbolize_mapping);
}

int ingest_symbolizer_new(struct ingest_symbolizer **out,
			  const struct ingest_symbolizer_options *opt)
{
	struct symbolizer_opts symbols = { .memory_bytes = TABLES_BYTES, .timeout_ms = TIMEOUT_MS };
	const struct debuginfod_opts debuginfod = { .fetcher = opt->fetcher,
						    .urls = opt->debuginfod,
						    .cache_dir = opt->debuginfod_cache,
						    .timeout_ms = TIMEOUT_MS };
	_cleanup_(ingest_symbolizer_freep) struct ingest_symbolizer *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	init_locks(s);
	s->by_path = opt->by_path;
	s->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	symbols.until_ns = &s->until_ns;
	r = symbolizer_new(&s->symbolizer, &symbols);
	if (r == 0 && opt->debuginfod && opt->fetcher)
		r = debuginfod_new(&s->debuginfod, &debuginfod, NULL);
	if (r == 0 && s->debuginfod) {
		r = thread_start(&s->downloader, downloader_main, s);
		s->running = r == 0;
	}
	if (r == 0)
		*out = steal_ptr(&s);
	return r;
}
