// SPDX-License-Identifier: Apache-2.0
/*
 * A JVMTI agent that records HotSpot's own stack traces, the reference for Cameo's in bench/java.
 * At each tick of the process's CPU time, the running thread calls AsyncGetCallTrace in its
 * signal handler, which slows the process down.
 *
 * The agent's option is the FILE to which it writes the stack traces when the JVM exits, as folded
 * lines of methods, outermost first. A failed walk is written as "[N]", where N is the result of
 * AsyncGetCallTrace.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <jvmti.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { DEPTH_MAX = 128, SAMPLES_MAX = 1 << 16, TICK_US = 2003 };

/* HotSpot's structures, which no header declares. */
struct call_frame {
	jint bci;
	jmethodID method;
};

struct call_trace {
	JNIEnv *env;
	jint n_frames;
	struct call_frame *frames;
};

struct sample {
	jint n;
	jmethodID methods[DEPTH_MAX];
};

static struct {
	JavaVM *vm;
	jvmtiEnv *jvmti;
	void (*get)(struct call_trace *trace, jint depth, void *context);
	struct sample *samples;
	atomic_int n;
	char path[256];
} agent;

static void tick(int sig, siginfo_t *info, void *context)
{
	struct call_frame frames[DEPTH_MAX];
	struct call_trace trace = { .frames = frames };
	struct sample *s;
	int i;

	(void)sig;
	(void)info;
	if ((*agent.vm)->GetEnv(agent.vm, (void **)&trace.env, JNI_VERSION_1_6) || !trace.env)
		return; /* not a Java thread */
	agent.get(&trace, DEPTH_MAX, context);
	i = atomic_fetch_add(&agent.n, 1);
	if (i >= SAMPLES_MAX)
		return;
	s = &agent.samples[i];
	s->n = trace.n_frames;
	for (int k = 0; k < trace.n_frames && k < DEPTH_MAX; k++)
		s->methods[k] = frames[k].method;
}

static void set_timer(long us)
{
	struct itimerval t = { .it_interval.tv_usec = us, .it_value.tv_usec = us };

	setitimer(ITIMER_PROF, &t, NULL);
}

/* Makes the JVM allocate the method ids, without which AsyncGetCallTrace fails. */
static void allocate_method_ids(jvmtiEnv *jvmti, jclass klass)
{
	jmethodID *methods;
	jint n;

	if (!(*jvmti)->GetClassMethods(jvmti, klass, &n, &methods))
		(*jvmti)->Deallocate(jvmti, (unsigned char *)methods);
}

static void JNICALL on_prepare(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass klass)
{
	(void)env;
	(void)thread;
	allocate_method_ids(jvmti, klass);
}

static void JNICALL on_load(jvmtiEnv *jvmti, JNIEnv *env, jthread thread, jclass klass)
{
	(void)jvmti;
	(void)env;
	(void)thread;
	(void)klass;
}

static void JNICALL on_init(jvmtiEnv *jvmti, JNIEnv *env, jthread thread)
{
	struct sigaction act = { .sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART };
	jclass *classes;
	jint n;

	(void)env;
	(void)thread;
	if (!(*jvmti)->GetLoadedClasses(jvmti, &n, &classes)) {
		for (jint i = 0; i < n; i++)
			allocate_method_ids(jvmti, classes[i]);
		(*jvmti)->Deallocate(jvmti, (unsigned char *)classes);
	}
	sigaction(SIGPROF, &act, NULL);
	set_timer(TICK_US);
}

/* Writes class "Lpkg/Outer;" and method "run" as "pkg.Outer.run". */
static void write_method(FILE *f, jmethodID id)
{
	char *name = NULL, *signature = NULL;
	jclass klass;

	if ((*agent.jvmti)->GetMethodName(agent.jvmti, id, &name, NULL, NULL) ||
	    (*agent.jvmti)->GetMethodDeclaringClass(agent.jvmti, id, &klass) ||
	    (*agent.jvmti)->GetClassSignature(agent.jvmti, klass, &signature, NULL)) {
		fputs("[gone]", f);
		return;
	}
	for (const char *s = signature + 1; *s && *s != ';'; s++)
		fputc(*s == '/' ? '.' : *s, f);
	fprintf(f, ".%s", name);
	(*agent.jvmti)->Deallocate(agent.jvmti, (unsigned char *)name);
	(*agent.jvmti)->Deallocate(agent.jvmti, (unsigned char *)signature);
}

static void JNICALL on_death(jvmtiEnv *jvmti, JNIEnv *env)
{
	int n = atomic_load(&agent.n);
	FILE *f;

	(void)jvmti;
	(void)env;
	set_timer(0);
	f = fopen(agent.path, "w");
	for (int i = 0; f && i < n && i < SAMPLES_MAX; i++) {
		const struct sample *s = &agent.samples[i];

		if (s->n <= 0)
			fprintf(f, "[%d]", s->n);
		for (int k = s->n - 1; k >= 0; k--) {
			write_method(f, s->methods[k]);
			fputs(k ? ";" : "", f);
		}
		fputs(" 1\n", f);
	}
	if (f)
		fclose(f);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiCapabilities can = { .can_get_source_file_name = 1 };
	jvmtiEventCallbacks on = { .ClassPrepare = on_prepare,
				   .ClassLoad = on_load,
				   .VMInit = on_init,
				   .VMDeath = on_death };
	static const jvmtiEvent events[] = { JVMTI_EVENT_CLASS_LOAD, JVMTI_EVENT_CLASS_PREPARE,
					     JVMTI_EVENT_VM_INIT, JVMTI_EVENT_VM_DEATH };

	(void)reserved;
	agent.vm = vm;
	agent.samples = calloc(SAMPLES_MAX, sizeof(*agent.samples));
	*(void **)&agent.get = dlsym(RTLD_DEFAULT, "AsyncGetCallTrace");
	if (!agent.samples || !agent.get || !options ||
	    (*vm)->GetEnv(vm, (void **)&agent.jvmti, JVMTI_VERSION_1_2))
		return JNI_ERR;
	snprintf(agent.path, sizeof(agent.path), "%s", options);
	(*agent.jvmti)->AddCapabilities(agent.jvmti, &can);
	(*agent.jvmti)->SetEventCallbacks(agent.jvmti, &on, sizeof(on));
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		(*agent.jvmti)
			->SetEventNotificationMode(agent.jvmti, JVMTI_ENABLE, events[i], NULL);
	return JNI_OK;
}
