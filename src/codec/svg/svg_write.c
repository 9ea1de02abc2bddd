/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bar is a group of a title (the tooltip of viewers), a rectangle and as much of the name as
 * fits. Children are sorted by name, so that graphs of two recordings can be compared. Bars
 * narrower than a tenth of a pixel are omitted. A small script in the file zooms and searches;
 * viewers without scripts show the same picture.
 *
 * Names come from untrusted processes: put_char() escapes what XML treats as markup and replaces
 * what it cannot represent, so a file is well-formed whatever a symbol contains. The script reads
 * names as text content and never as HTML. Sizes: the picture is 1200 pixels wide and as high as
 * the deepest bar that is drawn.
 */
#include "codec/svg/svg_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "codec/common/format_codec.h"
#include "profile/profile.h"
#include "profile/tree.h"
#include "profile/unit.h"

enum {
	WIDTH = 1200,
	MARGIN = 10,
	HEAD = 48, /* pixels above the bars, for the title */
	ROW = 17,
	CHAR_TENTHS = 66, /* average width of a letter in tenths of a pixel */
};

static const double MIN_PIXELS = 0.1;

struct bar {
	double x, width;
	uint32_t depth; /* the root has 0 */
};

struct writer {
	const struct tree *t;
	const char *unit;
	struct buf *out;
	struct bar *bars; /* by node; width 0: omitted */
	uint32_t *order;  /* all nodes except the root, by parent, then by name */
	double *next_x;   /* by node: the left edge of its next child */
	uint32_t max_depth;
	double scale; /* pixels per unit of value */
};

static void writer_fini(struct writer *w)
{
	free(w->bars);
	free(w->order);
	free(w->next_x);
}

/* The colours of ui/src for frame kinds. */
static const char *colour(uint8_t kind)
{
	static const char *const colours[PROFILE_FRAME_MAX] = {
		[PROFILE_FRAME_NATIVE] = "#7cbceb", [PROFILE_FRAME_KERNEL] = "#f09654",
		[PROFILE_FRAME_ERROR] = "#e1e1e1",  [PROFILE_FRAME_GO] = "#46bea0",
		[PROFILE_FRAME_RUST] = "#cd9678",   [PROFILE_FRAME_PYTHON] = "#f3e264",
		[PROFILE_FRAME_JVM] = "#de96be",    [PROFILE_FRAME_V8] = "#96d682",
		[PROFILE_FRAME_RUBY] = "#e87878",   [PROFILE_FRAME_PHP] = "#a5a5e2",
		[PROFILE_FRAME_PERL] = "#82cdcd",   [PROFILE_FRAME_LUA] = "#7896d7",
		[PROFILE_FRAME_DOTNET] = "#be8ce1", [PROFILE_FRAME_BEAM] = "#d6bee6",
	};

	return kind < PROFILE_FRAME_MAX && colours[kind] ? colours[kind] : "#bcbcbc";
}

/* ---- layout ------------------------------------------------------------------ */

static const char *name_of(const struct tree *t, uint32_t node)
{
	return tree_string(t, tree_frame(t, tree_node(t, node)->frame)->name);
}

/*
 * Parents have smaller numbers than their children, so nodes sorted by parent are placed after
 * their parents.
 */
static int by_parent_and_name(const void *a, const void *b, void *ctx)
{
	const struct tree *t = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t px = tree_node(t, x)->parent, py = tree_node(t, y)->parent;
	int r;

	if (px != py)
		return px < py ? -1 : 1;
	r = strcmp(name_of(t, x), name_of(t, y));
	return r ? r : (x > y) - (x < y);
}

/* Computes the position of a bar. Parents have smaller numbers, so theirs is known already. */
static void place_bar(struct writer *w, uint32_t node)
{
	const struct tree_node *n = tree_node(w->t, node);
	const struct bar *parent = &w->bars[n->parent];
	struct bar *bar = &w->bars[node];

	if (!(parent->width > 0) || n->total <= 0)
		return;
	bar->x = w->next_x[n->parent];
	bar->width = (double)n->total * w->scale;
	bar->depth = parent->depth + 1;
	w->next_x[n->parent] += bar->width;
	w->next_x[node] = bar->x;
	if (bar->width < MIN_PIXELS)
		bar->width = 0;
	else if (bar->depth > w->max_depth)
		w->max_depth = bar->depth;
}

/*
 * A child begins where the one before ends. next_x holds that position for each node, which
 * replaces a recursion over the tree.
 */
static int lay_out(struct writer *w)
{
	uint32_t n = tree_n_nodes(w->t);
	int64_t total = tree_node(w->t, 0)->total;

	w->bars = calloc(n, sizeof(*w->bars));
	w->order = calloc(n, sizeof(*w->order));
	w->next_x = calloc(n, sizeof(*w->next_x));
	if (!w->bars || !w->order || !w->next_x)
		return -ENOMEM;
	w->scale = total > 0 ? (double)(WIDTH - 2 * MARGIN) / (double)total : 0;
	w->bars[0] = (struct bar){ MARGIN, WIDTH - 2 * MARGIN, 0 };
	w->next_x[0] = MARGIN;
	for (uint32_t i = 1; i < n; i++)
		w->order[i - 1] = i;
	if (n > 1)
		qsort_r(w->order, n - 1, sizeof(*w->order), by_parent_and_name, (void *)w->t);
	for (uint32_t i = 0; i + 1 < n; i++)
		place_bar(w, w->order[i]);
	return 0;
}

/* ---- text -------------------------------------------------------------------- */

/* XML 1.0 cannot represent C0 controls, U+FFFE and U+FFFF even with an escape, nor "]]>" in text.
 */
static void put_char(struct buf *out, const char *s, size_t n, uint32_t code)
{
	if (code == '<')
		buf_put_str(out, "&lt;");
	else if (code == '>')
		buf_put_str(out, "&gt;");
	else if (code == '&')
		buf_put_str(out, "&amp;");
	else if (code == '"')
		buf_put_str(out, "&quot;");
	else if (code < ' ' || (code >= 0x7f && code < 0xa0) || (code & 0xfffe) == 0xfffe)
		buf_put_byte(out, '?');
	else
		buf_put(out, s, n);
}

/* Writes at most @max characters, of which the last two are dots if the text is truncated. */
static void put_text(struct buf *out, const char *s, size_t max)
{
	size_t len = strlen(s), n;
	uint32_t code;

	for (size_t i = 0, k = 0; i < len; i += n, k++) {
		n = utf8_at((const uint8_t *)s + i, len - i, &code);
		if (!n) {
			n = 1;
			code = 0;
		}
		if (k + 2 >= max && i + n < len) {
			buf_put_str(out, "..");
			return;
		}
		put_char(out, s + i, n, code);
	}
}

static void put_value(struct writer *w, int64_t v)
{
	double ns = profile_unit_ns(w->unit);

	if (ns > 0) {
		buf_printf(w->out, "%.3f s", (double)v * ns * 1e-9);
		return;
	}
	buf_printf(w->out, "%" PRId64 " ", v);
	put_text(w->out, w->unit, SIZE_MAX);
}

/* ---- the file ---------------------------------------------------------------- */

/* A bar narrower than three letters has no text; its title has the complete name. */
static void put_bar(struct writer *w, uint32_t node)
{
	const struct tree_node *n = tree_node(w->t, node);
	const struct bar *b = &w->bars[node];
	const char *name = node ? name_of(w->t, node) : "all";
	uint8_t kind = node ? tree_frame(w->t, n->frame)->kind : PROFILE_FRAME_UNKNOWN;
	double y = HEAD + (double)(w->max_depth - b->depth) * ROW;
	size_t room = b->width > 6 ? (size_t)((b->width - 6) * 10 / CHAR_TENTHS) : 0;
	double share = 100.0 * (double)n->total / (double)tree_node(w->t, 0)->total;

	buf_put_str(w->out, "<g><title>");
	put_text(w->out, name, SIZE_MAX);
	buf_put_str(w->out, " (");
	put_value(w, n->total);
	buf_printf(w->out, ", %.2f%%)</title>", share);
	buf_printf(w->out, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>",
		   b->x, y, b->width, ROW - 1, colour(kind));
	buf_printf(w->out, "<text x=\"%.2f\" y=\"%.1f\">", b->x + 3, y + ROW - 5);
	if (room >= 3)
		put_text(w->out, name, room);
	buf_put_str(w->out, "</text></g>\n");
}

/*
 * A click on a bar widens it to the picture, above its dimmed callers; a click on the root or
 * Escape restores everything; Ctrl-F searches. fit() truncates names like put_bar().
 */
static const char script[] =
	"<script><![CDATA[\n"
	"const all=[...document.querySelectorAll('g')].map(g=>{const r=g.querySelector('rect');\n"
	"return{g,r,t:g.querySelector('text'),n:g.querySelector('title').textContent,\n"
	"x:+r.getAttribute('x'),y:+r.getAttribute('y'),w:+r.getAttribute('width')}});\n"
	"const name=b=>b.n.replace(/ \\([^(]*\\)$/,'');\n"
	"function fit(b,x,w){b.r.setAttribute('x',x);b.r.setAttribute('width',w);\n"
	"b.t.setAttribute('x',x+3);const c=Math.floor((w-6)/6.6),s=name(b);\n"
	"b.t.textContent=c<3?'':s.length>c?s.slice(0,c-2)+'..':s;}\n"
	"function zoom(z){const e=.01,k=(W-2*M)/z.w;for(const b of all){\n"
	"const above=b.x>=z.x-e&&b.x+b.w<=z.x+z.w+e&&b.y<=z.y;\n"
	"const below=b.x<=z.x+e&&b.x+b.w>=z.x+z.w-e&&b.y>z.y;\n"
	"b.g.style.display=above||below?'':'none';\n"
	"b.g.style.opacity=below?.5:1;\n"
	"if(above)fit(b,M+(b.x-z.x)*k,b.w*k);else if(below)fit(b,M,W-2*M);}}\n"
	"for(const b of all)b.g.addEventListener('click',()=>zoom(b));\n"
	"addEventListener('keydown',e=>{if(e.key==='Escape')zoom(all[0]);\n"
	"if(!(e.ctrlKey||e.metaKey)||e.key!=='f')return;e.preventDefault();\n"
	"const q=prompt('Names that match (a regular expression):');if(q===null)return;\n"
	"let re;try{re=q?new RegExp(q,'i'):null}catch{return}\n"
	"for(const b of all)b.r.setAttribute('stroke',re&&re.test(name(b))?'#e0f':'none');});\n"
	"]]></script>\n";

static void put_head(struct writer *w, const char *title)
{
	uint32_t height = HEAD + (w->max_depth + 1) * ROW + MARGIN;

	buf_printf(w->out,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		   "height=\"%u\" viewBox=\"0 0 %d %u\">\n"
		   "<style>text{font:11px sans-serif;pointer-events:none}g{cursor:pointer}"
		   "g:hover rect{stroke:#000}</style>\n"
		   "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		   "<text x=\"%d\" y=\"24\" style=\"font-size:16px\" text-anchor=\"middle\">",
		   WIDTH, height, WIDTH, height, WIDTH / 2);
	put_text(w->out, title ? title : "Flame graph", 120);
	buf_put_str(w->out, "</text>\n");
}

static void put_file(struct writer *w, const char *title)
{
	put_head(w, title);
	for (uint32_t i = 0; i < tree_n_nodes(w->t) && !buf_error(w->out); i++)
		if (w->bars[i].width > 0 && tree_node(w->t, 0)->total > 0)
			put_bar(w, i);
	buf_printf(w->out, "<script>const W=%d,M=%d;</script>\n", WIDTH, MARGIN);
	buf_put_str(w->out, script);
	buf_put_str(w->out, "</svg>\n");
}

int svg_write(const struct profile *p, const struct format_options *opt, struct buf *out,
	      struct err *err)
{
	const struct tree_options tree_opt = { opt->value_num, opt->root_label };
	_cleanup_(tree_freep) struct tree *t = NULL;
	_cleanup_(writer_fini) struct writer w = { .out = out };
	int r = tree_build(&t, p, &tree_opt);

	if (r == -EINVAL)
		return err_set(err, r, "the profile has no sample type %zu", opt->value_num + 1);
	w.t = t;
	if (r == 0)
		r = lay_out(&w);
	if (r < 0)
		return err_set(err, r, "out of memory while drawing the profile");
	w.unit = profile_string(p, profile_sample_type(p, opt->value_num).unit);
	put_file(&w, opt->title);
	return buf_error(out) ? err_set(err, -ENOMEM, "out of memory while drawing the profile")
			      : 0;
}

const struct format_codec svg_codec = { .write = svg_write, .features = FORMAT_ALL_KINDS };
