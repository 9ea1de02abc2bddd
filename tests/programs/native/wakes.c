/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wakes N: waits N times in each way in a thread called wait_NAME, which another thread or process
 * called wake_NAME ends in a function of this name. Prints "NAME thread" or "NAME process" for each
 * way that this kernel has. With N 0: a chain of processes, wait_last <- wake_middle <- wake_first.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

enum { PAUSE_US = 6000, CHECK_US = 300 };

/* The two sides share this, also as processes. */
static struct shared {
	atomic_long n_waited; /* turns that have ended */
	atomic_int waiter;    /* its thread id */
	atomic_long n_ready;  /* turns for which the waker has what the waiter waits for */
	atomic_int word;      /* a futex */
	pthread_mutex_t lock, pi_lock;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	sem_t sem;
	long ready; /* turns that may end, guarded by lock */
} * all;

static int ends[2], other[2];
static long turns;

static void need(bool ok)
{
	if (!ok) {
		perror("wakes");
		abort();
	}
}

static void send_byte(int fd)
{
	need(write(fd, "x", 1) == 1);
}

static void get_byte(int fd)
{
	char c;

	need(read(fd, &c, 1) == 1);
}

/* ---- the ways: prepare_, wait_ and wake_ of each ---------------------------------------- */

static bool prepare_pipe(void)
{
	return pipe(ends) == 0;
}

CALLED static void wait_pipe(long i)
{
	get_byte(ends[0]);
}

CALLED static void wake_pipe(long i)
{
	send_byte(ends[1]);
}

#define prepare_unix() (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0)

CALLED static void wait_unix(long i)
{
	get_byte(ends[0]);
}

CALLED static void wake_unix(long i)
{
	send_byte(ends[1]);
}

/* Connects two sockets over the loopback interface. */
static bool connect_loopback(int type)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, type, 0);

	if (s < 0 || bind(s, (void *)&a, sizeof(a)) || getsockname(s, (void *)&a, &len))
		return false;
	ends[1] = socket(AF_INET, type, 0);
	if (type == SOCK_STREAM && listen(s, 1))
		return false;
	if (connect(ends[1], (void *)&a, sizeof(a)))
		return false;
	ends[0] = type == SOCK_STREAM ? accept(s, NULL, NULL) : s;
	return ends[0] >= 0;
}

#define prepare_tcp() connect_loopback(SOCK_STREAM)

CALLED static void wait_tcp(long i)
{
	get_byte(ends[0]);
}

CALLED static void wake_tcp(long i)
{
	send_byte(ends[1]);
}

#define prepare_udp() connect_loopback(SOCK_DGRAM)

CALLED static void wait_udp(long i)
{
	get_byte(ends[0]);
}

CALLED static void wake_udp(long i)
{
	send_byte(ends[1]);
}

/* take_: the waker has the lock while the waiter waits for it. */
#define prepare_mutex() true

CALLED static void wait_mutex(long i)
{
	pthread_mutex_lock(&all->lock);
	pthread_mutex_unlock(&all->lock);
}

CALLED static void wake_mutex(long i)
{
	pthread_mutex_unlock(&all->lock);
}

static void take_mutex(void)
{
	pthread_mutex_lock(&all->lock);
}

#define prepare_pi() true

CALLED static void wait_pi(long i)
{
	pthread_mutex_lock(&all->pi_lock);
	pthread_mutex_unlock(&all->pi_lock);
}

CALLED static void wake_pi(long i)
{
	pthread_mutex_unlock(&all->pi_lock);
}

static void take_pi(void)
{
	pthread_mutex_lock(&all->pi_lock);
}

#define prepare_rwlock() true

CALLED static void wait_rwlock(long i)
{
	pthread_rwlock_rdlock(&all->rwlock);
	pthread_rwlock_unlock(&all->rwlock);
}

CALLED static void wake_rwlock(long i)
{
	pthread_rwlock_unlock(&all->rwlock);
}

static void take_rwlock(void)
{
	pthread_rwlock_wrlock(&all->rwlock);
}

#define prepare_cond() true

CALLED static void wait_cond(long i)
{
	pthread_mutex_lock(&all->lock);
	while (all->ready <= i)
		pthread_cond_wait(&all->cond, &all->lock);
	pthread_mutex_unlock(&all->lock);
}

CALLED static void wake_cond(long i)
{
	pthread_mutex_lock(&all->lock);
	all->ready = i + 1;
	pthread_mutex_unlock(&all->lock);
	pthread_cond_signal(&all->cond);
}

#define prepare_sem() true

CALLED static void wait_sem(long i)
{
	while (sem_wait(&all->sem))
		;
}

CALLED static void wake_sem(long i)
{
	sem_post(&all->sem);
}

#define prepare_futex() true

CALLED static void wait_futex(long i)
{
	while (atomic_load(&all->word) <= i)
		syscall(SYS_futex, &all->word, FUTEX_WAIT, (int)i, NULL, NULL, 0);
}

CALLED static void wake_futex(long i)
{
	atomic_store(&all->word, (int)i + 1);
	syscall(SYS_futex, &all->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool prepare_eventfd(void)
{
	ends[0] = ends[1] = eventfd(0, 0);
	return ends[0] >= 0;
}

CALLED static void wait_eventfd(long i)
{
	uint64_t n;

	need(read(ends[0], &n, sizeof(n)) == sizeof(n));
}

CALLED static void wake_eventfd(long i)
{
	uint64_t one = 1;

	need(write(ends[1], &one, sizeof(one)) == sizeof(one));
}

static bool prepare_epoll(void)
{
	struct epoll_event e = { .events = EPOLLIN };

	other[0] = epoll_create1(0);
	return pipe(ends) == 0 && epoll_ctl(other[0], EPOLL_CTL_ADD, ends[0], &e) == 0;
}

CALLED static void wait_epoll(long i)
{
	struct epoll_event e;

	need(epoll_wait(other[0], &e, 1, -1) == 1);
	get_byte(ends[0]);
}

CALLED static void wake_epoll(long i)
{
	send_byte(ends[1]);
}

#define prepare_poll() prepare_pipe()

CALLED static void wait_poll(long i)
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };

	need(poll(&p, 1, -1) == 1);
	get_byte(ends[0]);
}

CALLED static void wake_poll(long i)
{
	send_byte(ends[1]);
}

#define prepare_select() prepare_pipe()

CALLED static void wait_select(long i)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	need(select(ends[0] + 1, &set, NULL, NULL, NULL) == 1);
	get_byte(ends[0]);
}

CALLED static void wake_select(long i)
{
	send_byte(ends[1]);
}

/* SIGUSR1 is blocked in all threads. */
#define prepare_signal() true

CALLED static void wait_signal(long i)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	while (sigwaitinfo(&set, NULL) < 0)
		;
}

CALLED static void wake_signal(long i)
{
	syscall(SYS_tkill, atomic_load(&all->waiter), SIGUSR1);
}

static bool prepare_signalfd(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	ends[0] = signalfd(-1, &set, 0);
	return ends[0] >= 0;
}

CALLED static void wait_signalfd(long i)
{
	struct signalfd_siginfo s;

	need(read(ends[0], &s, sizeof(s)) == sizeof(s));
}

CALLED static void wake_signalfd(long i)
{
	syscall(SYS_tkill, atomic_load(&all->waiter), SIGUSR1);
}

static bool prepare_msg(void)
{
	ends[0] = msgget(IPC_PRIVATE, 0600);
	return ends[0] >= 0;
}

CALLED static void wait_msg(long i)
{
	struct {
		long type;
		char text[1];
	} m;

	need(msgrcv(ends[0], &m, 1, 0, 0) == 1);
}

CALLED static void wake_msg(long i)
{
	struct {
		long type;
		char text[1];
	} m = { 1, "x" };

	need(msgsnd(ends[0], &m, 1, 0) == 0);
}

static bool prepare_semop(void)
{
	ends[0] = semget(IPC_PRIVATE, 1, 0600);
	return ends[0] >= 0;
}

CALLED static void wait_semop(long i)
{
	struct sembuf b = { .sem_op = -1 };

	need(semop(ends[0], &b, 1) == 0);
}

CALLED static void wake_semop(long i)
{
	struct sembuf b = { .sem_op = 1 };

	need(semop(ends[0], &b, 1) == 0);
}

static bool prepare_mq(void)
{
	struct mq_attr a = { .mq_maxmsg = 4, .mq_msgsize = 1 };
	char name[32];

	snprintf(name, sizeof(name), "/cameo-wakes-%d", (int)getpid());
	ends[0] = mq_open(name, O_RDWR | O_CREAT, 0600, &a);
	return ends[0] >= 0 && mq_unlink(name) == 0;
}

CALLED static void wait_mq(long i)
{
	char c;

	need(mq_receive(ends[0], &c, 1, NULL) == 1);
}

CALLED static void wake_mq(long i)
{
	need(mq_send(ends[0], "x", 1, 0) == 0);
}

static const char *file;
static int lock_fd = -1; /* a description of the waker's own */

#define prepare_flock() ((ends[0] = open(file, O_RDWR | O_CREAT, 0600)) >= 0)

CALLED static void wait_flock(long i)
{
	need(flock(ends[0], LOCK_EX) == 0);
	need(flock(ends[0], LOCK_UN) == 0);
}

static void take_flock(void)
{
	if (lock_fd < 0)
		lock_fd = open(file, O_RDWR);
	need(flock(lock_fd, LOCK_EX) == 0);
}

CALLED static void wake_flock(long i)
{
	need(flock(lock_fd, LOCK_UN) == 0);
}

static bool prepare_inotify(void)
{
	ends[1] = open(file, O_RDWR | O_CREAT, 0600);
	ends[0] = inotify_init1(0);
	return ends[0] >= 0 && inotify_add_watch(ends[0], file, IN_MODIFY) >= 0;
}

CALLED static void wait_inotify(long i)
{
	char event[sizeof(struct inotify_event) + 256];

	need(read(ends[0], event, sizeof(event)) > 0);
}

CALLED static void wake_inotify(long i)
{
	send_byte(ends[1]);
}

static bool prepare_pty(void)
{
	ends[1] = posix_openpt(O_RDWR | O_NOCTTY);
	if (ends[1] < 0 || grantpt(ends[1]) || unlockpt(ends[1]))
		return false;
	ends[0] = open(ptsname(ends[1]), O_RDWR | O_NOCTTY);
	return ends[0] >= 0;
}

CALLED static void wait_pty(long i)
{
	char line[8];

	need(read(ends[0], line, sizeof(line)) > 0);
}

CALLED static void wake_pty(long i)
{
	need(write(ends[1], "x\n", 2) == 2);
}

static struct sockaddr_un address = { .sun_family = AF_UNIX };

static bool listen_unix(void)
{
	/* abstract: the name begins with a zero */
	snprintf(address.sun_path + 1, 32, "cameo-wakes-%d", (int)getpid());
	return bind(ends[0], (void *)&address, sizeof(address)) == 0 && listen(ends[0], 4) == 0;
}

#define prepare_accept() ((ends[0] = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0 && listen_unix())

CALLED static void wait_accept(long i)
{
	int s = accept(ends[0], NULL, NULL);

	need(s >= 0 && close(s) == 0);
}

CALLED static void wake_accept(long i)
{
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	need(s >= 0 && connect(s, (void *)&address, sizeof(address)) == 0 && close(s) == 0);
}

/* io_uring: a poll of a pipe. */
static struct {
	struct io_uring_params p;
	int fd;
	char *sq, *cq;
	struct io_uring_sqe *sqes;
} ring;

static bool prepare_uring(void)
{
	ring.fd = (int)syscall(SYS_io_uring_setup, 4, &ring.p);
	if (ring.fd < 0 || pipe(ends))
		return false;
	ring.sq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQ_RING);
	ring.cq = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_CQ_RING);
	ring.sqes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, IORING_OFF_SQES);
	return ring.sq != MAP_FAILED && ring.cq != MAP_FAILED && (void *)ring.sqes != MAP_FAILED;
}

CALLED static void wait_uring(long i)
{
	atomic_uint *tail = (void *)(ring.sq + ring.p.sq_off.tail);
	unsigned int *array = (void *)(ring.sq + ring.p.sq_off.array);
	unsigned int at = atomic_load(tail) & (ring.p.sq_entries - 1);

	ring.sqes[at] = (struct io_uring_sqe){ .opcode = IORING_OP_POLL_ADD,
					       .fd = ends[0],
					       .poll_events = POLLIN };
	array[at] = at;
	atomic_fetch_add(tail, 1);
	need(syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) >= 0);
	atomic_fetch_add((atomic_uint *)(void *)(ring.cq + ring.p.cq_off.head), 1);
	get_byte(ends[0]);
}

CALLED static void wake_uring(long i)
{
	send_byte(ends[1]);
}

/* ---- threads and processes ---------------------------------------------------------------- */

static void nothing(void)
{
}

static const struct way {
	const char *name;
	bool (*prepare)(void);
	void (*wait)(long i), (*wake)(long i), (*take)(void);
	bool is_process;
} * way;

#define PREPARE(name)                                                                              \
	static bool name##_prepare(void)                                                           \
	{                                                                                          \
		return prepare_##name();                                                           \
	}
#define WAY(name, take, is_process)                                                                \
	{                                                                                          \
#name, name##_prepare, wait_##name, wake_##name, take, is_process                  \
	}

PREPARE(pipe)
PREPARE(unix)
PREPARE(tcp)
PREPARE(udp)
PREPARE(mutex)
PREPARE(pi)
PREPARE(rwlock)
PREPARE(cond)
PREPARE(sem)
PREPARE(futex)
PREPARE(eventfd)
PREPARE(epoll)
PREPARE(poll)
PREPARE(select)
PREPARE(signal)
PREPARE(signalfd)
PREPARE(msg)
PREPARE(semop)
PREPARE(mq)
PREPARE(flock)
PREPARE(inotify)
PREPARE(pty)
PREPARE(accept)
PREPARE(uring)

static const struct way ways[] = {
	WAY(pipe, nothing, false),       WAY(pipe, nothing, true),
	WAY(unix, nothing, true),        WAY(tcp, nothing, true),
	WAY(tcp, nothing, false),        WAY(udp, nothing, true),
	WAY(mutex, take_mutex, false),   WAY(pi, take_pi, false),
	WAY(rwlock, take_rwlock, false), WAY(cond, nothing, false),
	WAY(cond, nothing, true),        WAY(sem, nothing, true),
	WAY(futex, nothing, true),       WAY(eventfd, nothing, true),
	WAY(epoll, nothing, true),       WAY(poll, nothing, true),
	WAY(select, nothing, false),     WAY(signal, nothing, true),
	WAY(signalfd, nothing, false),   WAY(msg, nothing, true),
	WAY(semop, nothing, true),       WAY(mq, nothing, true),
	WAY(flock, take_flock, true),    WAY(inotify, nothing, true),
	WAY(pty, nothing, true),         WAY(accept, nothing, true),
	WAY(uring, nothing, true),
};

static void set_name(const char *what, const char *name)
{
	char text[16];

	snprintf(text, sizeof(text), "%s_%s", what, name);
	prctl(PR_SET_NAME, text);
}

static void *waiter(void *arg)
{
	set_name("wait", way->name);
	atomic_store(&all->waiter, (int)syscall(SYS_gettid));
	for (long i = 0; i < turns; i++) {
		while (atomic_load(&all->n_ready) <= i)
			usleep(CHECK_US);
		way->wait(i);
		atomic_store(&all->n_waited, i + 1);
	}
	return arg;
}

static void *waker(void *arg)
{
	set_name("wake", way->name);
	for (long i = 0; i < turns; i++) {
		way->take();
		atomic_store(&all->n_ready, i + 1);
		while (!atomic_load(&all->waiter))
			usleep(CHECK_US);
		usleep(PAUSE_US);
		way->wake(i);
		while (atomic_load(&all->n_waited) <= i)
			usleep(CHECK_US);
	}
	return arg;
}

static void init_shared(void)
{
	pthread_mutexattr_t m;
	pthread_condattr_t c;

	memset(all, 0, sizeof(*all));
	pthread_mutexattr_init(&m);
	pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
	pthread_condattr_init(&c);
	pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&all->lock, &m);
	pthread_mutexattr_setprotocol(&m, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&all->pi_lock, &m);
	pthread_cond_init(&all->cond, &c);
	pthread_rwlock_init(&all->rwlock, NULL);
	sem_init(&all->sem, 1, 0);
}

static void run(void)
{
	pthread_t t, other_thread;
	pid_t child = way->is_process ? fork() : 0;

	need(child >= 0);
	if (way->is_process && !child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		waker(NULL);
		_exit(0);
	}
	need(pthread_create(&t, NULL, waiter, NULL) == 0);
	need(way->is_process || pthread_create(&other_thread, NULL, waker, NULL) == 0);
	need(pthread_join(t, NULL) == 0);
	need(way->is_process ? waitpid(child, NULL, 0) == child
			     : pthread_join(other_thread, NULL) == 0);
}

/* ---- a chain of processes ------------------------------------------------------------------ */

enum { CHAIN_TURNS = 50 };

CALLED static void wake_middle(void)
{
	get_byte(ends[0]);
	send_byte(other[1]);
}

CALLED static void wait_last(void)
{
	get_byte(other[0]);
}

static pid_t middle, last;

static bool is_asleep(pid_t pid)
{
	char path[32], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	need(f && fscanf(f, "%*d %*s %c", &state) == 1);
	fclose(f);
	return state == 'S';
}

/* On a busy machine, the others may begin to wait long after they could have. */
CALLED static void wake_first(void)
{
	do
		usleep(PAUSE_US);
	while (!is_asleep(middle) || !is_asleep(last));
	send_byte(ends[1]);
}

static pid_t repeat(const char *name, void (*fn)(void))
{
	pid_t child = fork();

	need(child >= 0);
	if (child)
		return child;
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < CHAIN_TURNS; i++)
		fn();
	_exit(0);
}

static void chain(void)
{
	need(pipe(ends) == 0 && pipe(other) == 0);
	last = repeat("wait_last", wait_last);
	middle = repeat("wake_middle", wake_middle);
	repeat("wake_first", wake_first);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	sigset_t set;

	turns = argc > 1 ? atol(argv[1]) : 30;
	file = argc > 2 ? argv[2] : "wakes.file";
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(all != MAP_FAILED);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!turns)
		chain();
	for (size_t i = 0; turns && i < sizeof(ways) / sizeof(ways[0]); i++) {
		way = &ways[i];
		init_shared();
		if (!way->prepare())
			continue;
		run();
		printf("%s %s\n", way->name, way->is_process ? "process" : "thread");
		fflush(stdout);
	}
	return 0;
}
