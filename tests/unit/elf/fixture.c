/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/elf/fixture.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "tests/test.h"

void fixture_init(struct fixture *f)
{
	const Elf64_Ehdr eh = { 0 };

	*f = (struct fixture){ .n_sections = 1 };
	buf_put(&f->bytes, &eh, sizeof(eh));
	buf_put_byte(&f->names, '\0');
}

void fixture_fini(struct fixture *f)
{
	elf_image_free(f->img);
	buf_fini(&f->bytes);
	buf_fini(&f->names);
}

uint32_t fixture_add(struct fixture *f, const char *name, uint32_t type, const void *data,
		     size_t len)
{
	assert_true(f->n_sections < FIXTURE_SECTIONS_MAX);
	f->sh[f->n_sections] = (Elf64_Shdr){
		.sh_name = (uint32_t)f->names.len,
		.sh_type = type,
		.sh_offset = f->bytes.len,
		.sh_size = len,
	};
	buf_put(&f->bytes, data, len);
	buf_put(&f->names, name, strlen(name) + 1);
	return f->n_sections++;
}

void fixture_load(struct fixture *f, uint32_t section, uint64_t vaddr, uint32_t flags)
{
	Elf64_Shdr *sh = &f->sh[section];

	assert_true(f->n_segments < FIXTURE_SEGMENTS_MAX);
	sh->sh_addr = vaddr;
	sh->sh_flags = SHF_ALLOC | (flags & PF_X ? SHF_EXECINSTR : 0);
	f->ph[f->n_segments++] = (Elf64_Phdr){ .p_type = PT_LOAD,
					       .p_flags = flags,
					       .p_vaddr = vaddr,
					       .p_offset = sh->sh_offset,
					       .p_filesz = sh->sh_size,
					       .p_memsz = sh->sh_size };
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* The hash table has one bucket, in which all symbols are, and a filter that lets all pass. */
void fixture_add_dynamic(struct fixture *f, const char *const *names, Elf64_Sym *syms, size_t n)
{
	const uint32_t head[] = { 1, 1, 1, 0, UINT32_MAX, UINT32_MAX, n ? 1 : 0 };
	struct buf strs = { 0 }, table = { 0 }, hash = { 0 };
	const Elf64_Sym none = { 0 };
	uint32_t i;

	buf_put_byte(&strs, '\0');
	buf_put(&table, &none, sizeof(none));
	buf_put(&hash, head, sizeof(head));
	for (size_t k = 0; k < n; k++) {
		uint32_t h = (gnu_hash(names[k]) & ~1u) | (k + 1 == n);

		syms[k].st_name = (uint32_t)strs.len;
		buf_put(&strs, names[k], strlen(names[k]) + 1);
		buf_put(&table, &syms[k], sizeof(syms[k]));
		buf_put(&hash, &h, sizeof(h));
	}
	i = fixture_add(f, ".dynsym", SHT_DYNSYM, table.data, table.len);
	f->sh[i].sh_entsize = sizeof(Elf64_Sym);
	f->sh[i].sh_link = fixture_add(f, ".dynstr", SHT_STRTAB, strs.data, strs.len);
	fixture_add(f, ".gnu.hash", SHT_GNU_HASH, hash.data, hash.len);
	buf_fini(&strs);
	buf_fini(&table);
	buf_fini(&hash);
}

const struct elf_image *fixture_open(struct fixture *f)
{
	uint32_t names = fixture_add(f, ".shstrtab", SHT_STRTAB, "", 0);
	Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = ARCH_ELF_MACHINE,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = f->n_segments,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)f->n_sections,
		.e_shstrndx = (uint16_t)names,
	};

	f->sh[names].sh_size = f->names.len;
	buf_put(&f->bytes, f->names.data, f->names.len);
	eh.e_phoff = f->n_segments ? f->bytes.len : 0;
	buf_put(&f->bytes, f->ph, f->n_segments * sizeof(*f->ph));
	eh.e_shoff = f->bytes.len;
	buf_put(&f->bytes, f->sh, f->n_sections * sizeof(*f->sh));
	assert_int_equal(buf_error(&f->bytes), 0);
	memcpy(f->bytes.data, &eh, sizeof(eh));
	assert_int_equal(elf_image_from_memory(&f->img, f->bytes.data, f->bytes.len, NULL), 0);
	return f->img;
}

int fixture_memfd(struct fixture *f)
{
	int fd = memfd_create("fixture", MFD_CLOEXEC);

	assert_true(fd >= 0);
	fixture_open(f);
	assert_int_equal(write(fd, f->bytes.data, f->bytes.len), f->bytes.len);
	return fd;
}

void fixture_add_build_id(struct fixture *f, const void *id, size_t len)
{
	const Elf64_Nhdr nh = { 4, (uint32_t)len, NT_GNU_BUILD_ID };
	struct buf note = { 0 };

	buf_put(&note, &nh, sizeof(nh));
	buf_put(&note, "GNU", 4);
	buf_put(&note, id, len);
	while (note.len % 4)
		buf_put_byte(&note, 0);
	fixture_add(f, ".note.gnu.build-id", SHT_NOTE, note.data, note.len);
	buf_fini(&note);
}
