/* SPDX-License-Identifier: Apache-2.0 */
#include "server/admission.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "net/http_server.h"
#include "net/origin.h"
#include "server/access.h"
#include "server/api.h"
#include "server/counters.h"
#include "server/login.h"
#include "server/rpc.h"
#include "server/server_options.h"
#include "server/session_cookie.h"

static const char unauthenticated[] =
	"authentication required: send a bearer token, a user and password, or a certificate";
static const char out_of_scope[] = "this credential does not include the scope of the method";

/*
 * The scope that a method requires; 0 for any. A method whose access was forgotten requires one
 * that nobody has.
 */
static unsigned int scope_of(enum api_access access)
{
	switch (access) {
	case API_OPEN:
	case API_CLIENT:
		return 0;
	case API_READ:
	case API_READ_ALL:
		return CLIENT_READ;
	case API_WRITE:
		return CLIENT_WRITE;
	case API_ADMIN:
		return CLIENT_ADMIN;
	case API_FORGOTTEN:
		break;
	}
	return ~0u;
}

/*
 * Browsers add cookies by themselves, also to requests that another page sends. SameSite prevents
 * that for other sites only, so the session counts for pages of exactly this origin; programs have
 * no session.
 */
static int authenticate_session(struct access *a, const struct http_request *rq, struct client *out)
{
	const char *method = http_request_method(rq), *id;
	bool reads = !strcmp(method, "GET") || !strcmp(method, "HEAD");
	size_t len;

	id = session_cookie_find(rq, &len);
	if (!id || (reads ? origin_is_foreign(rq, NULL) : !origin_is_own(rq)))
		return -EACCES;
	return access_check_session(a, id, len, out);
}

/*
 * An Authorization header counts more than a session, and that more than the certificate of the
 * connection, which may be a proxy's.
 */
static int authenticate(struct access *a, const struct http_request *rq, bool may_block,
			struct client *out)
{
	const char *authorization = http_request_header(rq, "Authorization");
	const char *subject = http_request_peer(rq)->subject;

	if (authorization && !may_block)
		return access_recall(a, authorization, out);
	if (authorization)
		return access_check(a, authorization, http_request_peer(rq), out);
	if (authenticate_session(a, rq, out) == 0)
		return 0;
	return subject[0] ? access_check_subject(a, subject, out) : -EACCES;
}

/*
 * Returns true if a browser loads the web page. The response is then the form to sign in, if this
 * build has it.
 */
static bool is_page_load(const struct http_request *rq, const struct api_method *api)
{
	const char *accept = http_request_header(rq, "Accept");

	return api && !strcmp(api->path, "/") && !http_request_header(rq, "Authorization") &&
	       accept && strstr(accept, "text/html") && api_find(api_lists, LOGIN_PATH);
}

bool admission_is_browser(const struct http_request *rq)
{
	size_t len;

	return http_request_header(rq, "X-Requested-With") ||
	       http_request_header(rq, "Sec-Fetch-Mode") || session_cookie_find(rq, &len);
}

/*
 * Returns 0 and the client, -EINPROGRESS unless @may_block, -EACCES, -EUSERS, or -EPERM without the
 * scope or about all tenants.
 */
static int identify(const struct admission *a, const struct api_method *api,
		    const struct http_request *rq, bool may_block, struct client *out)
{
	unsigned int scope = scope_of(api->access);
	int r;

	*out = (struct client){ .scopes = CLIENT_READ | CLIENT_WRITE | CLIENT_ADMIN };
	if (a->access && api->access != API_OPEN) {
		r = authenticate(a->access, rq, may_block, out);
		if (r < 0)
			return r;
	}
	if ((out->scopes & scope) != scope)
		return -EPERM;
	return api->access == API_READ_ALL && out->tenant[0] ? -EPERM : 0;
}

/* A page that reached this server by DNS rebinding has no credentials. */
static bool is_rebound(const struct admission *a, const struct http_request *rq)
{
	const char *host = http_request_host(rq);

	return a->opt->check_host && !a->access && host &&
	       !origin_host_is_ours(host, a->opt->host_names);
}

bool admission_is_preflight(const struct http_request *rq)
{
	return !strcmp(http_request_method(rq), "OPTIONS") && http_request_header(rq, "Origin") &&
	       http_request_header(rq, "Access-Control-Request-Method");
}

/* Cookies are never involved: pages of other origins need credentials of their own. */
bool admission_allow_origin(const struct admission *a, const struct http_request *rq,
			    struct http_response *rs)
{
	const char *origin = http_request_header(rq, "Origin");

	if (!a->opt->cors_origins || !origin || !origin_is_listed(origin, a->opt->cors_origins))
		return false;
	http_response_add(rs, "Access-Control-Allow-Origin", origin);
	http_response_add(rs, "Vary", "Origin");
	if (!admission_is_preflight(rq)) {
		http_response_add(rs, "Access-Control-Expose-Headers",
				  "X-Cameo-Empty, X-Cameo-Ignored");
		return false;
	}
	rs->status = 204;
	http_response_add(rs, "Access-Control-Allow-Methods", "GET, POST");
	http_response_add(rs, "Access-Control-Allow-Headers",
			  "Authorization, Content-Type, Content-Encoding, "
			  "Connect-Protocol-Version, Connect-Timeout-Ms, X-Scope-OrgID");
	http_response_add(rs, "Access-Control-Max-Age", "600");
	return true;
}

int admission_by_headers(const struct admission *a, const struct api_method *api,
			 const struct http_request *rq, bool may_block, struct client *out,
			 const char **out_message)
{
	int r;

	if (is_rebound(a, rq)) {
		*out_message = "the Host header does not name this server: see --host-name";
		return 421;
	}
	if (origin_is_foreign(rq, a->opt->cors_origins)) {
		counters_refuse(a->counters, REFUSAL_ORIGIN);
		*out_message = "requests from web pages of other origins are not accepted";
		return 403;
	}
	if (admission_is_preflight(rq) && a->opt->cors_origins)
		return 0; /* of a listed origin, and answered without running a method */
	r = api ? identify(a, api, rq, may_block, out) : 0;
	if (r == -EINPROGRESS)
		return r;
	if (r == 0 || (r == -EACCES && is_page_load(rq, api)))
		return 0;
	counters_add(a->counters, COUNTER_UNKNOWN_CLIENT);
	*out_message = unauthenticated;
	if (r == -EPERM) {
		counters_refuse(a->counters, REFUSAL_SCOPE);
		*out_message = out_of_scope;
	}
	if (r == -EUSERS)
		*out_message = "too many wrong passwords; retry later";
	return r == -EPERM ? 403 : r == -EUSERS ? 429 : 401;
}

/* Uses the client's own tenant, or the one that the request names if the server has several. */
static int select_tenant(const struct admission *a, struct rpc *rpc)
{
	const char *requested = http_request_header(rpc->rq, "X-Scope-OrgID");
	const char *own = rpc->client.tenant[0] ? rpc->client.tenant : NULL;

	if (own && requested && strcmp(own, requested) != 0)
		return err_set(rpc->err, -EPERM, "this client may not use tenant \"%.64s\"",
			       requested);
	if (own)
		rpc->tenant = own;
	else if (a->opt->tenants && !requested)
		return err_set(rpc->err, -EACCES, "header X-Scope-OrgID is missing");
	else if (a->opt->tenants && !store_tenant_valid(requested))
		return err_set(rpc->err, -EINVAL,
			       "header X-Scope-OrgID is not a valid tenant name");
	else if (a->opt->tenants)
		rpc->tenant = requested;
	return 0;
}

bool admission_has_tenant(enum api_access access)
{
	return access == API_READ || access == API_WRITE || access == API_ADMIN;
}

int admission_decide(const struct admission *a, struct rpc *rpc)
{
	enum api_access access = rpc->api->access;
	int r = identify(a, rpc->api, rpc->rq, true, &rpc->client);

	if (r == -EACCES && is_page_load(rpc->rq, rpc->api)) {
		login_redirect(rpc->rs);
		return 1;
	}
	if (r == -EACCES && !admission_is_browser(rpc->rq))
		http_response_add(rpc->rs, "WWW-Authenticate", "Basic realm=\"cameo\"");
	if (r < 0)
		return err_set(rpc->err, r, "%s", r == -EPERM ? out_of_scope : unauthenticated);
	if (access == API_WRITE || access == API_ADMIN)
		rpc->sink = rpc->store;
	if (rpc->sink && a->opt->read_only)
		return err_set(
			rpc->err, -EREMOTE,
			"this server is read-only: push to the server that writes the store");
	return admission_has_tenant(access) ? select_tenant(a, rpc) : 0;
}
