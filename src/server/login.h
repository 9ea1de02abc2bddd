/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Signing in to the web page by a form, and out. The form works without scripts. Only browsers use
 * it: programs send their credentials with each request.
 */
#include "server/rpc.h"

#define LOGIN_PATH "/login"

/*
 * Framings: GET returns the form, POST signs in with its fields; POST signs out. POST requires a
 * page of this server. Errors are pages too.
 */
void login_frame(struct rpc *rpc, rpc_fn run);
void login_frame_out(struct rpc *rpc, rpc_fn run);

/* Handlers of these: sign in by the body, end the session of the request. */
int login_sign_in(struct rpc *rpc);
int login_sign_out(struct rpc *rpc);

/* Describes the session of the request as JSON. */
int login_session(struct rpc *rpc);

/* Redirects a browser that opened a page without credentials to the form. */
void login_redirect(struct http_response *rs);
