/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a snapshot of tasks that a compromised reader has sent, then groups and prints it. */
#include "reader/tasks_message.h"

#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "tasks/task_ages.h"
#include "tasks/task_findings.h"
#include "tasks/task_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void use(struct task_snapshot *s)
{
	struct task_findings findings = { 0 };
	struct task_ages ages = { 0 };
	struct profile *p = NULL;

	if (task_ages_apply(&ages, s) == 0 && task_ages_apply(&ages, s) == 0 &&
	    task_findings_build(s, &findings) == 0 && profile_new(&p) == 0 &&
	    task_profile_add(p, s) < 0)
		abort();
	profile_free(p);
	task_findings_fini(&findings);
	task_ages_fini(&ages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct task_snapshot s;

	if (task_snapshot_init(&s) == 0 && tasks_message_read(data, len, &s) == 0)
		use(&s);
	task_snapshot_fini(&s);
	return 0;
}
