/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD that stands between a program and the files below one directory.
 *
 * It appends each change of a file or a name, and each flush, to a log, from which a test computes
 * the states in which a loss of power can leave the disk (power.py). It can also let writes and
 * flushes fail. Files whose names end in -shm are ignored: SQLite maps them, and does not rely on
 * their content after a restart.
 *
 *	CAMEO_DISK_DIR     the directory, an absolute path
 *	CAMEO_DISK_LOG     the log; flushes are then recorded but not done
 *	CAMEO_DISK_FAULTS  a file with a struct faults, which is mapped and may change
 *
 * A record is a struct record, a path of path_len bytes (for 'R' two, with a NUL after the first)
 * and data_len bytes. One lock serializes all changes, so the order of the log is theirs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FDS = 4096 };

struct record {
	uint8_t op;
	uint8_t zero[3];
	uint32_t path_len;
	uint64_t inode, offset, data_len;
};

/*
 * Writes (kinds & 1) and flushes (kinds & 2) are counted; number @at fails, or all from there on.
 */
struct faults {
	volatile int32_t count, at, error, kinds, sticky;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *paths[FDS]; /* of open files below the directory */
static const char *dir;
static size_t dir_len;
static int log_fd = -1;
static pid_t owner; /* children close files without close() */
static struct faults *faults;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void init(void)
{
	const char *log = getenv("CAMEO_DISK_LOG"), *control = getenv("CAMEO_DISK_FAULTS");
	void *map;
	int fd;

	owner = getpid();
	dir = getenv("CAMEO_DISK_DIR");
	dir_len = dir ? strlen(dir) : 0;
	if (log)
		log_fd = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (!control)
		return;
	fd = REAL(open)(control, O_RDWR | O_CLOEXEC);
	map = mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	faults = map == MAP_FAILED ? NULL : map;
	close(fd);
}

static int is_ours(const char *path)
{
	size_t len = strlen(path);

	return dir && getpid() == owner && !strncmp(path, dir, dir_len) &&
	       (!path[dir_len] || path[dir_len] == '/') &&
	       !(len > 4 && !strcmp(path + len - 4, "-shm"));
}

static void put(uint8_t op, const char *path, size_t path_len, uint64_t inode, uint64_t offset,
		const void *data, size_t len)
{
	struct record r = { .op = op,
			    .path_len = (uint32_t)path_len,
			    .inode = inode,
			    .offset = offset,
			    .data_len = len };
	char *all;

	if (log_fd < 0)
		return;
	all = malloc(sizeof(r) + path_len + len);
	if (!all)
		abort();
	memcpy(all, &r, sizeof(r));
	memcpy(all + sizeof(r), path, path_len);
	if (len)
		memcpy(all + sizeof(r) + path_len, data, len);
	if (REAL(write)(log_fd, all, sizeof(r) + path_len + len) !=
	    (ssize_t)(sizeof(r) + path_len + len))
		abort();
	free(all);
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static int tracked(int fd)
{
	return fd >= 0 && fd < FDS && paths[fd] && getpid() == owner;
}

/* Should this operation fail? Sets errno. */
static int fails(int kind)
{
	int n;

	if (!faults || !(faults->kinds & kind) || !faults->at)
		return 0;
	n = ++faults->count;
	if (n != faults->at && !(faults->sticky && n > faults->at))
		return 0;
	errno = faults->error;
	return 1;
}

/* ---- opening ------------------------------------------------------------------------ */

static int open_any(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode)
{
	int existed, fd;

	if (!is_ours(path) || (flags & O_TMPFILE) == O_TMPFILE)
		return real(path, flags, mode);
	pthread_mutex_lock(&lock);
	existed = access(path, F_OK) == 0;
	if (!existed && (flags & O_CREAT) && fails(1)) {
		pthread_mutex_unlock(&lock);
		return -1;
	}
	fd = real(path, flags, mode);
	if (fd >= 0 && fd < FDS) {
		free(paths[fd]);
		paths[fd] = strdup(path);
		if (!existed)
			put('C', path, strlen(path), inode_of(fd), 0, NULL, 0);
		else if (flags & O_TRUNC)
			put('T', "", 0, inode_of(fd), 0, NULL, 0);
	}
	pthread_mutex_unlock(&lock);
	return fd;
}

static mode_t mode_arg(int flags, va_list ap)
{
	return flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

#define OPEN(name)                                                                                 \
	__attribute__((visibility("default"))) int name(const char *path, int flags, ...)          \
	{                                                                                          \
		va_list ap;                                                                        \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(ap, flags);                                                               \
		mode = mode_arg(flags, ap);                                                        \
		va_end(ap);                                                                        \
		return open_any((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name), path,    \
				flags, mode);                                                      \
	}

#undef open
#undef open64
OPEN(open)
OPEN(open64)

#define OPEN_2(name, base)                                                                         \
	int name(const char *path, int flags);                                                     \
	__attribute__((visibility("default"))) int name(const char *path, int flags)               \
	{                                                                                          \
		return base(path, flags, 0);                                                       \
	}

OPEN_2(__open_2, open)
OPEN_2(__open64_2, open64)

__attribute__((visibility("default"))) int close(int fd)
{
	pthread_mutex_lock(&lock);
	if (tracked(fd)) {
		free(paths[fd]);
		paths[fd] = NULL;
	}
	pthread_mutex_unlock(&lock);
	return REAL(close)(fd);
}

/* ---- content ------------------------------------------------------------------------ */

#define PWRITE(name)                                                                               \
	__attribute__((visibility("default"))) ssize_t name(int fd, const void *data, size_t len,  \
							    off64_t offset)                        \
	{                                                                                          \
		ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, #name);     \
		ssize_t n = -1;                                                                    \
                                                                                                   \
		if (!tracked(fd))                                                                  \
			return real(fd, data, len, offset);                                        \
		pthread_mutex_lock(&lock);                                                         \
		if (!fails(1)) {                                                                   \
			put('W', "", 0, inode_of(fd), (uint64_t)offset, data, len);                \
			n = real(fd, data, len, offset);                                           \
		}                                                                                  \
		pthread_mutex_unlock(&lock);                                                       \
		return n;                                                                          \
	}

#undef pwrite
#undef pwrite64
PWRITE(pwrite)
PWRITE(pwrite64)

__attribute__((visibility("default"))) ssize_t write(int fd, const void *data, size_t len)
{
	ssize_t n = -1;
	off_t end;

	if (!tracked(fd))
		return REAL(write)(fd, data, len);
	pthread_mutex_lock(&lock);
	if (!fails(1))
		n = REAL(write)(fd, data, len);
	end = lseek(fd, 0, SEEK_CUR);
	if (n > 0)
		put('W', "", 0, inode_of(fd), (uint64_t)(end - n), data, (size_t)n);
	pthread_mutex_unlock(&lock);
	return n;
}

#define TRUNCATE(name)                                                                             \
	__attribute__((visibility("default"))) int name(int fd, off64_t len)                       \
	{                                                                                          \
		int (*real)(int, off64_t) = dlsym(RTLD_NEXT, #name);                               \
		int r = -1;                                                                        \
                                                                                                   \
		pthread_mutex_lock(&lock);                                                         \
		if (!tracked(fd) || !fails(1))                                                     \
			r = real(fd, len);                                                         \
		if (r == 0 && tracked(fd))                                                         \
			put('T', "", 0, inode_of(fd), (uint64_t)len, NULL, 0);                     \
		pthread_mutex_unlock(&lock);                                                       \
		return r;                                                                          \
	}

#undef ftruncate
#undef ftruncate64
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

static int sync_any(int (*real)(int), int fd)
{
	struct stat st;
	int r = -1;

	if (!tracked(fd))
		return real(fd);
	pthread_mutex_lock(&lock);
	if (!fails(2)) {
		r = log_fd < 0 ? real(fd) : 0;
		if (r == 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
			put('D', paths[fd], strlen(paths[fd]), 0, 0, NULL, 0);
		else if (r == 0)
			put('S', "", 0, inode_of(fd), 0, NULL, 0);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	return sync_any(REAL(fsync), fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
	return sync_any(REAL(fdatasync), fd);
}

/* ---- names -------------------------------------------------------------------------- */

#define CHANGE_NAME(declaration, op, path, call)                                                   \
	__attribute__((visibility("default"))) int declaration                                     \
	{                                                                                          \
		int r;                                                                             \
                                                                                                   \
		if (!is_ours(path))                                                                \
			return call;                                                               \
		pthread_mutex_lock(&lock);                                                         \
		r = op != 'U' && op != 'K' && fails(1) ? -1 : call;                                \
		if (r == 0)                                                                        \
			put(op, path, strlen(path), 0, 0, NULL, 0);                                \
		pthread_mutex_unlock(&lock);                                                       \
		return r;                                                                          \
	}

CHANGE_NAME(unlink(const char *path), 'U', path, REAL(unlink)(path))
CHANGE_NAME(mkdir(const char *path, mode_t mode), 'M', path, REAL(mkdir)(path, mode))
CHANGE_NAME(rmdir(const char *path), 'K', path, REAL(rmdir)(path))

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
	char both[8192];
	int n, r;

	if (!is_ours(to))
		return REAL(rename)(from, to);
	pthread_mutex_lock(&lock);
	r = fails(1) ? -1 : REAL(rename)(from, to);
	n = snprintf(both, sizeof(both), "%s%c%s", from, 0, to);
	if (r == 0)
		put('R', both, (size_t)n, 0, 0, NULL, 0);
	pthread_mutex_unlock(&lock);
	return r;
}
