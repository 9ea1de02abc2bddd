/* SPDX-License-Identifier: Apache-2.0 */
/* Writes cameo-agent(1): its options are those of src/agent/config.def. */
#include <stdio.h>

#include "agent/config.h"

static const char before[] =
	".\\\" SPDX-License-Identifier: Apache-2.0\n"
	".TH CAMEO\\-AGENT 1 \"\" \"cameo\" \"User Commands\"\n"
	".SH NAME\n"
	"cameo\\-agent \\- profile a machine for ever and send what was seen\n"
	".SH SYNOPSIS\n"
	".B cameo agent\n"
	".RB [ \\-\\-config\n"
	".IR FILE ]\n"
	".RB [ \\-\\-\\fIKEY\\fR\n"
	".IR VALUE ]...\n"
	".SH DESCRIPTION\n"
	".B cameo agent\n"
	"samples every CPU until it is told to stop. Every 15 seconds it makes a profile of each\n"
	"process that ran (of each set of labels) and sends it to all the places that are named.\n"
	"Names are found on the machine; nothing is asked of anybody for them.\n"
	".PP\n"
	"Every flag is a key of the config file too, and the other way round: lines\n"
	".I KEY = VALUE\n"
	"of one file; blank lines and those that begin with # or ; say nothing. A key that may be\n"
	"said several times adds a value each time; an empty value takes back what was said "
	"before.\n"
	"Flags go before the file. An unknown key or a value that makes no sense is an error, with "
	"its\n"
	"line.\n"
	".PP\n"
	"SIGHUP reads the file again: labels, rules, windows, probability and where profiles go\n"
	"change at once, the rest with the next start; a mistake leaves everything as it was.\n"
	"SIGTERM and SIGINT send what there is; the agent ends within five seconds. Names that\n"
	"take longer than one and a half are left out, and what could not be sent is told.\n"
	".SH OPTIONS\n";

static const char after[] =
	".SH LABELS\n"
	"A profile's\n"
	".I service_name\n"
	"is what a rule sets, else OTEL_SERVICE_NAME of the process, else one of the variables of\n"
	"\\fB\\-\\-service\\-env\\fR, else NAMESPACE/CONTAINER of its pod, its container's name or "
	"id, its\n"
	"systemd service, its program. A rule matches any of service_name, pid, comm, exe, "
	"container_id,\n"
	"container, runtime, namespace, pod, pod_uid, unit, slice, host and env_NAME, whether or "
	"not it is\n"
	"among \\fB\\-\\-labels\\fR; what a rule sets is kept. Containers of docker, containerd, "
	"podman and\n"
	"CRI\\-O are known by the cgroup's path; their names are read from the files that the "
	"runtime and\n"
	"the kubelet keep.\n"
	".SH METRICS\n"
	"A Cameo server is told how the agent is (samples, lost ones, whole stacks, memory, its\n"
	"version) with each window; it says so of itself in its answers, and no other server is\n"
	"told.\n"
	"/metrics has what the agent does and costs, for Prometheus; /healthz answers 200 while "
	"it\n"
	"samples. Once a minute a line on standard error says the same in short.\n"
	".SH EXIT STATUS\n"
	"0 when it was stopped by a signal and everything was sent or kept; 1 for an error; 2 for "
	"bad\n"
	"usage.\n"
	".SH EXAMPLE\n"
	".nf\n"
	"cameo agent \\-\\-server http://127.0.0.1:4040 \\-\\-rule 'comm=~^test : drop\\-process'\n"
	".fi\n"
	".SH SEE ALSO\n"
	".BR cameo (1)\n";

int main(void)
{
	fputs(before, stdout);
	agent_config_man(stdout);
	fputs(after, stdout);
	return 0;
}
