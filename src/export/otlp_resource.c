/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names are those of OpenTelemetry's semantic conventions, as opentelemetry-ebpf-profiler
 * sends them. Other labels keep their names.
 */
#include "export/otlp_resource.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "codec/otlp/otlp_labels.h"
#include "export/window.h"

static const struct name {
	const char *label, *attribute;
	bool is_number;
} names[] = {
	{ "service_name", "service.name", false },
	{ "service_namespace", "service.namespace", false },
	{ "pid", "process.pid", true },
	{ "exe", "process.executable.path", false },
	{ "container_id", "container.id", false },
	{ "container_name", "container.name", false },
	{ "container", "k8s.container.name", false },
	{ "namespace", "k8s.namespace.name", false },
	{ "pod", "k8s.pod.name", false },
	{ "pod_uid", "k8s.pod.uid", false },
	{ "node", "k8s.node.name", false },
	{ "host", "host.name", false },
	{ "cgroup", "process.linux.cgroup", false },
};

static const struct name *name_of(const char *label)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].label, label))
			return &names[i];
	return NULL;
}

static bool read_number(const char *s, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(s, &end, 10);
	return !errno && end != s && !*end;
}

static struct otlp_attribute attribute_of(const struct export_label *l)
{
	const struct name *n = name_of(l->name);
	struct otlp_attribute a = { .key = n ? n->attribute : l->name, .str = l->value };

	if (n && n->is_number && read_number(l->value, &a.num))
		a.str = NULL;
	return a;
}

/* The executable name: that of the file or, if unknown, the process name. */
static const char *executable_name(const struct export_series *s)
{
	const char *exe = export_label(s, "exe"), *slash = exe ? strrchr(exe, '/') : NULL;

	if (slash && slash[1])
		return slash + 1;
	return exe && exe[0] ? exe : export_label(s, "comm");
}

/*
 * OTLP has no name of a profile, only sample types and periods, which are the same for the
 * contention of mutexes and for blocking. A Cameo server takes the name from this attribute.
 */
static bool add_profile_name(const struct export_series *s, struct otlp_attribute *out)
{
	const char *name = export_label(s, "__name__");

	if (!name || !strcmp(name, "process_cpu"))
		return false;
	*out = (struct otlp_attribute){ .key = OTLP_PROFILE_NAME, .str = name };
	return true;
}

size_t otlp_resource(const struct export_series *s, const char *host,
		     struct otlp_attribute out[OTLP_RESOURCE_MAX])
{
	const char *exe = executable_name(s);
	size_t n = 0;

	for (size_t i = 0; i < s->n_labels && n < OTLP_RESOURCE_MAX - 4; i++)
		if (s->labels[i].value[0] && strncmp(s->labels[i].name, "__", 2) != 0)
			out[n++] = attribute_of(&s->labels[i]);
	if (exe)
		out[n++] = (struct otlp_attribute){ .key = "process.executable.name", .str = exe };
	n += add_profile_name(s, &out[n]);
	/* a series with an instance was scraped, and its program may run on another host */
	if (host && !export_label(s, "host") && !export_label(s, "instance"))
		out[n++] = (struct otlp_attribute){ .key = "host.name", .str = host };
	out[n++] = (struct otlp_attribute){ .key = "os.type", .str = "linux" };
	return n;
}
