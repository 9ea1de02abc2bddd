/* SPDX-License-Identifier: Apache-2.0 */
#include "metadata/cgroup.h"

#include <string.h>

#include "tests/test.h"

#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define USER "/user.slice/user-1000.slice/user@1000.service/"
#define UID  "4b6a1f3e-9c1d-4b6e-8f00-0123456789ab"

struct expected {
	const char *path, *id, *runtime, *pod, *unit, *slice;
};

static void assert_owner(const struct expected *e)
{
	struct cgroup_owner o;

	cgroup_parse_path(e->path, strlen(e->path), &o);
	assert_string_equal(o.container_id, e->id);
	assert_string_equal(o.runtime, e->runtime);
	assert_string_equal(o.pod_uid, e->pod);
	assert_string_equal(o.unit, e->unit);
	assert_string_equal(o.slice, e->slice);
}

static void names_that_users_choose_are_not_those_of_containers(void **state)
{
	static const struct expected all[] = {
		{ USER "cri-containerd-" ID ".scope", "", "", "", "cri-containerd-" ID ".scope",
		  "user-1000.slice" },
		{ USER "kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice/" ID,
		  "", "", "", "user@1000.service",
		  "kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice" },
		{ USER ID "/" ID, "", "", "", "user@1000.service", "user-1000.slice" },
		{ "/docker/" ID "/user.slice/user@1.service/x", ID, "docker", "", "user@1.service",
		  "user.slice" },
		{ "/user@.slice/docker-" ID ".scope", ID, "docker", "", "", "user@.slice" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_owner(&all[i]);
}

static void recognizes_the_owner_of_a_path(void **state)
{
	static const struct expected all[] = {
		/* docker: systemd and cgroupfs drivers */
		{ "/system.slice/docker-" ID ".scope", ID, "docker", "", "", "system.slice" },
		{ "/docker/" ID, ID, "docker", "", "", "" },
		/* containerd under Kubernetes: systemd, cgroupfs, v1's colons */
		{ "/kubepods.slice/kubepods-burstable.slice/"
		  "kubepods-burstable-pod4b6a1f3e_9c1d_4b6e_8f00_0123456789ab.slice/"
		  "cri-containerd-" ID ".scope",
		  ID, "containerd", UID, "",
		  "kubepods-burstable-pod4b6a1f3e_9c1d_4b6e_8f00_0123456789ab.slice" },
		{ "/kubepods/besteffort/pod" UID "/" ID, ID, "", UID, "", "" },
		{ "/system.slice/containerd.service/"
		  "kubepods-burstable-pod4b6a1f3e_9c1d_4b6e_8f00_0123456789ab.slice:"
		  "cri-containerd:" ID,
		  ID, "containerd", UID, "containerd.service", "system.slice" },
		/* the uid of a static pod */
		{ "/kubepods/pod0123456789abcdef0123456789abcdef/" ID, ID, "",
		  "0123456789abcdef0123456789abcdef", "", "" },
		/* CRI-O, podman, and their monitor processes */
		{ "/kubepods.slice/kubepods-pod4b6a1f3e_9c1d_4b6e_8f00_0123456789ab.slice/crio-" ID
		  ".scope/container",
		  ID, "crio", UID, "", "kubepods-pod4b6a1f3e_9c1d_4b6e_8f00_0123456789ab.slice" },
		{ "/machine.slice/libpod-" ID ".scope/container", ID, "podman", "", "",
		  "machine.slice" },
		{ "/machine.slice/libpod-conmon-" ID ".scope", "", "", "",
		  "libpod-conmon-" ID ".scope", "machine.slice" },
		/* systemd */
		{ "/system.slice/nginx.service", "", "", "", "nginx.service", "system.slice" },
		{ "/user.slice/user-1000.slice/session-3.scope", "", "", "", "session-3.scope",
		  "user-1000.slice" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/firefox.service", "", "",
		  "", "firefox.service", "app.slice" },
		/* no owner */
		{ "/", "", "", "", "", "" },
		{ "", "", "", "", "", "" },
		{ "/pod", "", "", "", "", "" },
		{ "/.service", "", "", "", "", "" },
		/* 63 and 65 digits are not a container id */
		{ "/docker/" ID "0", "", "", "", "", "" },
		{ "/docker/"
		  "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		  "", "", "", "", "" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_owner(&all[i]);
}

static void uses_the_line_with_the_most_information(void **state)
{
	static const char v1[] = "12:freezer:/\n"
				 "11:memory:/docker/" ID "\n"
				 "1:name=systemd:/system.slice/docker.service\n"
				 "0::/\n";
	struct cgroup_owner o;

	cgroup_parse_text(v1, strlen(v1), &o);
	assert_string_equal(o.container_id, ID);
	cgroup_parse_text("0::/system.slice/ssh.service", 28, &o);
	assert_string_equal(o.unit, "ssh.service");
	cgroup_parse_text("no colons here\n\n:\n", 18, &o);
	assert_string_equal(o.unit, "");
}

static void a_name_that_is_too_long_is_omitted(void **state)
{
	char path[5000];
	struct cgroup_owner o;

	memset(path, 'a', sizeof(path));
	path[0] = '/';
	memcpy(path + sizeof(path) - 8, ".service", 8);
	cgroup_parse_path(path, sizeof(path), &o);
	assert_string_equal(o.unit, "");
}

TEST_GROUP(test_cgroup, TEST(recognizes_the_owner_of_a_path),
	   TEST(names_that_users_choose_are_not_those_of_containers),
	   TEST(uses_the_line_with_the_most_information), TEST(a_name_that_is_too_long_is_omitted))
