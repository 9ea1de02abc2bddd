/* SPDX-License-Identifier: Apache-2.0 */
/* Pods as the kubelet lists them, and the targets that their annotations make. */
#include "scrape/scrape_pods.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "metadata/kubelet.h"
#include "metadata/rules.h"
#include "scrape/scrape_targets.h"
#include "scrape/scrape_types.h"
#include "tests/test.h"

#define SPEC                                                                                       \
	"\"spec\": {\"containers\": [{\"name\": \"web\", \"ports\": [{\"name\": \"http\", "        \
	"\"containerPort\": 8080}, {\"containerPort\": 99999}, {\"containerPort\": \"1\"}]}, "     \
	"{\"ports\": [{\"name\": \"pprof\", \"containerPort\": 6060, \"protocol\": \"TCP\"}], "    \
	"\"name\": \"side\", \"ports2\": null}], \"nodeName\": \"n\"}"

static int add(void *ctx, const struct kubelet_pod *pod)
{
	return scrape_pods_add(ctx, pod);
}

/* The targets of a list with one pod that has these annotations and this status. */
static void targets(struct scrape_targets *t, const char *annotations, const char *status)
{
	struct rules *rules;
	char json[2048];

	snprintf(json, sizeof(json),
		 "{\"kind\": \"PodList\", \"items\": [{\"status\": {%s}, \"metadata\": {\"name\": "
		 "\"web-1\", "
		 "\"namespace\": \"shop\", \"uid\": \"u\", \"annotations\": {\"other/x\": "
		 "\"y\"%s%s}}, " SPEC "}]}",
		 status, *annotations ? "," : "", annotations);
	assert_int_equal(kubelet_parse_pods(json, strlen(json), add, t), 0);
	assert_int_equal(rules_new(&rules), 0);
	assert_int_equal(scrape_targets_finish(t, rules), 0);
	rules_free(rules);
}

#define P(name, value) "\"profiles.grafana.com/" name "\": \"" value "\""
#define IP             "\"podIP\": \"10.1.2.3\""

static const char *label(const struct scrape_targets *t, size_t i, const char *name)
{
	return metadata_labels_get(&t->data[i].labels, name);
}

static void types_of_one_port_are_one_target(void **state)
{
	_cleanup_(scrape_targets_fini) struct scrape_targets t = { 0 };

	targets(&t,
		P("cpu.scrape", "true") "," P("cpu.port", "6060") "," P(
			"memory.scrape", "true") "," P("memory.port_name", "pprof"),
		IP);
	assert_int_equal(t.len, 1);
	assert_string_equal(t.data[0].url, "http://10.1.2.3:6060");
	assert_int_equal(t.data[0].types, 1u << SCRAPE_CPU | 1u << SCRAPE_MEMORY);
	assert_string_equal(label(&t, 0, "service_name"), "shop/side");
	assert_string_equal(label(&t, 0, "namespace"), "shop");
	assert_string_equal(label(&t, 0, "pod"), "web-1");
	assert_string_equal(label(&t, 0, "container"), "side");
	assert_string_equal(label(&t, 0, "instance"), "10.1.2.3:6060");
}

static void ports_that_are_not_listed_belong_to_the_first_container(void **state)
{
	_cleanup_(scrape_targets_fini) struct scrape_targets t = { 0 };

	targets(&t,
		P("block.scrape", "true") "," P("block.port", "7070") "," P("block.scheme",
									    "https"),
		"\"podIP\": \"fd00::1\"");
	assert_int_equal(t.len, 1);
	assert_string_equal(t.data[0].url, "https://[fd00::1]:7070");
	assert_string_equal(label(&t, 0, "container"), "web");
}

static void other_pods_are_no_targets(void **state)
{
	static const struct {
		const char *annotations, *status;
	} cases[] = {
		{ "", IP },
		{ P("cpu.scrape", "false") "," P("cpu.port", "6060"), IP },
		{ P("cpu.port", "6060"), IP },
		{ P("cpu.scrape", "true"), IP },
		{ P("cpu.scrape", "true") "," P("cpu.port", "0"), IP },
		{ P("cpu.scrape", "true") "," P("cpu.port", "6060x"), IP },
		{ P("cpu.scrape", "true") "," P("cpu.port", "99999"), IP },
		{ P("cpu.scrape", "true") "," P("cpu.port_name", "none"), IP },
		{ P("cpu.scrape", "true") "," P("cpu.port", "6060") "," P("cpu.path", "/x"), IP },
		{ P("cpu.scrape", "true") "," P("cpu.port", "6060") "," P("cpu.scheme", "file"),
		  IP },
		{ P("cpu.scrape", "true") "," P("cpu.port", "6060"), "" },
		{ P("cpu.scrape", "true") "," P("cpu.port", "6060"), "\"podIP\": \"a b\"" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_(scrape_targets_fini) struct scrape_targets t = { 0 };

		targets(&t, cases[i].annotations, cases[i].status);
		assert_int_equal(t.len, 0);
	}
}

static int nothing(void *ctx, const struct kubelet_pod *pod)
{
	return 0;
}

static void truncated_lists_are_errors(void **state)
{
	static const char json[] =
		"{\"items\": [{\"metadata\": {\"name\": \"a\", \"namespace\": \"b\", "
		"\"annotations\": {" P("cpu.scrape", "true") "}}, " SPEC "}]}";

	assert_int_equal(kubelet_parse_pods(json, strlen(json), nothing, NULL), 0);
	for (size_t len = 0; len < strlen(json); len++) {
		_cleanup_(freep) char *copy = malloc(len + 1);

		memcpy(copy, json, len);
		assert_int_equal(kubelet_parse_pods(copy, len, nothing, NULL), -EBADMSG);
	}
}

TEST_GROUP(test_scrape_pods, TEST(types_of_one_port_are_one_target),
	   TEST(ports_that_are_not_listed_belong_to_the_first_container),
	   TEST(other_pods_are_no_targets), TEST(truncated_lists_are_errors))
