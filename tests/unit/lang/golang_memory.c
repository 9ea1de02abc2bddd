/* SPDX-License-Identifier: Apache-2.0 */
#include "golang_memory.h"

#include <errno.h>
#include <string.h>

enum {
	FUNCS = 0x400, /* in table_bytes */
	RECORDS = 0x500,
	RECORD_BYTES = 0x40,
	NAMES = 0x10,
	NAME_BYTES = 0x20,
	PCS = 0x200,
	PCS_BYTES = 8,
	LINES = 0x300,
	CUS = 0x380,
	FILES = 0x390,
	CALL_AT = 0x20, /* of a return address in its function */
};

static const struct {
	const char *name;
	uint8_t depth, flags;
} functions[GOLANG_FUNCTIONS] = {
	[GOLANG_MAIN] = { "main.main", 8, 0 },
	[GOLANG_WORKER] = { "main.worker", 24, 0 },
	[GOLANG_SPAWN] = { "main.spawn", 40, 0 },
	[GOLANG_SWEEP] = { "runtime.bgsweep", 16, 0 },
	[GOLANG_GOEXIT] = { "runtime.goexit", 0, 1 },
	[GOLANG_PARK] = { "runtime.gopark", 32, 0 },
	[GOLANG_RUNTIME] = { "runtime.main", 16, 0 },
	[GOLANG_SWITCH] = { "runtime.systemstack", 16, 2 },
};

static void put32(struct golang_memory *g, size_t at, uint32_t v)
{
	memcpy(g->table_bytes + at, &v, sizeof(v));
}

static void put_function(struct golang_memory *g, uint32_t i)
{
	size_t record = RECORDS + i * RECORD_BYTES, pcs = PCS + i * PCS_BYTES;
	/* the first value is -1; a delta is encoded as twice its size */
	uint8_t depth[] = { (uint8_t)(2 * (functions[i].depth + 1)), GOLANG_FUNCTION_BYTES, 0 };
	uint8_t line[] = { (uint8_t)(2 * (10 + i + 1)), GOLANG_FUNCTION_BYTES, 0 };

	put32(g, FUNCS + i * 8, i * GOLANG_FUNCTION_BYTES);
	put32(g, FUNCS + i * 8 + 4, (uint32_t)(record - RECORDS));
	put32(g, record + 4, NAMES + i * NAME_BYTES);
	put32(g, record + 4 + 12, (uint32_t)(pcs - PCS));
	put32(g, record + 4 + 16, LINES - PCS);
	put32(g, record + 4 + 20, (uint32_t)(LINES + 8 + i * PCS_BYTES - PCS));
	put32(g, record + 4 + 36, (uint32_t)functions[i].flags << 8);
	strcpy((char *)g->table_bytes + NAMES + i * NAME_BYTES, functions[i].name);
	memcpy(g->table_bytes + pcs, depth, sizeof(depth));
	memcpy(g->table_bytes + LINES + 8 + i * PCS_BYTES, line, sizeof(line));
}

static struct gotab_range part(struct golang_memory *g, size_t at)
{
	return (struct gotab_range){ g->table_bytes + at, sizeof(g->table_bytes) - at };
}

static void make_table(struct golang_memory *g)
{
	static const uint8_t first_file[] = { 2, GOLANG_FUNCTION_BYTES, 0 };

	g->format = (struct gotab_format){ 0xfffffff1, 4, 28, 32, 36, false, 2, 3, 16, true };
	for (uint32_t i = 0; i < GOLANG_FUNCTIONS; i++)
		put_function(g, i);
	put32(g, FUNCS + GOLANG_FUNCTIONS * 8, GOLANG_FUNCTIONS * GOLANG_FUNCTION_BYTES);
	memcpy(g->table_bytes + LINES, first_file, sizeof(first_file));
	strcpy((char *)g->table_bytes + FILES, "/go/src/runtime/proc.go");
	g->table = (struct gopclntab){
		.fmt = &g->format,
		.quantum = 1,
		.n = GOLANG_FUNCTIONS,
		.text = GOLANG_TEXT,
		.all = part(g, 0),
		.names = part(g, 0),
		.cus = part(g, CUS),
		.files = part(g, FILES),
		.pcs = part(g, PCS),
		.funcs = part(g, FUNCS),
		.records = part(g, RECORDS),
	};
	/* an offset of 0 means that there is no table */
	g->table.pcs = part(g, PCS - 8);
	for (uint32_t i = 0; i < GOLANG_FUNCTIONS; i++)
		for (size_t field = 12; field <= 20; field += 4) {
			uint32_t v;
			size_t at = RECORDS + i * RECORD_BYTES + 4 + field;

			memcpy(&v, g->table_bytes + at, sizeof(v));
			put32(g, at, v + 8);
		}
}

static int read_bytes(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct golang_memory *g = ctx;

	if (g->before_read)
		g->before_read(g);
	if (g->n_reads_max && g->n_reads >= g->n_reads_max)
		return -EFAULT;
	g->n_reads++;
	if (addr < GOLANG_MEMORY_AT || addr - GOLANG_MEMORY_AT > GOLANG_MEMORY_BYTES ||
	    GOLANG_MEMORY_BYTES - (addr - GOLANG_MEMORY_AT) < len)
		return -EFAULT;
	memcpy(dst, g->bytes + (addr - GOLANG_MEMORY_AT), len);
	return 0;
}

void golang_memory_init(struct golang_memory *g)
{
	memset(g, 0, sizeof(*g));
	make_table(g);
	g->layout = (struct golang_layout){
		.version = "1.26.1",
		.at = { .status = 144,
			.goid = 152,
			.waitsince = 168,
			.waitreason = 176,
			.syscallsp = 104,
			.syscallpc = 112,
			.gopc = 288,
			.startpc = 304,
			.waiting = 320,
			.sudog_elem = 32,
			.sudog_waitlink = 72,
			.sudog_c = 96,
			.hchan_timer = 32 },
		.allglen = GOLANG_LEN_AT,
		.allgptr = GOLANG_PTR_AT,
	};
	g->reasons.n = 4;
	strcpy(g->reasons.text[1], "IO wait");
	strcpy(g->reasons.text[2], "chan receive");
	strcpy(g->reasons.text[3], "sync.Mutex.Lock");
	g->program = (struct golang_program){ &g->table, &g->layout, &g->reasons, 0 };
	g->memory.read = read_bytes;
	g->memory.ctx = g;
	golang_memory_put(g, GOLANG_PTR_AT, GOLANG_LIST_AT);
}

uint64_t golang_memory_start(enum golang_function f)
{
	return GOLANG_TEXT + (uint64_t)f * GOLANG_FUNCTION_BYTES;
}

uint64_t golang_memory_pc(enum golang_function f)
{
	return golang_memory_start(f) + CALL_AT;
}

void golang_memory_put(struct golang_memory *g, uint64_t addr, uint64_t word)
{
	memcpy(g->bytes + (addr - GOLANG_MEMORY_AT), &word, sizeof(word));
}

uint64_t golang_memory_g(uint32_t i)
{
	return GOLANG_GS_AT + (uint64_t)i * GOLANG_G_BYTES;
}

uint32_t golang_memory_add(struct golang_memory *g, uint32_t status, uint8_t reason,
			   const enum golang_function *calls, size_t n_calls)
{
	uint32_t i = g->n++;
	uint64_t at = golang_memory_g(i), lo = GOLANG_STACKS_AT + i * GOLANG_STACK_BYTES;
	uint64_t sp = lo + 0x40, next = sp;
	enum golang_function f = GOLANG_PARK;

	for (size_t k = 0; k <= n_calls; k++) {
		next += functions[f].depth;
		f = k < n_calls ? calls[k] : GOLANG_GOEXIT;
		golang_memory_put(g, next, golang_memory_pc(f));
		next += 8;
	}
	golang_memory_put(g, at, lo);
	golang_memory_put(g, at + 8, lo + GOLANG_STACK_BYTES);
	golang_memory_put(g, at + 56, sp);
	golang_memory_put(g, at + 64, golang_memory_pc(GOLANG_PARK));
	golang_memory_put(g, at + g->layout.at.status, status);
	golang_memory_put(g, at + g->layout.at.goid, i + 1);
	golang_memory_put(g, at + g->layout.at.waitreason, reason);
	golang_memory_put(g, at + g->layout.at.gopc, golang_memory_pc(GOLANG_SPAWN));
	golang_memory_put(g, at + g->layout.at.startpc,
			  golang_memory_start(n_calls ? calls[n_calls - 1] : GOLANG_WORKER));
	golang_memory_put(g, GOLANG_LIST_AT + i * 8, at);
	golang_memory_put(g, GOLANG_LEN_AT, g->n);
	return i;
}
