/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory trees and responses imitate real nodes with containerd, CRI-O, docker, podman and
 * the kubelet.
 */
#include "metadata/containers.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "fetch/fetcher.h"
#include "metadata/cgroup.h"
#include "metadata/kubelet.h"
#include "net/http_server.h"
#include "tests/test.h"
#include "tests/unit/fetch/fixture.h"
#include "tree.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "4b6a1f3e-9c1d-4b6e-8f00-0123456789ab"

static const struct cgroup_owner in_pod = { .container_id = ID, .pod_uid = UID };
static const struct cgroup_owner alone = { .container_id = ID };

static void assert_names(const struct tree *t, const struct cgroup_owner *owner, const char *name,
			 const char *pod, const char *namespace)
{
	struct containers_opts opts = { .root = t->dir };
	const struct container_names *n;
	struct containers *c;

	assert_int_equal(containers_new(&c, &opts, NULL), 0);
	n = containers_find(c, owner, 1);
	assert_string_equal(n->name, name);
	assert_string_equal(n->pod, pod);
	assert_string_equal(n->namespace, namespace);
	containers_free(c);
}

static void reads_the_kubelets_links_to_logs(void **state)
{
	struct tree t;

	tree_init(&t);
	tree_text(&t, "var/log/containers/other-1_default_app-" UID ".log", "");
	tree_text(&t, "var/log/containers/web-7d9_prod_nginx-" ID ".log", "");
	assert_names(&t, &in_pod, "nginx", "web-7d9", "prod");
	tree_fini(&t);
}

static void reads_the_state_of_containerd(void **state)
{
	struct tree t;

	tree_init(&t);
	tree_text(&t, "run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
		  "{\"ociVersion\":\"1.0.2\",\"process\":{\"args\":[\"nginx\"]},"
		  "\"annotations\":{\"io.kubernetes.cri.container-name\":\"nginx\","
		  "\"io.kubernetes.cri.container-type\":\"container\","
		  "\"io.kubernetes.cri.sandbox-name\":\"web-7d9\","
		  "\"io.kubernetes.cri.sandbox-namespace\":\"prod\"}}");
	assert_names(&t, &in_pod, "nginx", "web-7d9", "prod");
	tree_fini(&t);
}

static void reads_the_state_of_crio(void **state)
{
	struct tree t;

	tree_init(&t);
	tree_text(&t, "run/containers/storage/overlay-containers/" ID "/userdata/config.json",
		  "{\"annotations\":{\"io.kubernetes.container.name\":\"api\","
		  "\"io.kubernetes.pod.name\":\"api-0\",\"io.kubernetes.pod.namespace\":\"x\"}}");
	assert_names(&t, &in_pod, "api", "api-0", "x");
	tree_fini(&t);
}

static void reads_names_of_docker_and_podman(void **state)
{
	struct tree t;

	tree_init(&t);
	tree_text(&t, "var/lib/docker/containers/" ID "/config.v2.json",
		  "{\"State\":{\"Running\":true},\"Name\":\"/web\",\"Config\":{\"Hostname\":\"h\","
		  "\"Labels\":{\"com.docker.compose.service\":\"front\"}}}");
	assert_names(&t, &alone, "web", "", "");
	tree_fini(&t);
	tree_init(&t);
	tree_text(&t, "var/lib/containers/storage/overlay-containers/containers.json",
		  "[{\"id\":\"ffff\",\"names\":[\"other\"]},{\"id\":\"" ID
		  "\",\"names\":[\"db\",\"x\"],\"image\":\"i\"}]");
	assert_names(&t, &alone, "db", "", "");
	tree_fini(&t);
}

static void reads_the_kubelets_folders(void **state)
{
	struct tree t;

	tree_init(&t);
	tree_dir(&t, "var/log/pods/prod_web-7d9_" UID "/nginx");
	tree_dir(&t, "var/log/pods/prod_db-1_ffffffff-9c1d-4b6e-8f00-0123456789ab/pg");
	assert_names(&t, &in_pod, "nginx", "web-7d9", "prod");
	/* the directories do not identify one of the two containers */
	tree_dir(&t, "var/log/pods/prod_web-7d9_" UID "/sidecar");
	assert_names(&t, &in_pod, "", "web-7d9", "prod");
	tree_fini(&t);
	tree_init(&t);
	tree_dir(&t, "var/lib/kubelet/pods/" UID "/containers/nginx");
	assert_names(&t, &in_pod, "nginx", "", "");
	tree_fini(&t);
}

static void damaged_files_yield_no_name(void **state)
{
	static const char *const texts[] = { "",
					     "{",
					     "{\"annotations\":",
					     "[[[[[[[[[[[[[[[[[[[[",
					     "{\"Name\":7}",
					     "\xff\xfe",
					     "{\"Name\":\"/web\"" };
	struct tree t;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) - 1; i++) {
		tree_init(&t);
		tree_text(&t, "var/lib/docker/containers/" ID "/config.v2.json", texts[i]);
		assert_names(&t, &alone, "", "", "");
		tree_fini(&t);
	}
}

static void looks_again_for_missing_containers(void **state)
{
	struct containers_opts opts;
	struct containers *c;
	struct tree t;

	tree_init(&t);
	opts = (struct containers_opts){ .root = t.dir, .max = 2 };
	assert_int_equal(containers_new(&c, &opts, NULL), 0);
	assert_string_equal(containers_find(c, &in_pod, 1)->name, "");
	tree_text(&t, "var/log/containers/web_prod_nginx-" ID ".log", "");
	assert_string_equal(containers_find(c, &in_pod, 2)->name, "");
	assert_string_equal(containers_find(c, &in_pod, 60ULL * CLOCK_SECOND_NS)->name, "nginx");
	/* the cache stays within its limit */
	for (int i = 0; i < 100; i++) {
		struct cgroup_owner o = { 0 };

		snprintf(o.container_id, sizeof(o.container_id), "%064d", i);
		assert_string_equal(containers_find(c, &o, 1)->name, "");
	}
	containers_free(c);
	tree_fini(&t);
}

/* ---- the kubelet's API ------------------------------------------------------------------- */

static const char pod_list[] =
	"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":["
	"{\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":\"nginx\",\"state\":{}"
	","
	"\"containerID\":\"containerd://" ID "\"},{\"name\":\"waiting\"}],"
	"\"initContainerStatuses\":null},"
	"\"metadata\":{\"name\":\"web-7d9\",\"namespace\":\"prod\",\"uid\":\"" UID "\","
	"\"labels\":{\"name\":\"not this\"}}},"
	"{\"metadata\":{\"name\":\"half\"}},7]}";

struct told {
	int n, n_pods;
	char name[64], pod[64];
};

static int on_container(void *ctx, const struct kubelet_container *c)
{
	struct told *told = ctx;

	if (!*c->id) {
		told->n_pods++;
		return 0;
	}
	told->n++;
	snprintf(told->name, sizeof(told->name), "%s", c->name);
	snprintf(told->pod, sizeof(told->pod), "%s/%s", c->namespace, c->pod);
	return 0;
}

static void reads_a_list_of_pods(void **state)
{
	struct told told = { 0 };

	assert_int_equal(kubelet_parse(pod_list, strlen(pod_list), on_container, &told), 0);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.n_pods, 1);
	assert_string_equal(told.name, "nginx");
	assert_string_equal(told.pod, "prod/web-7d9");
	for (size_t len = 0; len < strlen(pod_list) - 1; len++)
		assert_true(kubelet_parse(pod_list, len, on_container, &told) < 0);
}

struct api {
	atomic_int n_asked;
	int status;
	char token[64];
};

static void api_answer(void *ctx, const struct http_request *rq, struct http_response *rs)
{
	const char *token = http_request_header(rq, "Authorization");
	struct api *api = ctx;

	api->n_asked++;
	snprintf(api->token, sizeof(api->token), "%s", token ? token : "");
	rs->status = strcmp(http_request_path(rq), "/pods") != 0 ? 404 : api->status;
	buf_put_str(&rs->body, pod_list);
}

static void queries_the_kubelet_if_no_file_has_the_name(void **state)
{
	struct api api = { .status = 200 };
	struct http_server_options so = { .host = "127.0.0.1",
					  .pools = &(struct http_pool_options){ .name = "test",
										.n_workers = 1,
										.max_queue = 100 },
					  .n_pools = 1,
					  .max_connections = 4,
					  .idle_seconds = 5,
					  .max_body = 1024,
					  .max_memory = 1 << 20,
					  .handler = api_answer,
					  .ctx = &api };
	char url[64], token[128];
	struct containers_opts opts = { .kubelet_url = url, .kubelet_token_file = token };
	struct http_server *server;
	struct containers *c;
	struct tree t;

	tree_init(&t);
	tree_text(&t, "token", "s3cret\n");
	assert_int_equal(http_server_open(&server, &so, NULL), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", http_server_port(server));
	snprintf(token, sizeof(token), "%s/token", t.dir);
	opts.root = t.dir;
	opts.fetcher = fixture_fetcher();
	assert_int_equal(containers_new(&c, &opts, NULL), 0);
	assert_string_equal(containers_find(c, &in_pod, 1)->name, "nginx");
	assert_string_equal(containers_find(c, &in_pod, 1)->pod, "web-7d9");
	assert_string_equal(api.token, "Bearer s3cret");
	/* processes outside of pods are not looked up, and one response serves all */
	assert_string_equal(containers_find(c, &alone, 2)->name, "nginx");
	assert_int_equal(api.n_asked, 1);
	containers_free(c);

	api.status = 403;
	assert_int_equal(containers_new(&c, &opts, NULL), 0);
	assert_string_equal(containers_find(c, &in_pod, 1)->name, "");
	containers_free(c);
	http_server_close(server);
	/* no server is listening */
	assert_int_equal(containers_new(&c, &opts, NULL), 0);
	assert_string_equal(containers_find(c, &in_pod, 1)->name, "");
	containers_free(c);
	fetcher_free(opts.fetcher);
	tree_fini(&t);
}

static void refuses_an_invalid_url(void **state)
{
	struct containers_opts opts = { .root = "/", .kubelet_url = "ftp://x" };
	struct containers *c;
	struct err err = { 0 };

	assert_int_equal(containers_new(&c, &opts, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "ftp://x"));
}

TEST_GROUP(test_containers, TEST(reads_the_kubelets_links_to_logs),
	   TEST(reads_the_state_of_containerd), TEST(reads_the_state_of_crio),
	   TEST(reads_names_of_docker_and_podman), TEST(reads_the_kubelets_folders),
	   TEST(damaged_files_yield_no_name), TEST(looks_again_for_missing_containers),
	   TEST(reads_a_list_of_pods), TEST(queries_the_kubelet_if_no_file_has_the_name),
	   TEST(refuses_an_invalid_url))
