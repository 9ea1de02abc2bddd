/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path alone does not identify a file: another mount namespace shows another file there, and the
 * mapped one may have been deleted or replaced. Each way of opening it is therefore checked against
 * the inode of the mapping.
 */
#include "process/mapped_file.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <gnutls/crypto.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/regular_file.h"
#include "proc/maps.h"
#include "proc/root.h"
#include "proc/user.h"
#include "reader/facts_client.h"
#include "symbol/debugfile.h"

#define PAYER_DEVICE  (1ULL << 63)
#define PAYER_UNNAMED (1ULL << 62)

enum { IDENTITY_EDGE = 4096, HTL_EDGE = 4096, HTL_SHA256 = 32 };

struct file_ref file_ref_of(uint32_t pid, const struct proc_map *m)
{
	return (struct file_ref){
		.pid = pid,
		.start = m->start,
		.end = m->end,
		.dev_major = m->dev_major,
		.dev_minor = m->dev_minor,
		.inode = m->inode,
		.path = m->path,
	};
}

unsigned int mapped_file_descriptors(const struct mapped_file *file)
{
	return (unsigned int)((file->info.fd >= 0) + (file->info.root_fd >= 0) +
			      (file->info.debug_fd >= 0));
}

uint32_t mapped_file_owner(const struct mapped_file *file)
{
	return (uint32_t)proc_user(file->st.st_uid);
}

void mapped_file_free(struct mapped_file *file)
{
	if (!file)
		return;
	closep(&file->info.fd);
	closep(&file->info.root_fd);
	closep(&file->info.debug_fd);
	free((void *)file->info.path);
	free(file);
}

struct mapped_file *mapped_file_alloc(const char *path)
{
	struct mapped_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->info.fd = file->info.root_fd = file->info.debug_fd = -1;
	file->info.path = strdup(path);
	if (file->info.path)
		return file;
	mapped_file_free(file);
	return NULL;
}

/*
 * Returns true if the file can be on the device of the mapping. On overlayfs and btrfs, stat()
 * returns another device number than mappings have.
 */
static bool same_device(const struct regular_file_info *found, const struct file_ref *ref)
{
	if (major(found->st.st_dev) == ref->dev_major && minor(found->st.st_dev) == ref->dev_minor)
		return true;
	return found->fs_magic == OVERLAYFS_SUPER_MAGIC || found->fs_magic == BTRFS_SUPER_MAGIC;
}

/*
 * Opens a path on behalf of the file's device and the user of the process. If the device alone were
 * charged, one user could make the files of all others be refused: a path may lead away from the
 * device, to a file system that the user mounted there afterwards. Devices without a number of
 * their own (network file systems, FUSE) are also charged to one common payer, because one user may
 * mount many of them.
 */
static int find(const struct file_ref *ref, const char *path, size_t copy_max,
		struct regular_file_info *out)
{
	const uint64_t owner = proc_user_of(ref->pid), user = hash_u64(owner);
	const struct regular_file_query q = {
		.path = path,
		.root = -1,
		.payers = { PAYER_DEVICE | hash_u64(user ^ ((uint64_t)ref->dev_major << 32 |
							    ref->dev_minor)),
			    ref->dev_major ? 0 : PAYER_UNNAMED | user },
		.user = owner,
		.copy_max = copy_max,
	};

	return regular_file_find(&q, out);
}

/*
 * Opens the file of that path as this process sees it, if it is the one that is mapped. This
 * comes first because opening through /proc/PID takes locks of the other process, which may
 * hold them for seconds while it gets no CPU.
 */
static int open_in_own_root(const struct file_ref *ref, size_t copy_max,
			    struct regular_file_info *out)
{
	int fd;

	if (ref->path[0] != '/' || !ref->inode)
		return -ENOENT;
	fd = find(ref, ref->path, copy_max, out);
	if (fd < 0 || (out->st.st_ino == ref->inode && same_device(out, ref)))
		return fd;
	close(fd);
	return -ENOENT;
}

/* Opens the file that the process has mapped, even if its path leads elsewhere by now. */
static int open_mapped(const struct file_ref *ref, size_t copy_max, struct regular_file_info *out)
{
	char path[PATH_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", ref->pid,
		 (unsigned long long)ref->start, (unsigned long long)ref->end);
	fd = find(ref, path, copy_max, out);
	if (fd >= 0 || fd == -ETIMEDOUT || fd == -EFBIG || ref->path[0] != '/')
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/root%s", ref->pid, ref->path);
	return find(ref, path, copy_max, out);
}

static bool matches_ref(const struct mapped_file *file, const struct file_ref *ref)
{
	return S_ISREG(file->st.st_mode) && (!ref->inode || file->st.st_ino == ref->inode);
}

/* Has a reader identify the file. If that fails, the file may still have symbols and a table. */
static void identify(const struct mapped_file_context *c, struct mapped_file *file)
{
	struct file_facts facts = { 0 };
	char magic[4];

	if (facts_client_read(c->readers, file->info.fd, mapped_file_owner(file), &facts) < 0)
		facts.is_elf = pread(file->info.fd, magic, 4, 0) == 4 && !memcmp(magic, ELFMAG, 4);
	file->info.is_elf = facts.is_elf;
	file->info.build_id = facts.build_id;
	elf_build_id_hex(&file->info.build_id, file->info.build_id_hex);
}

/*
 * Takes ownership of @fd, which may be -errno, and identifies the file. Returns false, with @fd
 * closed and the file's descriptor -1, if it is not the file of @ref; true if it is or cannot be
 * read.
 */
static bool adopt_fd(const struct mapped_file_context *c, struct mapped_file *file,
		     const struct file_ref *ref, int fd, const struct regular_file_info *found)
{
	file->is_unread = fd == -ETIMEDOUT || fd == -EFBIG;
	if (fd < 0)
		return file->is_unread;
	file->info.fd = fd;
	file->st = found->st;
	file->is_copy = found->is_copy;
	file->info.user = proc_user_of(ref->pid);
	/* the server of a remote file system may claim any owner */
	if (found->is_copy)
		file->st.st_uid = (uid_t)file->info.user;
	file->fs_magic = found->fs_magic;
	if (!matches_ref(file, ref)) {
		closep(&file->info.fd);
		file->info.fd = -1;
		return false;
	}
	identify(c, file);
	return true;
}

void mapped_file_detect(const struct mapped_file_context *c, struct mapped_file *file)
{
	if (file->info.is_elf && c->langs)
		langs_detect(c->langs, NULL, file->info.fd, &file->info.lang);
}

/*
 * Computes OpenTelemetry's file id: a hash of the first and the last 4 KiB (the whole file
 * twice if it is smaller) and the size.
 */
static void hash_htl(struct mapped_file *file)
{
	uint8_t bytes[2 * HTL_EDGE + 8], sum[HTL_SHA256];
	uint64_t size = (uint64_t)file->st.st_size, be = htobe64(size);
	size_t edge = size < HTL_EDGE ? size : HTL_EDGE;

	if (pread(file->info.fd, bytes, edge, 0) != (ssize_t)edge ||
	    pread(file->info.fd, bytes + edge, edge, (off_t)(size - edge)) != (ssize_t)edge)
		return;
	memcpy(bytes + 2 * edge, &be, sizeof(be));
	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, bytes, 2 * edge + sizeof(be), sum) < 0)
		return;
	for (int i = 0; i < 16; i++)
		snprintf(file->info.htl_hash + 2 * i, 3, "%02x", sum[i]);
}

/* Computes the key of by_content from both ends, the size and the build id. */
static void hash_content(struct mapped_file *file)
{
	uint8_t edge[2 * IDENTITY_EDGE + 8 + ELF_BUILD_ID_MAX] = { 0 };
	uint64_t size = (uint64_t)file->st.st_size;
	off_t tail = size > IDENTITY_EDGE ? (off_t)(size - IDENTITY_EDGE) : 0;
	XXH128_hash_t h;

	(void)!pread(file->info.fd, edge, IDENTITY_EDGE, 0);
	(void)!pread(file->info.fd, edge + IDENTITY_EDGE, IDENTITY_EDGE, tail);
	memcpy(edge + 2 * IDENTITY_EDGE, &size, 8);
	memcpy(edge + 2 * IDENTITY_EDGE + 8, file->info.build_id.bytes, ELF_BUILD_ID_MAX);
	h = XXH3_128bits(edge, sizeof(edge));
	file->content[0] = h.low64;
	file->content[1] = h.high64;
}

/* Opens the debug file with the build id of @file in @root, or returns -1. */
static int open_debug_file(const struct mapped_file_context *c, int root,
			   const struct mapped_file *file)
{
	const struct debugfile_query q = { .roots = { root, -1, file->info.user },
					   .path = "",
					   .build_id = file->info.build_id };
	const struct elf_build_id *id = &file->info.build_id;
	struct file_facts facts = { 0 };
	int fd = id->len ? debugfile_open_candidate(&q, 0) : -1;

	if (fd >= 0 && facts_client_read(c->readers, fd, mapped_file_owner(file), &facts) == 0 &&
	    facts.build_id.len == id->len && !memcmp(facts.build_id.bytes, id->bytes, id->len))
		return fd;
	closep(&fd);
	return -1;
}

/*
 * Opens the root directory and the debug file of a process in another mount namespace now:
 * when symbols are needed, the process and its mounts may be gone.
 */
static void open_other_root(const struct mapped_file_context *c, struct mapped_file *file,
			    uint32_t pid)
{
	_cleanup_(closep) int root = proc_root_open((int)pid);

	if (root < 0 || proc_root_same(root, c->own_root))
		return;
	file->info.debug_fd = open_debug_file(c, root, file);
	file->info.root_fd = steal_fd(&root);
}

struct mapped_file *mapped_file_open(const struct mapped_file_context *c,
				     const struct file_ref *ref)
{
	struct mapped_file *file = mapped_file_alloc(ref->path);
	struct regular_file_info found;

	if (!file)
		return NULL;
	if (!adopt_fd(c, file, ref, open_in_own_root(ref, c->copy_max, &found), &found) &&
	    !adopt_fd(c, file, ref, open_mapped(ref, c->copy_max, &found), &found))
		return file;
	if (file->is_unread)
		return file;
	hash_content(file);
	if (file->info.is_elf)
		hash_htl(file);
	open_other_root(c, file, ref->pid);
	return file;
}

/* Length of the vDSO image: its section headers come last. */
static size_t vdso_len(const uint8_t *image)
{
	const Elf64_Ehdr *eh = (const void *)image;

	return eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize;
}

/* Copies the vDSO to a memory file, so that it can be read like any other file. */
static int vdso_fd(void)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
	_cleanup_(closep) int fd = -1;

	if (!image)
		return -ENOENT;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, image, vdso_len(image)) != (ssize_t)vdso_len(image))
		return -EIO;
	return steal_fd(&fd);
}

struct mapped_file *mapped_file_vdso(const struct mapped_file_context *c)
{
	struct mapped_file *file = mapped_file_alloc("[vdso]");

	if (!file)
		return NULL;
	file->info.fd = vdso_fd();
	if (file->info.fd < 0) {
		mapped_file_free(file);
		return NULL;
	}
	identify(c, file);
	return file;
}
