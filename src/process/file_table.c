/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two indices lead to an id. The first, by device and inode, saves opening the file; it holds only
 * while the file, which is kept open, has the same size and modification time. The second, by a
 * hash of build id, both ends and size, finds equal executables of different containers. A match
 * there is confirmed by same_file(), which compares the content: any file can claim libc's build
 * id, and a stripped copy has the build id of its original. Files that are not ELF files are not
 * compared: each has its own id.
 */
#include "process/file_table.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/index.h"
#include "base/regular_file.h"
#include "base/vec.h"
#include "bpf/shared/abi.h"
#include "lang/lang.h"
#include "proc/root.h"
#include "process/table_maker.h"
#include "reader/facts_client.h"
#include "unwind/tables.h"

/* An inode with the content of a file. It is kept open to detect that it was overwritten. */
struct inode {
	uint32_t dev_major, dev_minor;
	uint64_t number; /* 0: overwritten since, no longer valid */
	uint32_t path;   /* path_hash() if device and number are ambiguous, else 0 */
	int fd;
	bool owns_fd; /* false: uses the descriptor of struct mapped_file */
	struct stat st;
	uint32_t file;
	uint32_t owner; /* mapped_file_owner() */
};

enum {
	COPIES_MAX = 64 << 20,
	/*
	 * Descriptors that are reserved for everything else: BPF, child processes, connections, and
	 * the rings of each CPU.
	 */
	OTHER_FDS = 96,
	OTHER_FDS_OF_CPU = 4,
	FDS_MIN = 8,
};

struct file_table {
	struct unwind_tables *tables;
	struct table_maker *maker;
	struct mapped_file_context context;
	struct {
		VEC(struct mapped_file *);
	} all; /* by id; [0] is unused */
	struct {
		VEC(struct inode);
	} inodes;
	struct index by_inode; /* maps to an index of inodes */
	struct index by_content;
	uint32_t vdso;
	bool vdso_tried;
	uint64_t last_serial;
	struct {
		VEC(uint32_t);
	} free_ids; /* the first one is reused next */
	uint32_t n_live;
	uint64_t n_forgotten;
	unsigned int n_fds, fds_max; /* descriptors that files and inodes hold */
	/* ids of FILE_TABLE_REFUSED and FILE_TABLE_UNREAD, 0 before the first such file */
	uint32_t refused, unread;
	uint64_t n_refused, n_unread, n_full;
	uint64_t copied_bytes; /* in copies that files hold */
	uint64_t copies_max;
};

struct find_key {
	const struct file_table *f;
	const struct file_ref *ref;
	const struct mapped_file *file;
};

void file_table_set_limit(struct file_table *f, unsigned int n_descriptors)
{
	f->fds_max = n_descriptors;
}

static struct mapped_file *get(void *ctx, uint32_t id)
{
	const struct file_table *f = ctx;

	return id && id < f->all.len ? f->all.data[id] : NULL;
}

static int create_maker(struct file_table *f, const struct file_table_opts *opts)
{
	const struct table_maker_opts maker = {
		.tables = opts->tables,
		.readers = opts->readers,
		.n_readers = opts->n_table_readers,
		.table_bytes = opts->table_bytes,
		.own_root = f->context.own_root,
		.find = get,
		.ctx = f,
	};

	return table_maker_new(&f->maker, &maker);
}

/* Files may hold half of the descriptors that nothing else needs. */
static unsigned int choose_fds_max(void)
{
	rlim_t others = OTHER_FDS + OTHER_FDS_OF_CPU * (rlim_t)sysconf(_SC_NPROCESSORS_CONF);
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < others + 2 * FDS_MIN)
		return FDS_MIN;
	limit.rlim_cur -= others;
	return limit.rlim_cur < UINT_MAX ? (unsigned int)(limit.rlim_cur / 2) : UINT_MAX;
}

int file_table_new(struct file_table **out, const struct file_table_opts *opts)
{
	_cleanup_(file_table_freep) struct file_table *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->fds_max = choose_fds_max();
	f->tables = opts->tables;
	f->context.readers = opts->readers;
	f->copies_max = COPIES_MAX;
	f->context.own_root = proc_root_open((int)getpid());
	r = vec_push(&f->all, NULL);
	if (r == 0)
		r = create_maker(f, opts);
	if (r == 0)
		*out = steal_ptr(&f);
	return r;
}

void file_table_free(struct file_table *f)
{
	if (!f)
		return;
	table_maker_free(f->maker);
	for (size_t i = 0; i < f->all.len; i++)
		mapped_file_free(f->all.data[i]);
	vec_fini(&f->all);
	for (size_t i = 0; i < f->inodes.len; i++)
		if (f->inodes.data[i].owns_fd)
			close(f->inodes.data[i].fd);
	vec_fini(&f->inodes);
	vec_fini(&f->free_ids);
	index_fini(&f->by_inode);
	index_fini(&f->by_content);
	closep(&f->context.own_root);
	free(f);
}

const struct file_info *file_table_get(const struct file_table *f, uint32_t id)
{
	return id && id < f->all.len && f->all.data[id] ? &f->all.data[id]->info : NULL;
}

uint32_t file_table_count(const struct file_table *f)
{
	return (uint32_t)f->all.len - 1;
}

static uint32_t inode_hash(uint32_t major, uint32_t minor, uint64_t inode)
{
	return hash_pair(inode, (uint64_t)major << 32 | minor);
}

static uint32_t path_hash(const struct file_ref *ref)
{
	uint32_t hash = hash_bytes(ref->path, strlen(ref->path));

	return hash ? hash : 1;
}

static bool same_inode(const void *ctx, uint32_t id)
{
	const struct find_key *k = ctx;
	const struct inode *inode = &k->f->inodes.data[id];

	return inode->number == k->ref->inode && inode->dev_major == k->ref->dev_major &&
	       inode->dev_minor == k->ref->dev_minor &&
	       (!inode->path || inode->path == path_hash(k->ref));
}

static bool same_content(const void *ctx, uint32_t id)
{
	const struct find_key *k = ctx;
	const struct mapped_file *file = k->f->all.data[id];

	return file->content[0] == k->file->content[0] && file->content[1] == k->file->content[1] &&
	       facts_client_same(k->f->context.readers, file->info.fd, k->file->info.fd,
				 mapped_file_owner(k->file));
}

/*
 * Returns false if the file was overwritten in place: it is another file then, with the same
 * inode.
 */
static bool inode_unchanged(const struct inode *inode)
{
	struct stat st;

	return regular_file_stat(inode->fd, &st) == 0 && st.st_size == inode->st.st_size &&
	       st.st_mtim.tv_sec == inode->st.st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == inode->st.st_mtim.tv_nsec;
}

static uint32_t find_by_inode(struct file_table *f, const struct file_ref *ref)
{
	uint32_t hash = inode_hash(ref->dev_major, ref->dev_minor, ref->inode), i;
	struct find_key key = { f, ref, NULL };

	if (!ref->inode || !index_find(&f->by_inode, hash, same_inode, &key, &i))
		return FILE_ID_NONE;
	if (inode_unchanged(&f->inodes.data[i]))
		return f->inodes.data[i].file;
	index_remove(&f->by_inode, hash, i);
	f->inodes.data[i].number = 0;
	return FILE_ID_NONE;
}

void file_table_set_langs(struct file_table *f, struct langs *langs)
{
	f->context.langs = langs;
}

/*
 * Records the inode of @ref as having the content of file @id. @fd is a descriptor of it and
 * passes to the table (*@fd becomes -1). If it is negative, the descriptor of the file
 * itself is used. @fs_magic: of its file system. @owner is charged for the descriptor.
 */
static void add_inode(struct file_table *f, const struct file_ref *ref, uint32_t id,
		      unsigned long fs_magic, uint32_t owner, int *fd)
{
	int own = f->all.data[id]->info.fd;
	struct inode inode = { .dev_major = ref->dev_major,
			       .dev_minor = ref->dev_minor,
			       .number = ref->inode,
			       .fd = *fd >= 0 ? *fd : own,
			       .owns_fd = *fd >= 0,
			       .file = id,
			       .owner = owner };

	if (!ref->inode || inode.fd < 0 || regular_file_stat(inode.fd, &inode.st) < 0)
		return;
	/* subvolumes number their inodes independently, but mappings show one device for all */
	if (fs_magic == BTRFS_SUPER_MAGIC)
		inode.path = path_hash(ref);
	if (vec_push(&f->inodes, inode) < 0)
		return;
	f->n_fds += inode.owns_fd;
	*fd = -1;
	(void)index_add(&f->by_inode, inode_hash(ref->dev_major, ref->dev_minor, ref->inode),
			(uint32_t)f->inodes.len - 1);
}

/*
 * Returns an id that was never assigned or, if there is none, the one that has been free the
 * longest.
 */
static uint32_t new_id(struct file_table *f, struct mapped_file *file)
{
	uint32_t id = (uint32_t)f->all.len;

	if (id < UNWIND_FILES_MAX)
		return vec_push(&f->all, file) < 0 ? FILE_ID_NONE : id;
	if (!f->free_ids.len)
		return FILE_ID_NONE;
	id = f->free_ids.data[0];
	memmove(f->free_ids.data, f->free_ids.data + 1, --f->free_ids.len * sizeof(id));
	f->all.data[id] = file;
	return id;
}

static uint64_t copy_bytes(const struct mapped_file *file)
{
	return file->is_copy ? (uint64_t)file->st.st_size : 0;
}

static uint32_t file_add(struct file_table *f, struct mapped_file *file)
{
	uint32_t id = new_id(f, file);

	if (!id) {
		f->n_full++;
		mapped_file_free(file);
		return FILE_ID_NONE;
	}
	f->n_live++;
	f->n_fds += mapped_file_descriptors(file);
	f->copied_bytes += copy_bytes(file);
	file->info.serial = ++f->last_serial;
	if (file->info.fd < 0) {
		unwind_tables_set_absent(f->tables, id);
		return id;
	}
	(void)index_add(&f->by_content, (uint32_t)file->content[0], id);
	return id;
}

/* Returns the id that all files share that were not opened for the same reason. */
static uint32_t shared_id(struct file_table *f, uint32_t *id, const char *path)
{
	struct mapped_file *file = *id ? NULL : mapped_file_alloc(path);

	if (file)
		*id = file_add(f, file);
	return *id;
}

static uint32_t refuse(struct file_table *f)
{
	f->n_refused++;
	return shared_id(f, &f->refused, FILE_TABLE_REFUSED);
}

static uint32_t skip_unread(struct file_table *f)
{
	f->n_unread++;
	return shared_id(f, &f->unread, FILE_TABLE_UNREAD);
}

/* Counts the descriptors of files that @user owns. */
static unsigned int n_owned(const struct file_table *f, uint32_t user)
{
	unsigned int n = 0;

	for (uint32_t id = 1; id < f->all.len; id++)
		if (f->all.data[id] && mapped_file_owner(f->all.data[id]) == user)
			n += mapped_file_descriptors(f->all.data[id]);
	for (size_t i = 0; i < f->inodes.len; i++)
		n += f->inodes.data[i].owns_fd && f->inodes.data[i].owner == user;
	return n;
}

static bool owner_has_too_many(const struct file_table *f, const struct mapped_file *file)
{
	uint32_t user = mapped_file_owner(file);

	return user && f->n_fds >= f->fds_max / 4 && n_owned(f, user) >= f->fds_max / 4;
}

/*
 * Detects the language runtime of a file that has no equal. The entries for runtimes in the walk's
 * tables are few, so no user but root has more than a quarter of them.
 */
static void detect_runtime(struct file_table *f, struct mapped_file *file)
{
	uint32_t user = mapped_file_owner(file);
	unsigned int n = 0;

	for (uint32_t id = 1; id < f->all.len && user; id++)
		n += f->all.data[id] && f->all.data[id]->info.lang.vm &&
		     mapped_file_owner(f->all.data[id]) == user;
	if (n < VM_TABLE_MAX / 4)
		mapped_file_detect(&f->context, file);
	else if (f->context.langs)
		langs_count_full(f->context.langs);
}

uint32_t file_table_find(struct file_table *f, const struct file_ref *ref)
{
	struct find_key key = { f, ref, NULL };
	_cleanup_(closep) int fd = -1;
	struct mapped_file *file;
	unsigned long fs_magic;
	uint32_t id, owner;

	id = find_by_inode(f, ref);
	if (id)
		return id;
	if (f->n_fds >= f->fds_max)
		return refuse(f);
	f->context.copy_max =
		f->copies_max > f->copied_bytes ? (size_t)(f->copies_max - f->copied_bytes) : 1;
	file = mapped_file_open(&f->context, ref);
	if (!file)
		return FILE_ID_NONE;
	if (file->is_unread) {
		mapped_file_free(file);
		return skip_unread(f);
	}
	if (owner_has_too_many(f, file)) {
		mapped_file_free(file);
		return refuse(f);
	}
	key.file = file;
	fs_magic = file->fs_magic;
	owner = mapped_file_owner(file);
	if (file->info.fd >= 0 &&
	    index_find(&f->by_content, (uint32_t)file->content[0], same_content, &key, &id)) {
		fd = steal_fd(&file->info.fd);
		mapped_file_free(file);
	} else {
		detect_runtime(f, file);
		id = file_add(f, file);
	}
	if (id)
		add_inode(f, ref, id, fs_magic, owner, &fd);
	return id;
}

uint32_t file_table_vdso(struct file_table *f)
{
	struct mapped_file *file;

	if (f->vdso_tried)
		return f->vdso;
	f->vdso_tried = true;
	file = mapped_file_vdso(&f->context);
	f->vdso = file ? file_add(f, file) : FILE_ID_NONE;
	return f->vdso;
}

/* ---- eviction ------------------------------------------------------------- */

uint32_t file_table_n_live(const struct file_table *f)
{
	return f->n_live;
}

uint64_t file_table_n_forgotten(const struct file_table *f)
{
	return f->n_forgotten;
}

uint64_t file_table_n_refused(const struct file_table *f)
{
	return f->n_refused;
}

uint64_t file_table_n_full(const struct file_table *f)
{
	return f->n_full;
}

void file_table_set_copies_max(struct file_table *f, uint64_t bytes)
{
	f->copies_max = bytes;
}

uint64_t file_table_copied_bytes(const struct file_table *f)
{
	return f->copied_bytes;
}

uint64_t file_table_n_unread(const struct file_table *f)
{
	return f->n_unread;
}

bool file_table_is_unread(const struct file_table *f, uint32_t id)
{
	return id && id == f->unread;
}

struct table_maker *file_table_maker(struct file_table *f)
{
	return f->maker;
}

bool file_table_needs_sweep(const struct file_table *f)
{
	return f->n_live > FILE_TABLE_SWEEP_ABOVE || f->inodes.len > 2 * FILE_TABLE_SWEEP_ABOVE ||
	       f->n_fds > f->fds_max / 2;
}

void file_table_mark(struct file_table *f, uint32_t id)
{
	if (id && id < f->all.len && f->all.data[id])
		f->all.data[id]->marked = true;
}

static void evict(struct file_table *f, uint32_t id, uint64_t now_ns)
{
	struct mapped_file *file = f->all.data[id];

	/* a file whose id cannot be noted as free for lack of memory stays */
	if (id == f->vdso || id == f->refused || id == f->unread ||
	    vec_reserve(&f->free_ids, f->free_ids.len + 1) < 0)
		return;
	index_remove(&f->by_content, (uint32_t)file->content[0], id);
	table_maker_forget(f->maker, id);
	unwind_tables_drop(f->tables, id, now_ns);
	f->all.data[id] = NULL;
	f->free_ids.data[f->free_ids.len++] = id;
	f->n_live--;
	f->n_fds -= mapped_file_descriptors(file);
	f->copied_bytes -= copy_bytes(file);
	f->n_forgotten++;
	mapped_file_free(file);
}

/* Removes the inodes of evicted files and rebuilds the index, since the others move. */
static void sweep_inodes(struct file_table *f)
{
	size_t kept = 0;

	index_fini(&f->by_inode);
	for (size_t i = 0; i < f->inodes.len; i++) {
		struct inode *inode = &f->inodes.data[i];
		uint32_t hash = inode_hash(inode->dev_major, inode->dev_minor, inode->number);

		if (!inode->number || !f->all.data[inode->file] ||
		    index_add(&f->by_inode, hash, (uint32_t)kept) < 0) {
			if (inode->owns_fd)
				close(inode->fd);
			f->n_fds -= inode->owns_fd;
			continue;
		}
		f->inodes.data[kept++] = *inode;
	}
	f->inodes.len = kept;
}

void file_table_sweep(struct file_table *f, uint64_t now_ns)
{
	for (uint32_t id = 1; id < f->all.len; id++) {
		struct mapped_file *file = f->all.data[id];

		if (!file)
			continue;
		file->n_unmarked = file->marked ? 0 : file->n_unmarked + 1;
		file->marked = false;
		if (file->n_unmarked >= 2)
			evict(f, id, now_ns);
		if (f->all.data[id] && f->context.langs)
			langs_mark(f->context.langs, f->all.data[id]->info.lang.vm);
	}
	if (f->context.langs)
		langs_sweep(f->context.langs);
	sweep_inodes(f);
}
