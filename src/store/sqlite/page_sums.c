/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each file is a struct page_file followed by the file of SQLite's own file system, to which all
 * calls are passed on. Other files than databases and logs (journals, temporary files) are opened
 * by SQLite's own file system alone.
 *
 * The header is that of "Database File Format" of SQLite, 1.3.
 */
#include "store/sqlite/page_sums.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "base/hash.h"
#include "base/sigbus.h"
#include "base/vec.h"
#include "store/sqlite/log_sums.h"
#include "store/sqlite/page_history.h"

enum {
	HEADER_LEN = 100,
	PAGE_LEN_AT = 16,
	RESERVED_AT = 20,
	MIN_PAGE_LEN = 512,
	MAX_PAGE_LEN = 8192,
	IS_ENABLED = 0x43614d65, /* file controls: set the bool that is passed */
	IS_FIXED = 0x43614d66,
};

struct page_file {
	sqlite3_file base;
	bool is_log, sums, is_fixed;
	int page_len; /* of a database; 0 while it is empty */
	struct {
		VEC(void *);
	} own_index; /* of the log of a replica */
	/*
	 * Where this connection wrote first to a log since the last flush. After it are frames
	 * of its open transaction, whose checksums SQLite may complete only when it commits.
	 */
	sqlite3_int64 unfinished;
	int index; /* of a database: the number of its log's mapped index (sigbus_watch()), or -1 */
	const struct page_file *database; /* whose log it is, or itself */
	struct page_history *history;     /* of a database; or NULL */
};

enum { INNER_AT = (sizeof(struct page_file) + 15) / 16 * 16 };

static sqlite3_file *inner(sqlite3_file *f)
{
	return (sqlite3_file *)((char *)f + INNER_AT);
}

/* ---- pages of a database ------------------------------------------------------------ */

static void page_sum(const uint8_t *page, int len, uint64_t number, uint8_t out[PAGE_SUMS_LEN])
{
	XXH64_canonical_t canonical;

	/* XXH3's value is stable since version 0.8.0, so it may be stored. */
	XXH64_canonicalFromHash(&canonical,
				XXH3_64bits_withSeed(page, (size_t)len - PAGE_SUMS_LEN, number));
	memcpy(out, canonical.digest, PAGE_SUMS_LEN);
}

static bool is_page_len(int n)
{
	return n >= MIN_PAGE_LEN && n <= MAX_PAGE_LEN && !(n & (n - 1));
}

/*
 * An empty file will have checksums; another has a header with the length of pages, in big endian,
 * and the number of reserved bytes. If it is damaged, so is the first page.
 */
static int find_header(struct page_file *p)
{
	sqlite3_file *f = inner(&p->base);
	uint8_t header[HEADER_LEN];
	sqlite3_int64 len = 0;
	int rc = f->pMethods->xFileSize(f, &len);

	p->sums = len == 0;
	if (rc == SQLITE_OK && len >= HEADER_LEN)
		rc = f->pMethods->xRead(f, header, sizeof(header), 0);
	if (rc != SQLITE_OK || len < HEADER_LEN)
		return rc;
	p->sums = header[RESERVED_AT] == PAGE_SUMS_LEN || header[RESERVED_AT] == PAGE_SUMS_RESERVED;
	p->page_len = header[PAGE_LEN_AT] << 8 | header[PAGE_LEN_AT + 1];
	if (!is_page_len(p->page_len))
		p->page_len = PAGE_SUMS_PAGE_LEN;
	return SQLITE_OK;
}

static uint64_t page_number(const struct page_file *p, sqlite3_int64 offset)
{
	return (uint64_t)(offset / p->page_len) + 1;
}

/* SQLite reads parts of the header by themselves, but uses none before it has read the page. */
static bool is_page(const struct page_file *p, int len, sqlite3_int64 offset)
{
	return len > HEADER_LEN || offset >= (p->page_len ? p->page_len : MIN_PAGE_LEN);
}

_Static_assert(sizeof(uint64_t) == PAGE_SUMS_LEN, "the history has whole checksums");
static uint64_t sum_at(const struct page_file *p, const uint8_t *page)
{
	uint64_t sum;

	memcpy(&sum, page + p->page_len - PAGE_SUMS_LEN, sizeof(sum));
	return sum;
}

/* A page must have its checksum, and be the one that was read or written before. */
static int verify_page(const struct page_file *p, const uint8_t *page, sqlite3_int64 offset)
{
	uint8_t sum[PAGE_SUMS_LEN];

	page_sum(page, p->page_len, page_number(p, offset), sum);
	if (memcmp(sum, page + p->page_len - PAGE_SUMS_LEN, PAGE_SUMS_LEN) != 0)
		return SQLITE_IOERR_DATA;
	return !p->history || page_history_is(p->history, page_number(p, offset), sum_at(p, page))
		       ? SQLITE_OK
		       : SQLITE_IOERR_DATA;
}

/*
 * Reads a page or a part of one, and verifies the whole page. Since 3.45 SQLite reads only a part
 * of overflow pages, directly into the value, although it cannot verify that; before 3.48 the file
 * cannot refuse it (SQLITE_IOCAP_SUBPAGE_READ).
 */
static int read_page(struct page_file *p, void *data, int len, sqlite3_int64 offset)
{
	uint8_t buf[MAX_PAGE_LEN], *page = buf;
	sqlite3_file *f = inner(&p->base);
	int rc = p->page_len ? SQLITE_OK : find_header(p), from;

	/* A file that is empty, or has a part of a header, has no page yet. */
	if (rc != SQLITE_OK || !p->page_len)
		return rc != SQLITE_OK ? rc : f->pMethods->xRead(f, data, len, offset);
	from = (int)(offset % p->page_len);
	if (len > p->page_len - from)
		return SQLITE_IOERR_DATA;
	if (len == p->page_len)
		page = data;
	rc = f->pMethods->xRead(f, page, p->page_len, offset - from);
	if (rc == SQLITE_IOERR_SHORT_READ)
		return SQLITE_IOERR_DATA;
	if (rc == SQLITE_OK)
		rc = verify_page(p, page, offset - from);
	if (rc == SQLITE_OK && page == buf)
		memcpy(data, page + from, (size_t)len);
	return rc;
}

/* The first page of an empty file determines the length of its pages. @page is not changed. */
static int write_page(struct page_file *p, const uint8_t *page, int len, sqlite3_int64 offset)
{
	sqlite3_file *f = inner(&p->base);
	uint8_t sealed[MAX_PAGE_LEN];
	uint64_t number;
	int rc;

	if (!p->page_len && is_page_len(len))
		p->page_len = len;
	if (len != p->page_len || offset % len)
		return SQLITE_IOERR_WRITE;
	number = page_number(p, offset);
	memcpy(sealed, page, (size_t)len - PAGE_SUMS_LEN);
	page_sum(page, len, number, sealed + len - PAGE_SUMS_LEN);
	if (p->history)
		page_history_forget(p->history, number);
	rc = f->pMethods->xWrite(f, sealed, len, offset);
	if (p->history && rc == SQLITE_OK)
		page_history_set(p->history, number, sum_at(p, sealed));
	return rc;
}

/* The first log of a file is written before its first page. */
static int page_len_of_log(const struct page_file *log)
{
	return log->database && log->database->page_len ? log->database->page_len
							: PAGE_SUMS_PAGE_LEN;
}

/* Verifies what was read from a log: during recovery the header and whole frames, later pages. */
static int verify_log(const struct page_file *p, sqlite3_file *f, const void *data, int len,
		      sqlite3_int64 offset)
{
	if (len == LOG_SUMS_HEADER_LEN && offset == 0)
		return log_sums_verify_header(f, data, page_len_of_log(p));
	if (log_sums_is_page(len, offset))
		return log_sums_verify_page(f, data, len, offset);
	return log_sums_is_frame(len, offset) ? log_sums_verify_frame(f, data, len, offset)
					      : SQLITE_OK;
}

/* ---- the index of a log ------------------------------------------------------------- */

/*
 * SQLite maps the index of a log, a file that anybody may truncate, and reads and writes it without
 * a check. Once a page of it is missing, every access to the database and to the log fails, so
 * neither a result, a commit nor a checkpoint is made by what remains of it.
 */
static bool is_lost(const struct page_file *p)
{
	return p->database && p->database->index >= 0 && sigbus_is_lost(p->database->index);
}

/* ---- methods of a file -------------------------------------------------------------- */

static int file_read(sqlite3_file *base, void *data, int len, sqlite3_int64 offset)
{
	struct page_file *p = (struct page_file *)base;
	sqlite3_file *f = inner(base);
	int rc;

	if (is_lost(p))
		return SQLITE_IOERR_SHMMAP;
	if (p->sums && is_page(p, len, offset))
		return read_page(p, data, len, offset);
	rc = f->pMethods->xRead(f, data, len, offset);
	return rc == SQLITE_OK && p->is_log && offset < p->unfinished
		       ? verify_log(p, f, data, len, offset)
		       : rc;
}

static int file_write(sqlite3_file *base, const void *data, int len, sqlite3_int64 offset)
{
	struct page_file *p = (struct page_file *)base;
	sqlite3_file *f = inner(base);

	if (p->is_fixed)
		return SQLITE_READONLY;
	if (is_lost(p))
		return SQLITE_IOERR_SHMMAP;
	if (p->is_log && offset < p->unfinished)
		p->unfinished = offset;
	return p->sums ? write_page(p, data, len, offset)
		       : f->pMethods->xWrite(f, data, len, offset);
}

static int file_sync(sqlite3_file *base, int flags)
{
	struct page_file *p = (struct page_file *)base;
	int rc = inner(base)->pMethods->xSync(inner(base), flags);

	if (rc == SQLITE_OK)
		p->unfinished = INT64_MAX;
	return rc;
}

static int file_control(sqlite3_file *base, int op, void *arg)
{
	if (op == IS_ENABLED) {
		*(bool *)arg = ((struct page_file *)base)->sums;
		return SQLITE_OK;
	}
	if (op == IS_FIXED) {
		*(bool *)arg = ((struct page_file *)base)->is_fixed;
		return SQLITE_OK;
	}
	return inner(base)->pMethods->xFileControl(inner(base), op, arg);
}

static int file_close(sqlite3_file *f)
{
	struct page_file *p = (struct page_file *)f;

	sigbus_unwatch(f);
	page_history_close(p->history);
	p->history = NULL;
	return inner(f)->pMethods->xClose(inner(f));
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 len)
{
	struct page_file *p = (struct page_file *)f;

	if (p->is_fixed)
		return SQLITE_READONLY;
	if (is_lost(p))
		return SQLITE_IOERR_SHMMAP;
	if (p->history && p->page_len)
		page_history_truncate(p->history, (uint64_t)(len / p->page_len));
	return inner(f)->pMethods->xTruncate(inner(f), len);
}

static int file_size(sqlite3_file *f, sqlite3_int64 *out)
{
	return inner(f)->pMethods->xFileSize(inner(f), out);
}

static int file_lock(sqlite3_file *f, int level)
{
	return inner(f)->pMethods->xLock(inner(f), level);
}

static int file_unlock(sqlite3_file *f, int level)
{
	return inner(f)->pMethods->xUnlock(inner(f), level);
}

static int file_check_reserved(sqlite3_file *f, int *out)
{
	return inner(f)->pMethods->xCheckReservedLock(inner(f), out);
}

static int file_sector_size(sqlite3_file *f)
{
	return inner(f)->pMethods->xSectorSize(inner(f));
}

static int file_characteristics(sqlite3_file *f)
{
	int flags = inner(f)->pMethods->xDeviceCharacteristics(inner(f));

	return ((struct page_file *)f)->is_fixed ? flags | SQLITE_IOCAP_IMMUTABLE : flags;
}

static int file_shm_map(sqlite3_file *f, int page, int len, int extend, void volatile **out)
{
	struct page_file *p = (struct page_file *)f;
	int number, rc = inner(f)->pMethods->xShmMap(inner(f), page, len, extend, out);

	if (rc != SQLITE_OK || !*out)
		return rc;
	number = sigbus_watch(p, *out, (size_t)len);
	p->index = p->index < 0 ? number : p->index;
	return number < 0 || is_lost(p) ? SQLITE_IOERR_SHMMAP : SQLITE_OK;
}

static int file_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	if (flags & SQLITE_SHM_LOCK && is_lost((struct page_file *)f))
		return SQLITE_IOERR_SHMLOCK;
	return inner(f)->pMethods->xShmLock(inner(f), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *f)
{
	inner(f)->pMethods->xShmBarrier(inner(f));
}

static int file_shm_unmap(sqlite3_file *f, int delete)
{
	struct page_file *p = (struct page_file *)f;
	bool lost = is_lost(p);

	sigbus_unwatch(p);
	p->index = -1;
	return inner(f)->pMethods->xShmUnmap(inner(f), lost ? 0 : delete);
}

/* Version 2 has no xFetch(), so SQLite maps no file into memory, where nothing is verified. */
#define READING                                                                                    \
	.iVersion = 2, .xRead = file_read, .xSync = file_sync, .xFileSize = file_size,             \
	.xFileControl = file_control, .xSectorSize = file_sector_size,                             \
	.xDeviceCharacteristics = file_characteristics

static const sqlite3_io_methods methods = {
	READING,
	.xClose = file_close,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xLock = file_lock,
	.xUnlock = file_unlock,
	.xCheckReservedLock = file_check_reserved,
	.xShmMap = file_shm_map,
	.xShmLock = file_shm_lock,
	.xShmBarrier = file_shm_barrier,
	.xShmUnmap = file_shm_unmap,
};

/* ---- methods of a file of a replica -------------------------------------------------- */

/* Nothing may change the file, whatever SQLite attempts, and nobody else does while it is used. */
static int replica_write(sqlite3_file *f, const void *data, int len, sqlite3_int64 offset)
{
	return SQLITE_READONLY;
}

static int replica_truncate(sqlite3_file *f, sqlite3_int64 len)
{
	return SQLITE_READONLY;
}

static int replica_lock(sqlite3_file *f, int level)
{
	return level > SQLITE_LOCK_SHARED ? SQLITE_BUSY : SQLITE_OK;
}

static int replica_unlock(sqlite3_file *f, int level)
{
	return SQLITE_OK;
}

static int replica_check_reserved(sqlite3_file *f, int *out)
{
	*out = 0;
	return SQLITE_OK;
}

static int replica_shm_map(sqlite3_file *f, int page, int len, int extend, void volatile **out)
{
	struct page_file *p = (struct page_file *)f;
	void *part;

	*out = (size_t)page < p->own_index.len ? p->own_index.data[page] : NULL;
	if (*out || !extend)
		return SQLITE_OK;
	if ((size_t)page > p->own_index.len)
		return SQLITE_IOERR_SHMMAP;
	part = calloc(1, (size_t)len);
	if (!part || vec_push(&p->own_index, part) < 0) {
		free(part);
		return SQLITE_NOMEM;
	}
	*out = part;
	return SQLITE_OK;
}

static int replica_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	return SQLITE_OK;
}

static void replica_shm_barrier(sqlite3_file *f)
{
}

static int replica_shm_unmap(sqlite3_file *f, int delete)
{
	struct page_file *p = (struct page_file *)f;

	for (size_t i = 0; i < p->own_index.len; i++)
		free(p->own_index.data[i]);
	vec_fini(&p->own_index);
	return SQLITE_OK;
}

static int replica_close(sqlite3_file *f)
{
	replica_shm_unmap(f, 0);
	return file_close(f);
}

static const sqlite3_io_methods replica_methods = {
	READING,
	.xClose = replica_close,
	.xWrite = replica_write,
	.xTruncate = replica_truncate,
	.xLock = replica_lock,
	.xUnlock = replica_unlock,
	.xCheckReservedLock = replica_check_reserved,
	.xShmMap = replica_shm_map,
	.xShmLock = replica_shm_lock,
	.xShmBarrier = replica_shm_barrier,
	.xShmUnmap = replica_shm_unmap,
};

/* ---- file systems ------------------------------------------------------------------- */

/*
 * The log of a replica is opened as another kind of file: SQLite gives a log to the owner of the
 * database, which changes the time in its inode even if it is the same owner.
 */
enum { REPLICA_LOG = SQLITE_OPEN_SUPER_JOURNAL };

struct page_vfs {
	sqlite3_vfs base;
	sqlite3_vfs *inner;
	bool is_fixed, is_replica;
};

/* Opening a FIFO waits for a writer, and a device may discard the data. */
static bool may_be_file(const char *path)
{
	struct stat st;

	return !path || stat(path, &st) < 0 || S_ISREG(st.st_mode);
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags,
		    int *out_flags)
{
	const struct page_vfs *v = (const struct page_vfs *)vfs;
	sqlite3_vfs *orig = v->inner;
	struct page_file *p = (struct page_file *)base;
	int rc;

	if (!(flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)))
		return orig->xOpen(orig, name, base, flags, out_flags);
	*p = (struct page_file){ .is_log = flags & SQLITE_OPEN_WAL,
				 .is_fixed = v->is_fixed,
				 .unfinished = INT64_MAX,
				 .index = -1 };
	p->database = !p->is_log ? p : (struct page_file *)sqlite3_database_file_object(name);
	memset(inner(base), 0, (size_t)orig->szOsFile);
	if (!may_be_file(name))
		return SQLITE_CANTOPEN;
	if (v->is_replica && p->is_log)
		flags = SQLITE_OPEN_READONLY | REPLICA_LOG;
	rc = orig->xOpen(orig, name, inner(base), flags, out_flags);
	if (rc == SQLITE_OK && !p->is_log)
		rc = find_header(p);
	/* the files of a replica may be replaced; its days compare their sizes and times */
	if (rc == SQLITE_OK && p->sums && name && !v->is_replica &&
	    page_history_open(&p->history, name) < 0)
		rc = SQLITE_IOERR_NOMEM;
	/* With methods SQLite closes the file itself, also after an error. */
	if (inner(base)->pMethods)
		p->base.pMethods = v->is_replica ? &replica_methods : &methods;
	return rc;
}

/* SQLite deletes a log or a journal that it takes for old. */
static int vfs_delete_nothing(sqlite3_vfs *vfs, const char *name, int sync)
{
	return SQLITE_READONLY;
}

static struct page_vfs shared = { .base = { .zName = "cameo" } };
static struct page_vfs exclusive_use = { .base = { .zName = "cameo-excl" } };
static struct page_vfs fixed = { .base = { .zName = "cameo-fixed" }, .is_fixed = true };
static struct page_vfs replica = { .base = { .zName = "cameo-replica" }, .is_replica = true };
static bool registered;

static bool add(struct page_vfs *v, const char *of)
{
	const char *name = v->base.zName;

	v->inner = sqlite3_vfs_find(of);
	if (!v->inner)
		return false;
	v->base = *v->inner;
	v->base.zName = name;
	v->base.szOsFile = INNER_AT + v->inner->szOsFile;
	v->base.xOpen = vfs_open;
	if (v->is_fixed || v->is_replica)
		v->base.xDelete = vfs_delete_nothing;
	return sqlite3_vfs_register(&v->base, 0) == SQLITE_OK;
}

static void add_all(void)
{
	registered = add(&shared, "unix") && add(&exclusive_use, "unix-excl") &&
		     add(&fixed, "unix") && add(&replica, "unix");
}

static const char *name_of(const struct page_vfs *v)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, add_all);
	return registered ? v->base.zName : NULL;
}

const char *page_sums_vfs(bool exclusive)
{
	return name_of(exclusive ? &exclusive_use : &shared);
}

const char *page_sums_vfs_fixed(void)
{
	return name_of(&fixed);
}

const char *page_sums_vfs_replica(void)
{
	return name_of(&replica);
}

bool page_sums_is_fixed(struct sqlite3 *db)
{
	bool is_fixed = false;

	return sqlite3_file_control(db, "main", IS_FIXED, &is_fixed) == SQLITE_OK && is_fixed;
}

bool page_sums_enabled(struct sqlite3 *db)
{
	bool enabled = false;

	return sqlite3_file_control(db, "main", IS_ENABLED, &enabled) == SQLITE_OK && enabled;
}

int page_sums_reserve(struct sqlite3 *db)
{
	int n = PAGE_SUMS_RESERVED;

	return sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &n);
}
