/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Targets from the annotations of Kubernetes pods that Grafana's agents read:
 *
 *	profiles.grafana.com/cpu.scrape: "true"
 *	profiles.grafana.com/cpu.port: "6060"       (or cpu.port_name: "http", cpu.scheme: "https")
 *
 * and so on for the other options of scrape_types.def. Labels are service_name
 *(NAMESPACE/CONTAINER), namespace, pod and container. Pure function.
 */
struct kubelet_pod;
struct scrape_targets;

/*
 * Adds a target for each port of the pod, with the types of profiles that it offers. Annotations
 * that name no port, or a path other than that of the type, are ignored. Returns 0 or -ENOMEM.
 */
int scrape_pods_add(struct scrape_targets *t, const struct kubelet_pod *pod);
