/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and addresses in unwind sections. Pointers through memory (DW_EH_PE_indirect) are
 * refused, since no linker uses them for code, and the memory is not in the file.
 */
#include "elf/eh_cursor.h"

uint64_t eh_take_leb(struct eh_cursor *c, bool is_signed)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t b;

	do {
		if (c->p == c->end) {
			c->bad = true;
			return 0;
		}
		b = *c->p++;
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if (is_signed && shift < 64 && (b & 0x40))
		v |= -(1ULL << shift);
	return v;
}

bool eh_take_formatted(struct eh_cursor *c, uint8_t enc, uint64_t *out)
{
	switch (enc & EH_PE_FORMAT) {
	case EH_PE_ABSPTR:
	case EH_PE_UDATA8:
	case EH_PE_SDATA8:
		*out = eh_take_uint(c, 8);
		return true;
	case EH_PE_ULEB128:
		*out = eh_take_uleb(c);
		return true;
	case EH_PE_SLEB128:
		*out = (uint64_t)eh_take_sleb(c);
		return true;
	case EH_PE_UDATA2:
		*out = eh_take_uint(c, 2);
		return true;
	case EH_PE_SDATA2:
		*out = (uint64_t)(int16_t)eh_take_uint(c, 2);
		return true;
	case EH_PE_UDATA4:
		*out = eh_take_uint(c, 4);
		return true;
	case EH_PE_SDATA4:
		*out = (uint64_t)(int32_t)eh_take_uint(c, 4);
		return true;
	}
	return false;
}

bool eh_take_address(struct eh_cursor *c, uint8_t enc, uint64_t *out)
{
	uint64_t base;

	switch (enc & EH_PE_APPLICATION) {
	case 0:
		base = 0;
		break;
	case EH_PE_PCREL:
		base = c->src->span.vaddr + eh_cursor_off(c);
		break;
	case EH_PE_TEXTREL:
		base = c->src->text_base;
		break;
	case EH_PE_DATAREL:
		base = c->src->data_base;
		break;
	default:
		return false;
	}
	if (enc == EH_PE_OMIT || (enc & EH_PE_INDIRECT) || !eh_take_formatted(c, enc, out))
		return false;
	*out += base;
	return true;
}
