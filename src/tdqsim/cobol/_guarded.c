/* Areas that the region allocates for programs, with guard pages before and behind. Included in _shim.c.
 *
 * An area ends where a page ends; the pages behind it cannot be accessed, so the first byte that a program writes beyond
 * the area faults at its statement, and the level ends. A read beyond opens these pages for reading, as binary zeros,
 * and is noted for a warning. Python must not touch them: a fault there would end the process. So a command gets a copy
 * of an argument that reaches beyond an area, and what it has written into the copy is looked at afterwards. What it
 * reads there Python tells, which knows how many bytes of an item it takes: LENGTH may say that they are fewer.
 *
 * An area that FREEMAIN has freed is an area of which no byte is left: a write faults, a first read opens it as zeros.
 *
 * Areas are kept for reuse and never unmapped, because Python may hold a view of one that is no longer in use. */

#define GUARD ((size_t)1 << 20)
#define SHELTERS 8

struct area {
    unsigned char *first, *data, *end; /* of the pages; of the area, which ends there as well */
    const char *name;
    int open; /* whether the pages behind it can be read */
    enum {USED, FREED, READABLE, WRITABLE} freed; /* by the program, and what is possible since with its pages */
    struct area *next, *before;
};

/* An argument of the current command that reaches beyond an area. */
struct shelter {
    cob_field *field;
    unsigned char *data, *copy, *before; /* the copy lies in an area too: LINK passes it to a program */
    size_t size, valid; /* bytes of the copy, and how many of them are the area's */
    struct area *area, *room;
};

static struct area *areas, *spare_areas;
static unsigned char *lowest_area, *highest_area; /* all areas that ever were are between these addresses */
static size_t page_size;
static struct area *read_beyond; /* the area beyond which a program has read; a warning is due */
static long read_at;
static cob_module *read_by;
static unsigned read_stmt;
static size_t fault_address;

static size_t room_of(const struct area *area) { return (size_t)(area->end - area->first); }

static void unlink_area(struct area *area) {
    if (area->before != NULL)
        area->before->next = area->next;
    else
        areas = area->next;
    if (area->next != NULL)
        area->next->before = area->before;
}

static void put_first(struct area *area) {
    area->before = NULL;
    area->next = areas;
    if (areas != NULL)
        areas->before = area;
    areas = area;
}

/* The area that has this address, in itself or in its guard pages; it is found at once the next time. */
static struct area *area_at(const unsigned char *address) {
    struct area *area;
    if (address < lowest_area || address >= highest_area)
        return NULL;
    for (area = areas; area != NULL; area = area->next)
        if (address >= area->first - page_size && address < area->end + GUARD) {
            if (area != areas) {
                unlink_area(area);
                put_first(area);
            }
            return area;
        }
    return NULL;
}

void *dfh_area(size_t size, const char *name) {
    size_t room;
    struct area *area, **at;
    page_size = page_size ? page_size : (size_t)sysconf(_SC_PAGESIZE);
    room = (size + page_size - 1) / page_size * page_size;
    room = room ? room : page_size;
    for (at = &spare_areas; *at != NULL && room_of(*at) != room; at = &(*at)->next)
        ;
    area = *at;
    if (area != NULL) {
        *at = area->next;
    } else {
        unsigned char *pages = mmap(NULL, page_size + room + GUARD, PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + page_size, room, PROT_READ | PROT_WRITE))
            return NULL;
        area = calloc(1, sizeof *area);
        area->first = pages + page_size;
        area->end = area->first + room;
        if (lowest_area == NULL || pages < lowest_area)
            lowest_area = pages;
        if (area->end + GUARD > highest_area)
            highest_area = area->end + GUARD;
    }
    area->data = area->end - size;
    area->name = name;
    put_first(area);
    return area;
}

void *dfh_area_data(const struct area *area) { return area->data; }

/* The program has freed the area; the name says where. */
void dfh_area_free(struct area *area, const char *name) {
    area->name = name;
    area->freed = FREED;
    madvise(area->first, room_of(area), MADV_DONTNEED); /* which makes them zeros and takes no memory */
    mprotect(area->first, room_of(area), PROT_NONE);
}

void dfh_area_end(struct area *area) {
    if (area->freed)
        mprotect(area->first, room_of(area), PROT_READ | PROT_WRITE);
    area->freed = USED;
    if (area->open)
        mprotect(area->end, GUARD, PROT_NONE);
    area->open = 0;
    if (read_beyond == area)
        read_beyond = NULL;
    unlink_area(area);
    area->next = spare_areas;
    spare_areas = area;
}

static int is_write(const void *context) {
#if defined(__x86_64__)
    return ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
    return (void)context, 0;
#endif
}

static void note_read(struct area *area, long at) {
    cob_module *module = global->cob_current_module;
    read_beyond = area;
    read_at = at;
    read_by = module;
    read_stmt = module == NULL ? 0 : module->module_stmt;
}

static void say_overrun(const struct area *area, const unsigned char *address) {
    snprintf(message, sizeof message,
             "protection exception (S0C4): byte %ld of the %s, which has %ld bytes; address %p",
             (long)(address - area->data) + 1, area->name, (long)(area->end - area->data), (const void *)address);
}

/* The handler's part. Returns 1 if the program can go on; otherwise the message says what happened, if an area knows. */
static int beyond_area(unsigned char *address, const void *context) {
    struct area *area = area_at(address);
    long at;
    fault_address = (size_t)address;
    if (area == NULL || (address >= area->data && address < area->end && !area->freed))
        return 0;
    at = (long)(address - area->data) + 1;
    if (area->freed == FREED && address >= area->first && address < area->end && context != NULL && !is_write(context) &&
        mprotect(area->first, room_of(area), PROT_READ) == 0) {
        area->freed = READABLE;
        note_read(area, at);
        return 1;
    }
    if (address >= area->end && !area->open && context != NULL && !is_write(context) && mprotect(area->end, GUARD, PROT_READ) == 0) {
        area->open = 1;
        note_read(area, at);
        return 1;
    }
    if (read_beyond == area && read_at == at)
        read_beyond = NULL; /* it was no read */
    say_overrun(area, address);
    return 0;
}

/* Python, such as a test that looks where a pointer leads, reads beyond an area: it goes on, with binary zeros. It may
 * hold a view of an area that the program has freed meanwhile. */
static int open_for_python(unsigned char *address, const void *context) {
    struct area *area = area_at(address);
    if (area != NULL && area->freed && area->freed < WRITABLE && address >= area->first && address < area->end)
        return mprotect(area->first, room_of(area), ++area->freed == READABLE ? PROT_READ : PROT_READ | PROT_WRITE) == 0;
    if (area == NULL || address < area->end || area->open || is_write(context) || mprotect(area->end, GUARD, PROT_READ))
        return 0;
    area->open = 1;
    return 1;
}

/* Issue the warning that is due; the program that has read is still there. */
static void warn_of_read(void) {
    char said[sizeof message];
    unsigned now;
    struct pause pause;
    cob_module *module = read_by;
    int left;
    snprintf(said, sizeof said, "byte %ld of the %s was read, which has %ld bytes: on the mainframe it is other storage",
             read_at, read_beyond->name, (long)(read_beyond->end - read_beyond->data));
    read_beyond = NULL;
    if (module == NULL)
        return;
    now = module->module_stmt;
    module->module_stmt = read_stmt;
    pause = to_python();
    left = PyErr_CheckSignals() || warned(module, said);
    module->module_stmt = now;
    into_cobol(pause, left);
}

/* Give the command copies of those arguments that reach beyond an area. ABSTIME takes eight bytes of any area. */
static int shelter_arguments(cob_module *module, struct shelter *shelters) {
    int at, count = 0;
    for (at = 1; areas != NULL && at < global->cob_call_params; at++) {
        cob_field *field = module->cob_procedure_params[at];
        size_t size = field == NULL ? 0 : field->size < 8 ? 8 : field->size;
        struct area *area;
        struct shelter *made;
        if (size == 0 || (area = area_at(field->data)) == NULL || (field->data + size <= area->end && !area->freed))
            continue;
        if (count == SHELTERS || field->data < area->data) {
            beyond_area(field->data < area->data ? field->data : area->end, NULL);
            leave(CRASHED);
        }
        made = &shelters[count++];
        made->field = field;
        made->data = field->data;
        made->area = area;
        made->size = size;
        made->valid = field->data < area->end && !area->freed ? (size_t)(area->end - field->data) : 0;
        made->room = dfh_area(size, area->name);
        made->before = calloc(1, size);
        if (made->room == NULL || made->before == NULL)
            leave(CRASHED);
        made->copy = made->room->data;
        memcpy(made->before, field->data, made->valid);
        memcpy(made->copy, made->before, size);
        field->data = made->copy;
    }
    return count;
}

/* Put back what the command has written. Returns whether it has written beyond an area. */
static int end_shelters(struct shelter *shelters, int count) {
    int at, wrong = 0;
    for (at = 0; at < count; at++) {
        struct shelter *each = &shelters[at];
        each->field->data = each->data;
        if (!each->area->freed) /* FREEMAIN of an item that is longer than its area */
            memcpy(each->data, each->copy, each->valid);
        if (memcmp(each->copy + each->valid, each->before + each->valid, each->size - each->valid)) {
            read_beyond = NULL;
            fault_address = (size_t)(each->data + each->valid);
            say_overrun(each->area, each->data + each->valid);
            wrong = 1;
        }
        free(each->before);
        dfh_area_end(each->room);
    }
    return wrong;
}

static const struct shelter *sheltered_now;
static int sheltered_count;

static const struct shelter *shelter_at(const void *address) {
    int at;
    for (at = 0; at < sheltered_count; at++)
        if (sheltered_now[at].copy == address)
            return &sheltered_now[at];
    return NULL;
}

/* The address in the program of an argument of the current command, given that of its copy. */
const void *dfh_original(const void *address) {
    const struct shelter *found = shelter_at(address);
    return found == NULL ? address : found->data;
}

/* How many arguments of the current command reach beyond an area; for the address of a copy, how many of its bytes are
 * the area's (-1 for another address), whether the program has freed the area, and the name of the area. */
int dfh_sheltered(void) { return sheltered_count; }

long dfh_valid(const void *address) {
    const struct shelter *found = shelter_at(address);
    return found == NULL ? -1 : (long)found->valid;
}

int dfh_freed(const void *address) {
    const struct shelter *found = shelter_at(address);
    return found != NULL && found->area->freed;
}

const char *dfh_area_of(const void *address) {
    const struct shelter *found = shelter_at(address);
    return found == NULL ? "" : found->area->name;
}

size_t dfh_fault_address(void) { return fault_address; }
