/* SPDX-License-Identifier: Apache-2.0 */
#include "scrape/scrape_pods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metadata/kubelet.h"
#include "scrape/scrape_targets.h"
#include "scrape/scrape_types.h"

enum { KEY_MAX = 64 };

/* The value of the annotation "TYPE.NAME"; NULL: there is none. */
static const char *annotation(const struct kubelet_pod *p, const char *type, const char *name)
{
	char key[KEY_MAX];

	snprintf(key, sizeof(key), "%s.%s", type, name);
	for (size_t i = 0; i < p->n_annotations; i++)
		if (!strcmp(p->annotations[i].key, key))
			return p->annotations[i].value;
	return NULL;
}

/* Sets *@out to the port of a number; its container is "" if the pod does not list it. */
static bool by_number(const struct kubelet_pod *p, const char *text, struct kubelet_port *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || end == text || n < 1 || n > 65535)
		return false;
	*out = (struct kubelet_port){ .container = "", .name = "", .number = (unsigned int)n };
	for (size_t i = 0; i < p->n_ports; i++)
		if (p->ports[i].number == n)
			*out = p->ports[i];
	return true;
}

static bool by_name(const struct kubelet_pod *p, const char *name, struct kubelet_port *out)
{
	for (size_t i = 0; i < p->n_ports; i++) {
		if (strcmp(p->ports[i].name, name) != 0)
			continue;
		*out = p->ports[i];
		return true;
	}
	return false;
}

static bool find_port(const struct kubelet_pod *p, const char *type, struct kubelet_port *out)
{
	const char *port = annotation(p, type, "port"), *name = annotation(p, type, "port_name");

	return port ? by_number(p, port, out) : name && by_name(p, name, out);
}

static bool is_wanted(const struct kubelet_pod *p, const struct scrape_type_info *type)
{
	const char *scrape = annotation(p, type->option, "scrape");
	const char *path = annotation(p, type->option, "path");

	return scrape && !strcmp(scrape, "true") && (!path || !strcmp(path, type->path));
}

static int set_labels(struct metadata_labels *l, const struct kubelet_pod *p, const char *container)
{
	char service[2 * LABEL_VALUE_MAX];
	int r;

	snprintf(service, sizeof(service), "%s/%s", p->namespace, container);
	r = metadata_labels_put(l, "service_name", service);
	if (r == 0)
		r = metadata_labels_put(l, "namespace", p->namespace);
	if (r == 0)
		r = metadata_labels_put(l, "pod", p->name);
	if (r == 0)
		r = metadata_labels_put(l, "container", container);
	return r;
}

static int add_type(struct scrape_targets *t, const struct kubelet_pod *p, int type)
{
	const char *scheme = annotation(p, scrape_types[type].option, "scheme");
	bool is_v6 = strchr(p->ip, ':');
	struct metadata_labels labels = { 0 };
	char url[SCRAPE_URL_MAX + 1];
	struct kubelet_port port;
	int r;

	if (!is_wanted(p, &scrape_types[type]) || !find_port(p, scrape_types[type].option, &port))
		return 0;
	snprintf(url, sizeof(url), "%s://%s%s%s:%u", scheme ? scheme : "http", is_v6 ? "[" : "",
		 p->ip, is_v6 ? "]" : "", port.number);
	r = set_labels(&labels, p, *port.container ? port.container : p->container);
	if (r == 0)
		r = scrape_targets_add_url(t, url, 1u << type, &labels);
	metadata_labels_fini(&labels);
	return r == -EINVAL ? 0 : r;
}

int scrape_pods_add(struct scrape_targets *t, const struct kubelet_pod *p)
{
	int r = 0;

	for (int type = 0; r == 0 && *p->ip && type < SCRAPE_TYPE_MAX; type++)
		r = add_type(t, p, type);
	return r;
}
