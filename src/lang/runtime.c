/* SPDX-License-Identifier: Apache-2.0 */
#include "lang/runtime.h"

#include <stdio.h>
#include <string.h>

static bool is_same(const struct lang_runtime *a, const char *name, const char *version,
		    const char *problem)
{
	return !strcmp(a->name, name) && !strcmp(a->version, version) &&
	       (atomic_load(&a->problem) != NULL) == (problem != NULL);
}

uint8_t lang_runtimes_add(struct lang_runtimes *r, const char *name, const char *version,
			  const char *problem, const char *effect)
{
	size_t n = atomic_load(&r->n);
	struct lang_runtime *fresh;

	for (size_t i = 0; i < n; i++)
		if (is_same(&r->all[i], name, version, problem))
			return (uint8_t)(i + 1);
	if (n >= LANG_RUNTIMES_MAX - (problem ? 0 : LANG_UNSUPPORTED_MAX))
		return 0;
	fresh = &r->all[n];
	snprintf(fresh->name, sizeof(fresh->name), "%s", name);
	snprintf(fresh->version, sizeof(fresh->version), "%s", version);
	fresh->effect = effect;
	snprintf(fresh->text, sizeof(fresh->text), "%s", problem ? problem : "");
	atomic_store(&fresh->problem, problem ? fresh->text : NULL);
	atomic_store(&r->n, n + 1);
	return (uint8_t)(n + 1);
}

void lang_runtimes_note(struct lang_runtimes *r, uint8_t number, const char *path)
{
	struct lang_runtime *at;

	if (!number || number > atomic_load(&r->n))
		return;
	at = &r->all[number - 1];
	if (atomic_load(&at->has_samples))
		return;
	snprintf(at->path, sizeof(at->path), "%s", path);
	atomic_store(&at->has_samples, true);
}

const struct lang_runtime *lang_runtimes_unsupported(const struct lang_runtimes *r, size_t i)
{
	size_t n = atomic_load(&r->n);

	for (size_t k = 0; k < n; k++)
		if (atomic_load(&r->all[k].has_samples) && atomic_load(&r->all[k].problem) &&
		    i-- == 0)
			return &r->all[k];
	return NULL;
}
