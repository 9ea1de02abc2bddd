/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The form has no action, so browsers send it to the address of the page, including the fragment
 * that holds the state of the web page. Browsers keep the fragment across redirects, so after
 * signing in a user sees the view that the address names.
 *
 * Referrer-Policy must not be "no-referrer": a form would then be sent with "Origin: null", which
 * is not a page of this server.
 */
#include "server/login.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "net/http_server.h"
#include "net/origin.h"
#include "server/access.h"
#include "server/api.h"
#include "server/connect.h"
#include "server/failure.h"
#include "server/session_cookie.h"
#include "ui_login_page.h"

enum { MAX_FIELD = 2048 };

static const char field_user[] =
	"<label for=\"user\">User name</label>"
	"<input id=\"user\" name=\"user\" autocomplete=\"username\" maxlength=\"1000\" "
	"autocapitalize=\"none\" spellcheck=\"false\" autofocus required>";
static const char field_user_optional[] =
	"<label for=\"user\">User name <span>(empty for a token)</span></label>"
	"<input id=\"user\" name=\"user\" autocomplete=\"username\" maxlength=\"1000\" "
	"autocapitalize=\"none\" spellcheck=\"false\" autofocus>";
static const char field_secret[] =
	"<input id=\"secret\" name=\"secret\" type=\"password\" maxlength=\"2000\" "
	"autocomplete=\"current-password\" required";

/* ---- the form ------------------------------------------------------------------- */

static void put_fields(struct rpc *rpc)
{
	bool tokens = access_has_tokens(rpc->access), users = access_has_passwords(rpc->access);
	struct buf *out = &rpc->rs->body;

	if (!tokens && !users) {
		buf_put_str(out, "<p>This server identifies clients by their certificates. Install "
				 "one in the browser.</p>");
		return;
	}
	if (users)
		buf_put_str(out, tokens ? field_user_optional : field_user);
	buf_put_str(out, "<label for=\"secret\">");
	buf_put_str(out, !users ? "Token" : tokens ? "Password or token" : "Password");
	buf_put_str(out, "</label>");
	buf_put_str(out, field_secret);
	buf_put_str(out, users ? ">" : " autofocus>");
	buf_put_str(out, "<button>Sign in</button>");
}

/* Writes the form with an error, or NULL. Neither contains text of a client. */
static void put_form(struct rpc *rpc, const char *error)
{
	static const struct http_header headers[] = {
		{ "Content-Security-Policy", UI_LOGIN_PAGE_CSP },
		{ "Referrer-Policy", "same-origin" },
		{ "X-Frame-Options", "DENY" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cache-Control", "no-store" },
	};
	struct http_response *rs = rpc->rs;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		http_response_add(rs, headers[i].name, headers[i].value);
	rs->content_type = "text/html; charset=utf-8";
	buf_clear(&rs->body);
	buf_put(&rs->body, ui_login_page_head, sizeof(ui_login_page_head));
	if (!error && http_request_arg(rpc->rq, "expired"))
		buf_put_str(&rs->body, "<p role=\"status\">Your session has ended.</p>");
	if (error) {
		buf_put_str(&rs->body, "<p role=\"alert\">");
		buf_put_str(&rs->body, error);
		buf_put_str(&rs->body, "</p>");
	}
	put_fields(rpc);
	buf_put(&rs->body, ui_login_page_tail, sizeof(ui_login_page_tail));
}

/* 403 instead of 401, after which a browser would open its own dialog. */
static void refuse(struct rpc *rpc, int r)
{
	const struct failure *f = failure_record(rpc, r);
	const char *error = "The server cannot check credentials now. Try again later.";

	if (r == -EACCES)
		error = "These credentials are wrong.";
	else if (r == -EUSERS)
		error = "There were too many wrong attempts. Try again in a few seconds.";
	else if (r == -EPERM)
		error = "The form was not sent by a page of this server.";
	else if (r == -EINVAL)
		error = "The form is incomplete.";
	rpc->rs->status = r == -EACCES ? 403 : f->status;
	if (f->retry_s)
		http_response_add(rpc->rs, "Retry-After", f->retry_after);
	put_form(rpc, error);
}

static void redirect(struct http_response *rs, const char *to)
{
	rs->status = 303;
	http_response_add(rs, "Location", to);
	http_response_add(rs, "Cache-Control", "no-store");
}

void login_redirect(struct http_response *rs)
{
	redirect(rs, &LOGIN_PATH[1]);
}

/* ---- signing in ----------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends the text of an application/x-www-form-urlencoded value. */
static void put_decoded(struct buf *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		int high = s[i] == '%' && i + 2 < len ? hex_digit(s[i + 1]) : -1;
		int low = high >= 0 ? hex_digit(s[i + 2]) : -1;

		if (low >= 0) {
			buf_put_byte(out, (uint8_t)(high << 4 | low));
			i += 2;
		} else {
			buf_put_byte(out, s[i] == '+' ? ' ' : (uint8_t)s[i]);
		}
	}
}

/* Decodes the field @name of a form. False if there is none. */
static bool find_field(const char *form, size_t len, const char *name, struct buf *out)
{
	size_t name_len = strlen(name);
	const char *end = form + len;

	while (form < end) {
		const char *next = memchr(form, '&', (size_t)(end - form));
		size_t n = (size_t)((next ? next : end) - form);

		if (n > name_len && !memcmp(form, name, name_len) && form[name_len] == '=') {
			put_decoded(out, form + name_len + 1, n - name_len - 1);
			return true;
		}
		form += n + 1;
	}
	return false;
}

static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_fini(b);
}

static int sign_in(struct rpc *rpc, const struct buf *user, const struct buf *secret)
{
	const struct access_login login = { .user = (const char *)user->data,
					    .user_len = user->len,
					    .secret = (const char *)secret->data,
					    .secret_len = secret->len };
	char id[SESSION_ID_LEN + 1];
	int r;

	if (buf_error(user) || buf_error(secret))
		return -ENOMEM;
	if (!secret->len || secret->len > MAX_FIELD || user->len > MAX_FIELD)
		return -EINVAL;
	r = access_sign_in(rpc->access, &login, http_request_peer(rpc->rq), &rpc->client, id);
	if (r == 0)
		session_cookie_set(rpc->rq, id, rpc->rs);
	explicit_bzero(id, sizeof(id));
	return r;
}

/* A session that the browser had before is ended, so that its id is of no use any more. */
static void end_session(struct rpc *rpc)
{
	size_t len;
	const char *id = session_cookie_find(rpc->rq, &len);

	if (id && rpc->access)
		access_sign_out(rpc->access, id, len);
}

int login_sign_in(struct rpc *rpc)
{
	struct buf user = { 0 }, secret = { 0 };
	int r = -EINVAL;

	if (find_field(rpc->body, rpc->len, "secret", &secret)) {
		find_field(rpc->body, rpc->len, "user", &user);
		r = sign_in(rpc, &user, &secret);
	}
	wipe(&user);
	wipe(&secret);
	if (r == 0) {
		end_session(rpc);
		redirect(rpc->rs, "./");
	}
	return r;
}

void login_frame(struct rpc *rpc, rpc_fn run)
{
	const char *method = http_request_method(rpc->rq);
	int r;

	if (!rpc->access) {
		redirect(rpc->rs, "./");
		return;
	}
	if (strcmp(method, "POST") != 0) {
		if (connect_accepts_method(rpc, "GET"))
			put_form(rpc, NULL);
		return;
	}
	rpc->body = http_request_body(rpc->rq, &rpc->len);
	r = origin_is_own(rpc->rq) ? run(rpc) : -EPERM;
	if (r < 0)
		refuse(rpc, r);
}

/* ---- signing out ---------------------------------------------------------------- */

int login_sign_out(struct rpc *rpc)
{
	end_session(rpc);
	session_cookie_set(rpc->rq, NULL, rpc->rs);
	http_response_add(rpc->rs, "Cache-Control", "no-store");
	rpc->rs->status = 204;
	return 0;
}

void login_frame_out(struct rpc *rpc, rpc_fn run)
{
	int r;

	if (!connect_accepts_method(rpc, "POST"))
		return;
	r = origin_is_own(rpc->rq)
		    ? run(rpc)
		    : err_set(rpc->err, -EPERM, "only a page of this server can sign out");
	if (r < 0)
		connect_refuse(rpc, r);
}

int login_session(struct rpc *rpc)
{
	struct json j = json_to(&rpc->rs->body);

	rpc->rs->content_type = "application/json";
	http_response_add(rpc->rs, "Cache-Control", "no-store");
	json_object(&j);
	json_member_str(&j, "user", rpc->client.name);
	json_member_bool(&j, "signedIn", rpc->client.is_session);
	json_object_end(&j);
	return 0;
}
