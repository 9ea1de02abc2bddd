/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files are read at the start and, when one of them has changed, all again: a certificate is
 * only useful with its own key.
 */
#include "server/keys.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/file_contents.h"
#include "server/server_options.h"

enum { MAX_PEM = 1 << 20 };

/* Appends a NUL, since PEM is passed on as a C string. A missing option is an empty text. */
static int read_pem(const char *path, struct buf *out, struct err *err)
{
	int r = path ? file_contents(path, MAX_PEM, out, err) : 0;

	if (r == 0 && path)
		buf_put_byte(out, 0);
	return r < 0 ? r : buf_error(out);
}

/*
 * Combinations of options are checked before any file is read, so that the error does not depend on
 * which files exist.
 */
int keys_read(struct keys *k, const struct server_options *opt, struct err *err)
{
	int r;

	if (!opt->cert_file != !opt->key_file)
		return err_set(err, -EINVAL, "--tls-cert and --tls-key must be used together");
	if (opt->client_ca_file && !opt->cert_file)
		return err_set(err, -EINVAL, "--tls-client-ca requires --tls-cert and --tls-key");
	if (opt->auth.subject_file && !opt->client_ca_file)
		return err_set(err, -EINVAL, "--auth-subject-file requires --tls-client-ca");
	r = read_pem(opt->cert_file, &k->cert, err);
	if (r == 0)
		r = read_pem(opt->key_file, &k->key, err);
	return r < 0 ? r : read_pem(opt->client_ca_file, &k->client_ca, err);
}

/* The memory that held a private key is erased before it is freed. */
static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->len);
	buf_fini(b);
}

void keys_fini(struct keys *k)
{
	wipe(&k->cert);
	wipe(&k->key);
	wipe(&k->client_ca);
}
