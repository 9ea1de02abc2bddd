/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the sources, and files that are not what they should be. containers.c has a tree for
 * each kind of runtime.
 */
#include "metadata/container_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/test.h"
#include "tree.h"

#define ID      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD_UID "4b6a1f3e-9c1d-4b6e-8f00-0123456789ab"
#define DOCKER  "var/lib/docker/containers/" ID "/config.v2.json"
#define PODMAN  "var/lib/containers/storage/overlay-containers/containers.json"
#define CRIO    "run/containers/storage/overlay-containers/" ID "/userdata/config.json"

static const struct cgroup_owner in_pod = { .container_id = ID, .pod_uid = POD_UID };
static const struct cgroup_owner alone = { .container_id = ID };

static struct container_names find(const struct tree *t, const struct cgroup_owner *owner)
{
	struct container_names n = { 0 };
	int fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	container_files_find(fd, owner, &n);
	close(fd);
	return n;
}

static void fields_that_are_set_stay(void **state)
{
	struct container_names n = { .name = "mine" };
	struct tree t;
	int fd;

	tree_init(&t);
	tree_text(&t, "var/log/containers/web_prod_nginx-" ID ".log", "");
	fd = open(t.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	container_files_find(fd, &in_pod, &n);
	assert_string_equal(n.name, "mine");
	assert_string_equal(n.pod, "web");
	assert_string_equal(n.namespace, "prod");
	close(fd);
	tree_fini(&t);
}

static void later_sources_fill_in_what_earlier_ones_lack(void **state)
{
	struct container_names n;
	struct tree t;

	tree_init(&t);
	tree_text(&t, DOCKER, "{\"Name\":\"/k8s_nginx\"}");
	tree_text(&t, CRIO,
		  "{\"annotations\":{\"io.kubernetes.container.name\":\"other\","
		  "\"io.kubernetes.pod.name\":\"web\"}}");
	tree_dir(&t, "var/log/pods/prod_late_" POD_UID "/x");
	n = find(&t, &in_pod);
	assert_string_equal(n.name, "k8s_nginx");
	assert_string_equal(n.pod, "web");
	assert_string_equal(n.namespace, "prod");
	assert_string_equal(n.runtime, "docker");
	/* A container outside of a pod needs no more than its name. */
	n = find(&t, &alone);
	assert_string_equal(n.name, "k8s_nginx");
	assert_string_equal(n.pod, "");
	tree_fini(&t);
}

static void a_pod_without_a_container_has_names_as_well(void **state)
{
	static const struct cgroup_owner pod = { .pod_uid = POD_UID };
	static const struct cgroup_owner none = { .unit = "x.service" };
	struct container_names n;
	struct tree t;

	tree_init(&t);
	tree_dir(&t, "var/log/pods/prod_web-7d9_" POD_UID "/nginx");
	n = find(&t, &pod);
	assert_string_equal(n.pod, "web-7d9");
	assert_string_equal(n.namespace, "prod");
	n = find(&t, &none);
	assert_string_equal(n.name, "");
	assert_string_equal(n.pod, "");
	tree_fini(&t);
}

static void names_of_directories_that_are_something_else_are_ignored(void **state)
{
	struct container_names n;
	struct tree t;

	tree_init(&t);
	tree_text(&t, "var/log/containers/-" ID ".log", "");
	tree_dir(&t, "var/log/pods/prod_" POD_UID);
	tree_dir(&t, "var/log/pods/" POD_UID);
	tree_text(&t, "var/lib/kubelet/pods/" POD_UID "/containers", "a file");
	n = find(&t, &in_pod);
	assert_string_equal(n.name, "");
	assert_string_equal(n.pod, "");
	assert_string_equal(n.namespace, "");
	tree_fini(&t);
}

static void a_text_that_is_longer_than_a_name_is_not_used(void **state)
{
	struct container_names n;
	struct buf b = { 0 };
	struct tree t;

	buf_printf(&b,
		   "{\"Name\":\"%0255d\",\"Config\":{\"Labels\":{"
		   "\"io.kubernetes.pod.name\":\"%0256d\"}}}",
		   1, 2);
	tree_init(&t);
	tree_file(&t, DOCKER, b.data, b.len);
	n = find(&t, &in_pod);
	assert_int_equal(strlen(n.name), 255);
	assert_string_equal(n.pod, "");
	buf_fini(&b);
	tree_fini(&t);
}

static void files_that_are_too_large_or_no_files_are_refused(void **state)
{
	enum { JSON_MAX = 4 << 20 };
	static const char text[] = "{\"Name\":\"/web\"}";
	char *large = malloc(JSON_MAX), path[200];
	struct tree t;

	assert_non_null(large);
	memset(large, ' ', JSON_MAX);
	memcpy(large, text, strlen(text));
	tree_init(&t);
	tree_file(&t, DOCKER, large, JSON_MAX - 1);
	assert_string_equal(find(&t, &alone).name, "web");
	tree_file(&t, DOCKER, large, JSON_MAX);
	assert_string_equal(find(&t, &alone).name, "");
	snprintf(path, sizeof(path), "%s/" DOCKER, t.dir);
	assert_int_equal(unlink(path), 0);
	/* Opening it does not wait for somebody who writes to it. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_string_equal(find(&t, &alone).name, "");
	tree_fini(&t);
	free(large);
}

static void members_are_found_up_to_a_depth(void **state)
{
	static const char member[] = "\"io.kubernetes.container.name\":\"api\"";
	struct tree t;

	tree_init(&t);
	for (int depth = 1; depth <= 12; depth++) {
		struct buf b = { 0 };

		for (int i = 1; i < depth; i++)
			buf_put_str(&b, "{\"x\":");
		buf_printf(&b, "{%s}", member);
		for (int i = 1; i < depth; i++)
			buf_put_str(&b, "}");
		tree_file(&t, CRIO, b.data, b.len);
		assert_string_equal(find(&t, &alone).name, depth <= 8 ? "api" : "");
		buf_fini(&b);
	}
	tree_fini(&t);
}

static void a_name_of_podman_belongs_to_the_id_of_its_own_object(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "[{\"id\":\"" ID "\",\"names\":[\"db\"]}]", "db" },
		{ "[{\"id\":\"" ID "\"},{\"names\":[\"other\"]}]", "" },
		{ "[{\"id\":\"x\",\"names\":[\"other\"]},{\"id\":\"" ID "\",\"names\":[]}]", "" },
		{ "[{\"id\":\"" ID "\",\"sub\":{\"names\":[\"other\"]}}]", "" },
		{ "{\"id\":\"" ID "\",\"names\":[\"other\"]}", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tree t;

		tree_init(&t);
		tree_text(&t, PODMAN, cases[i].text);
		assert_string_equal(find(&t, &alone).name, cases[i].want);
		tree_fini(&t);
	}
}

TEST_GROUP(test_container_files, TEST(fields_that_are_set_stay),
	   TEST(later_sources_fill_in_what_earlier_ones_lack),
	   TEST(a_pod_without_a_container_has_names_as_well),
	   TEST(names_of_directories_that_are_something_else_are_ignored),
	   TEST(a_text_that_is_longer_than_a_name_is_not_used),
	   TEST(files_that_are_too_large_or_no_files_are_refused),
	   TEST(members_are_found_up_to_a_depth),
	   TEST(a_name_of_podman_belongs_to_the_id_of_its_own_object))
