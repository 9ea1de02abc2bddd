/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/facts_job.h"

#include <errno.h>

#include "base/sigbus.h"
#include "elf/image.h"
#include "reader/facts_message.h"
#include "roles/role.h"
#include "symbol/same_file.h"

struct job {
	int fd;
	struct file_facts *facts;
};

/* Runs under sigbus_run(), because a file that is truncated meanwhile raises SIGBUS. */
static int read_facts(void *ctx)
{
	struct job *j = ctx;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r = elf_image_open(&img, j->fd, NULL);

	if (r < 0)
		return r;
	j->facts->is_elf = 1;
	elf_note_gnu_build_id(img, &j->facts->build_id);
	return 0;
}

/* A file that shrinks while it is read is still an ELF file. */
int reader_facts_job(struct role_call *call)
{
	struct file_facts facts = { 0 };
	struct job j = { .facts = &facts };

	if (call->n_fds != 1)
		return -EINVAL;
	j.fd = call->fds[0];
	(void)sigbus_run(read_facts, &j);
	*(struct file_facts *)call->reply = facts;
	call->reply_len = sizeof(facts);
	return 0;
}

int reader_same_job(struct role_call *call)
{
	if (call->n_fds != 2)
		return -EINVAL;
	return same_file(call->fds[0], call->fds[1]) ? 0 : -ENOENT;
}
