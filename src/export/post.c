/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers are assembled for each request, because files of credentials may change (a token that
 * is renewed). Credentials never appear in messages.
 */
#include "export/post.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "export/export.h"
#include "export/post_job.h"
#include "export/sink.h"
#include "fetch/pem.h"
#include "fetch/secret_file.h"
#include "roles/memfd.h"
#include "roles/pool.h"

enum {
	TIMEOUT_MS = 10000,
	START_MS = 5000, /* wait for an exporter to be started */
	OVERHEAD_MS =
		2000, /* time that an exporter may take in addition to the request's timeout */
};

struct strings {
	VEC(char *);
};

struct post {
	struct role_pool *pool;
	struct pem pem[POST_FILES];
	int cancel_fd; /* an eventfd, readable after post_cancel() */
	char *url;
	struct strings headers;
	char *secret, *secret_file; /* at most one is set */
	bool is_basic;
	struct post_request fixed; /* fields that every request has; it ends with an array */
};

static void strings_fini(struct strings *s)
{
	for (size_t i = 0; i < s->len; i++)
		free(s->data[i]);
	vec_fini(s);
}

/* Takes ownership of @s; NULL means that memory ran out. */
static int strings_take(struct strings *s, char *text)
{
	int r = text ? vec_push(s, text) : -ENOMEM;

	if (r < 0)
		free(text);
	return r;
}

void post_free(struct post *p)
{
	if (!p)
		return;
	for (int i = 0; i < POST_FILES; i++)
		pem_close(&p->pem[i]);
	closep(&p->cancel_fd);
	strings_fini(&p->headers);
	free(p->secret);
	free(p->secret_file);
	free(p->url);
	free(p);
}

static bool is_header(const char *h)
{
	size_t name = strcspn(h, ": \t");

	return name && h[name] == ':' && !strpbrk(h, "\r\n");
}

static int add_headers(struct post *p, const struct post_options *opt, struct err *err)
{
	const struct export_sink_options *o = opt->sink;
	char *tenant = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < opt->n_headers; i++)
		r = strings_take(&p->headers, strdup(opt->headers[i]));
	for (size_t i = 0; r == 0 && i < o->n_headers; i++) {
		if (!is_header(o->headers[i]))
			return err_set(err, -EINVAL, "header: expected \"NAME: VALUE\"");
		r = strings_take(&p->headers, strdup(o->headers[i]));
	}
	if (r < 0 || !o->tenant)
		return r;
	if (strpbrk(o->tenant, "\r\n"))
		return err_set(err, -EINVAL, "tenant must be a single line");
	return strings_take(&p->headers,
			    asprintf(&tenant, "X-Scope-OrgID: %s", o->tenant) < 0 ? NULL : tenant);
}

/* Checks the readability of the file now; its contents are read for each request. */
static int copy_secret(struct post *p, const struct export_sink_options *o, struct err *err)
{
	const char *text = o->bearer ? o->bearer : o->basic;
	const char *file = o->bearer_file ? o->bearer_file : o->basic_file;

	if (!!o->bearer + !!o->basic + !!o->bearer_file + !!o->basic_file > 1)
		return err_set(err, -EINVAL,
			       "bearer, bearer-file, basic and basic-file cannot be used together");
	p->is_basic = o->basic || o->basic_file;
	if (file && access(file, R_OK) < 0)
		return err_set(err, -EINVAL, "cannot read \"%.150s\": %s", file, strerror(errno));
	if (text && strpbrk(text, "\r\n"))
		return err_set(err, -EINVAL, "credentials must be a single line");
	p->secret = text ? strdup(text) : NULL;
	p->secret_file = file ? strdup(file) : NULL;
	return (text && !p->secret) || (file && !p->secret_file) ? -ENOMEM : 0;
}

static int open_pem(struct post *p, enum post_file which, const char *path, struct err *err)
{
	if (path)
		p->fixed.files |= (uint8_t)(1u << which);
	return pem_open(&p->pem[which], path, err);
}

static int open_files(struct post *p, const struct export_sink_options *o, struct err *err)
{
	int r = open_pem(p, POST_CA, o->ca_file, err);

	if (r == 0)
		r = open_pem(p, POST_CERT, o->cert_file, err);
	if (r == 0)
		r = open_pem(p, POST_KEY, o->key_file, err);
	return r;
}

int post_new(struct post **out, const struct post_options *opt, struct err *err)
{
	const struct export_sink_options *o = opt->sink;
	_cleanup_(post_freep) struct post *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->pool = opt->pool;
	p->fixed = (struct post_request){
		.judge = opt->judge,
		.timeout_ms = o->timeout_ms ? o->timeout_ms : TIMEOUT_MS,
		.insecure = o->tls_insecure,
		.http2_only = opt->http2_only,
	};
	for (int i = 0; i < POST_FILES; i++)
		p->pem[i] = PEM_NONE;
	p->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->url = strdup(opt->url);
	if (!p->url || p->cancel_fd < 0)
		return -ENOMEM;
	r = add_headers(p, opt, err);
	if (r == 0)
		r = copy_secret(p, o, err);
	if (r == 0)
		r = open_files(p, o, err);
	if (r < 0)
		return r;
	*out = steal_ptr(&p);
	return 0;
}

/* O_NONBLOCK: a named pipe in place of the file must not block the thread. */
static int read_secret(const char *path, char out[SECRET_FILE_MAX], struct err *err)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_set(err, -errno, "cannot read \"%.100s\": %s", path, strerror(errno));
	return secret_file_read(fd, path, out, err);
}

/* Formats the Authorization header; *@out is NULL without credentials. */
static int authorization(const struct post *p, char **out, struct err *err)
{
	_cleanup_(buf_fini) struct buf header = { 0 };
	char room[SECRET_FILE_MAX];
	const char *secret = p->secret;
	int r;

	*out = NULL;
	if (!p->secret && !p->secret_file)
		return 0;
	if (p->secret_file) {
		r = read_secret(p->secret_file, room, err);
		if (r < 0)
			return r;
		secret = room;
	}
	secret_file_header(secret, p->is_basic, &header);
	if (buf_error(&header))
		return -ENOMEM;
	*out = (char *)steal_ptr(&header.data);
	return 0;
}

static void put_text(struct buf *b, const char *text)
{
	buf_put(b, text, strlen(text) + 1);
}

/* Headers of the caller follow those of the protocol, and Authorization comes last. */
static int encode_request(const struct post *p, uint32_t n_profiles, struct buf *out,
			  struct err *err)
{
	_cleanup_(freep) char *auth = NULL;
	struct post_request fixed = p->fixed;
	int r = authorization(p, &auth, err);

	if (r < 0)
		return r;
	fixed.n_profiles = n_profiles;
	buf_put(out, &fixed, sizeof(fixed));
	put_text(out, p->url);
	for (size_t i = 0; i < p->headers.len; i++)
		put_text(out, p->headers.data[i]);
	if (auth)
		put_text(out, auth);
	return buf_error(out);
}

/* Returns a descriptor of a copy of @body, or -errno. */
static int copy_body(const struct buf *body)
{
	struct role_memfd m;
	int r = role_memfd_new(&m, body->len);

	if (r < 0)
		return r;
	memcpy(m.data, body->data, body->len);
	return role_memfd_seal(&m);
}

static bool is_cancelled(const struct post *p)
{
	struct pollfd f = { .fd = p->cancel_fd, .events = POLLIN };

	return poll(&f, 1, 0) == 1;
}

/* Waits for the reply. Returns the same values as role_exchange_poll(), or -ECANCELED. */
static int wait_for_reply(struct post *p, struct role_exchange *x)
{
	struct pollfd fds[] = { { .fd = role_exchange_fd(x), .events = POLLIN },
				{ .fd = p->cancel_fd, .events = POLLIN } };
	int r;

	/* the timeouts of the exchange are noticed within a second */
	while ((r = role_exchange_poll(x, 0)) == -EAGAIN) {
		if (poll(fds, 2, 1000) > 0 && fds[1].revents)
			return -ECANCELED;
	}
	return r;
}

/* Copies the outcome from a reply, which is checked. Returns 0 or -EBADMSG. */
static int take_outcome(struct role_exchange *x, uint32_t n_profiles, struct sink_outcome *out)
{
	const struct role_reply *reply = role_exchange_reply(x);
	const struct post_reply *a = reply->data;

	if (reply->len != sizeof(*a) || a->verdict > SINK_NEVER || a->retry_ms < 0 ||
	    a->rejected_profiles > n_profiles || !memchr(a->why, 0, sizeof(a->why))) {
		role_exchange_reject(x);
		return -EBADMSG;
	}
	out->retry_ms = a->retry_ms;
	out->rejected_profiles = a->rejected_profiles;
	out->is_cameo = a->is_cameo;
	sink_end(out, a->verdict, "%s", a->why);
	return 0;
}

static const char *explain(int r)
{
	switch (r) {
	case -EPIPE:
		return "the exporter process died and is started again";
	case -EAGAIN:
		return "no exporter process could be started";
	case -EBADMSG:
		return "the exporter process sent an invalid message and was replaced";
	case -ETIMEDOUT:
		return "the exporter process did not reply in time and was replaced";
	case -ECANCELED:
		return "canceled";
	default:
		return strerror(-r);
	}
}

/*
 * Sends @request with the descriptors to an exporter. Returns 0 if the exporter received a
 * response, or -errno.
 */
static int exchange(struct post *p, const struct buf *request, int body_fd, uint32_t n_profiles,
		    struct sink_outcome *out)
{
	int fds[1 + POST_FILES] = { body_fd };
	struct role_request rq = { .kind = EXPORT_POST,
				   .data = request->data,
				   .len = request->len,
				   .fds = fds,
				   .n_fds = 1,
				   .timeout_ms = p->fixed.timeout_ms + OVERHEAD_MS };
	_cleanup_(role_exchange_endp) struct role_exchange *x = NULL;
	int r;

	for (int i = 0; i < POST_FILES; i++)
		if (p->fixed.files >> i & 1)
			fds[rq.n_fds++] = p->pem[i].fd;
	r = is_cancelled(p) ? -ECANCELED : role_pool_start(p->pool, &rq, START_MS, &x);
	if (r == 0)
		r = wait_for_reply(p, x);
	if (r == 0)
		r = take_outcome(x, n_profiles, out);
	return r < 0 ? r : role_exchange_reply(x)->result;
}

/*
 * A failure between this process and an exporter is temporary (SINK_LATER), because the receiver
 * has not judged the item. The exporter's verdict alone can be final.
 */
bool post_send(struct post *p, const struct buf *body, uint32_t n_profiles,
	       struct sink_outcome *out)
{
	_cleanup_(buf_fini) struct buf request = { 0 };
	_cleanup_(closep) int body_fd = copy_body(body);
	struct err err = { 0 };
	int r = body_fd < 0 ? body_fd : encode_request(p, n_profiles, &request, &err);

	for (int i = 0; r == 0 && i < POST_FILES; i++)
		r = pem_refresh(&p->pem[i], &err);
	if (r == 0)
		r = exchange(p, &request, body_fd, n_profiles, out);
	if (r < 0 && !out->why[0])
		sink_end(out, SINK_LATER, "%s", err.msg[0] ? err.msg : explain(r));
	return r == 0;
}

void post_cancel(struct post *p)
{
	uint64_t one = 1;

	(void)!write(p->cancel_fd, &one, sizeof(one));
}
