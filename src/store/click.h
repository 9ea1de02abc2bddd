/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The store in a ClickHouse, over its HTTP interface. Several processes may have the
 * same one, as all that they know of it they can ask for again. What is acknowledged
 * is as safe as ClickHouse makes what is inserted.
 */
#include "store/store.h"

/*
 * @opt->url: clickhouse://[USER[:PASSWORD]@]HOST:PORT/DATABASE, clickhouses:// with TLS. Database
 * and tables are made if they are missing. 0; -EINVAL; as click_http.h has it.
 */
int click_open(struct store **out, const struct store_options *opt, struct err *err);
