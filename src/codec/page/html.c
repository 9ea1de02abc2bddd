/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ui/build.mjs generates the template and packs it into ui_page.h, deflated, as most runs of the
 * program do not need it. The template has a placeholder for the title and one for the data.
 * Everything else is copied unmodified, because its Content-Security-Policy contains the hashes
 * of the script and the style.
 *
 * The data is the content of a <script type="application/json"> element, which only a '<' could
 * end. JSON has this character only within strings, where \u003c is equivalent.
 */
#include "codec/page/html.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "ui_page.h"

static const char TITLE_MARK[] = "%CAMEO_TITLE%";
static const char DATA_MARK[] = "%CAMEO_DATA%";
static const char NO_TITLE[] = "Profile";

DEFINE_FREEP(struct libdeflate_decompressor, libdeflate_free_decompressor)

/* The length is known from the build, so anything else means a broken build. */
static int template_unpack(char **out, struct err *err)
{
	_cleanup_(libdeflate_free_decompressorp) struct libdeflate_decompressor *d = NULL;
	_cleanup_(freep) char *text = NULL;

	text = malloc(UI_PAGE_LEN + 1);
	d = libdeflate_alloc_decompressor();
	if (!text || !d)
		return -ENOMEM;
	if (libdeflate_zlib_decompress(d, ui_page, sizeof(ui_page), text, UI_PAGE_LEN, NULL) !=
	    LIBDEFLATE_SUCCESS)
		return err_set(err, -EBADMSG, "cannot decompress the built-in web page");
	text[UI_PAGE_LEN] = '\0';
	*out = steal_ptr(&text);
	return 0;
}

/* Escapes text for an element. The title may be a command line, so it is untrusted. */
static void put_text(struct buf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			buf_put_str(out, "&lt;");
		else if (*s == '&')
			buf_put_str(out, "&amp;");
		else
			buf_put_byte(out, (uint8_t)*s);
	}
}

static void put_json(struct buf *out, const char *json, size_t len)
{
	while (len > 0) {
		const char *lt = memchr(json, '<', len);
		size_t n = lt ? (size_t)(lt - json) : len;

		buf_put(out, json, n);
		if (!lt)
			return;
		buf_put_str(out, "\\u003c");
		json += n + 1;
		len -= n + 1;
	}
}

int html_page_write(const void *json, size_t len, const char *title, struct buf *out,
		    struct err *err)
{
	_cleanup_(freep) char *text = NULL;
	const char *at_title, *at_data, *rest;
	int r;

	r = template_unpack(&text, err);
	if (r < 0)
		return r;

	at_title = strstr(text, TITLE_MARK);
	at_data = at_title ? strstr(at_title, DATA_MARK) : NULL;
	if (!at_data)
		return err_set(err, -EBADMSG, "the built-in web page has no placeholder for data");

	rest = at_title + strlen(TITLE_MARK);
	buf_put(out, text, (size_t)(at_title - text));
	put_text(out, title && *title ? title : NO_TITLE);
	buf_put(out, rest, (size_t)(at_data - rest));
	put_json(out, json, len);
	buf_put_str(out, at_data + strlen(DATA_MARK));
	return buf_error(out);
}
