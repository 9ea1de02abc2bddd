/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted recordings of Flight Recorder, and the labels that the Java agent sends with them:
 * accepted input can be written as pprof.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/jfr/jfr_labels.h"
#include "codec/jfr/jfr_read.h"
#include "codec/pprof/pprof.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Each label that is found belongs to the context that was looked up. */
static void look_up(const struct jfr_labels *l)
{
	for (size_t i = 0; i < l->labels.len; i++) {
		int64_t context = l->labels.data[i].context;
		size_t n;
		const struct jfr_label *of = jfr_labels_of(l, context, &n);

		if (!n || of[0].context != context || of[n - 1].context != context)
			abort();
		jfr_labels_string(l, of[0].key);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(profile_freep) struct profile *p = NULL, *again = NULL;
	_cleanup_(jfr_labels_fini) struct jfr_labels labels = { 0 };
	_cleanup_(buf_fini) struct buf b = { 0 };

	if (!jfr_detect(data, len)) {
		if (jfr_labels_read(&labels, data, len, 10000, NULL) == 0)
			look_up(&labels);
		return 0;
	}
	if (jfr_read(&p, data, len, NULL, NULL) < 0)
		return 0;
	if (pprof_write(p, &b, NULL) < 0 || pprof_read(&again, b.data, b.len, NULL, NULL) < 0 ||
	    profile_n_samples(again) > profile_n_samples(p))
		abort();
	return 0;
}
