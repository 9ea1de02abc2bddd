/* SPDX-License-Identifier: Apache-2.0 */
/* The subject is a tree of processes that each report their pid through a pipe. */
#include "proc/descendants.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/stat.h"
#include "tests/test.h"

enum { WIDTH = 3, DEPTH = 3, ALL = 3 + 9 + 27 };

/* Each process has WIDTH children, until @depth is 0; all of them wait for a signal. */
static void grow(int depth, int out)
{
	for (int i = 0; i < WIDTH && depth; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			uint32_t self = (uint32_t)getpid();

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			grow(depth - 1, out);
			if (write(out, &self, sizeof(self)) != sizeof(self))
				_exit(1);
			for (;;)
				pause();
		}
	}
}

static pid_t start_tree(uint32_t pids[ALL])
{
	int pipe_fds[2];
	pid_t root;

	assert_return_code(pipe(pipe_fds), 0);
	root = fork();
	if (root == 0) {
		grow(DEPTH, pipe_fds[1]);
		for (;;)
			pause();
	}
	for (int i = 0; i < ALL; i++)
		assert_int_equal(read(pipe_fds[0], &pids[i], sizeof(pids[i])), sizeof(pids[i]));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return root;
}

static size_t index_of(const struct proc_pids *pids, uint32_t pid)
{
	size_t i = 0;

	while (i < pids->len && pids->data[i] != pid)
		i++;
	return i;
}

static void finds_children_of_children_after_their_parents(void **state)
{
	struct proc_pids found = { 0 };
	uint32_t pids[ALL];
	pid_t root = start_tree(pids);

	assert_int_equal(proc_descendants((uint32_t)root, &found), 0);
	assert_int_equal(found.len, ALL);
	for (int i = 0; i < ALL; i++) {
		size_t at = index_of(&found, pids[i]);
		int parent = proc_parent((int)pids[i]);

		assert_true(at < found.len);
		assert_true(parent == root || index_of(&found, (uint32_t)parent) < at);
	}
	vec_fini(&found);
	assert_return_code(kill(root, SIGKILL), 0);
	assert_return_code(waitpid(root, NULL, 0), 0);
}

static void a_process_that_is_gone_has_none(void **state)
{
	struct proc_pids found = { 0 };
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_return_code(waitpid(pid, NULL, 0), 0);
	assert_int_equal(proc_parent(pid), 0);
	assert_int_equal(proc_descendants((uint32_t)pid, &found), 0);
	assert_int_equal(found.len, 0);
	vec_fini(&found);
}

TEST_GROUP(test_descendants, TEST(finds_children_of_children_after_their_parents),
	   TEST(a_process_that_is_gone_has_none))
