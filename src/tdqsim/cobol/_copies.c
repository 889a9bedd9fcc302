/* Copies of a loaded program, each with storage of its own.
 *
 * dlopen takes longer for each object that is loaded already. So a module is loaded once, and never runs; its copies
 * are made from it: the same pages of code, mapped again from the file, and a copy of its data, in which the addresses
 * that the relocations of the module name are moved by the distance between the two. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>

/* Move one address of a copy, if it leads into the module. */
static void move_address(size_t at, size_t from, size_t length, size_t distance) {
    size_t *address = (size_t *)(at + distance);
    if (*address - from < length)
        *address += distance;
}

/* DT_RELA, DT_JMPREL: one entry for each address. */
static void move_addresses(const ElfW(Rela) *each, size_t bytes, size_t from, size_t length, size_t distance) {
    for (; bytes >= sizeof *each; bytes -= sizeof *each, each++)
        move_address(from + each->r_offset, from, length, distance);
}

/* DT_RELR: an even number is the place of an address; the bits of an odd one, which of the next 63 words are some. */
static void move_packed(const size_t *each, size_t bytes, size_t from, size_t length, size_t distance) {
    size_t next = from, at, bits;
    for (; bytes >= sizeof *each; bytes -= sizeof *each, each++)
        if (*each & 1) {
            for (at = next, bits = *each >> 1; bits; at += sizeof at, bits >>= 1)
                if (bits & 1)
                    move_address(at, from, length, distance);
            next += (8 * sizeof next - 1) * sizeof next;
        } else {
            move_address(from + *each, from, length, distance);
            next = from + *each + sizeof next;
        }
}

#define PACKED 36 /* DT_RELR, and its size 35: older headers have no names for them */
#define PACKED_SIZE 35

static void move_all(const ElfW(Dyn) *dynamic, size_t from, size_t length, size_t distance) {
    size_t values[64] = {0};
    static const int tables[] = {DT_RELA, DT_JMPREL, PACKED};
    int at;
    for (; dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag > 0 && dynamic->d_tag < 64)
            values[dynamic->d_tag] = dynamic->d_un.d_val;
    for (at = 0; at < 3; at++) /* glibc has made these addresses absolute on most machines */
        if (values[tables[at]] < from)
            values[tables[at]] += from;
    move_addresses((const ElfW(Rela) *)values[DT_RELA], values[DT_RELASZ], from, length, distance);
    move_addresses((const ElfW(Rela) *)values[DT_JMPREL], values[DT_PLTRELSZ], from, length, distance);
    move_packed((const size_t *)values[PACKED], values[PACKED_SIZE], from, length, distance);
}

/* Map the parts of a module at another place; those that are written are copied. Returns whether all are there. */
static int map_parts(const ElfW(Phdr) *part, int count, int file, size_t from, size_t to) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (; count-- > 0; part++) {
        size_t start = part->p_vaddr & ~(page - 1), before = part->p_vaddr - start;
        int access = (part->p_flags & PF_R ? PROT_READ : 0) | (part->p_flags & PF_X ? PROT_EXEC : 0);
        if (part->p_type != PT_LOAD)
            continue;
        if (part->p_flags & PF_W) {
            if (mprotect((void *)(to + start), before + part->p_memsz, access | PROT_WRITE) != 0)
                return 0;
            memcpy((void *)(to + part->p_vaddr), (const void *)(from + part->p_vaddr), part->p_filesz);
        } else if (mmap((void *)(to + start), before + part->p_filesz, access, MAP_PRIVATE | MAP_FIXED, file,
                        (off_t)(part->p_offset - before)) == MAP_FAILED) {
            return 0;
        }
    }
    return 1;
}

/* Make a copy of the module that has a function; returns the address of the function in it, NULL if there is no room. */
void *dfh_copy(void *function) {
    Dl_info info;
    size_t from, length = 0, to = 0;
    const ElfW(Ehdr) *head;
    const ElfW(Phdr) *parts;
    const ElfW(Dyn) *dynamic = NULL;
    int at, file, whole = 0;
    if (!dladdr(function, &info))
        return NULL;
    from = (size_t)info.dli_fbase;
    head = (const ElfW(Ehdr) *)from;
    parts = (const ElfW(Phdr) *)(from + head->e_phoff);
    for (at = 0; at < head->e_phnum; at++)
        if (parts[at].p_type == PT_LOAD)
            length = parts[at].p_vaddr + parts[at].p_memsz;
        else if (parts[at].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(from + parts[at].p_vaddr);
    file = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
    if (file < 0 || dynamic == NULL)
        return NULL;
    to = (size_t)mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (to != (size_t)MAP_FAILED) {
        whole = map_parts(parts, head->e_phnum, file, from, to);
        if (whole)
            move_all(dynamic, from, length, to - from);
        else
            munmap((void *)to, length);
    }
    close(file);
    return whole ? (void *)((size_t)function + to - from) : NULL;
}
