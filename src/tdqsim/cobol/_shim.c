/* The layer between libcob and Python: runs a program so that it can be left from inside a command, and passes its
 * commands to Python.
 *
 * A "level" is one run of a program (a task's first program, or one that was LINKed to). The callback for commands is a
 * Python function; if its result asks for that, longjmp leaves the level. This is safe because only COBOL's frames, and
 * none of Python's, are between the two. libcob's chain of active programs is restored here. The level is also left for
 * an error of the run-time, its request to end the process, a bad address, a loop in which it is not suspended, and a signal that
 * Python must handle.
 *
 * The state of a task that waits inside a command is on its stack: dfh_exec saves it there and restores it. While Python
 * runs, ``current`` is NULL.
 *
 * Some functions of libcob are defined here under the same name; the linker uses these because this library is loaded
 * first. So the region, not libcob, finds the program for a CALL; each program that was entered in a level is cancelled
 * at the end of the level (so that every level gets fresh storage); and statements can be counted and watched.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <libcob.h>

int PyErr_CheckSignals(void); /* defined by Python, which runs in the same process */

enum { DONE = 0, LEAVE = 1, FAILED = 2, STOPPED = 3, CRASHED = 4, INTERRUPTED = 5, RUNAWAY = 6 };

/* A program that has issued a command in this level and is still active. Each has HANDLEs of its own. */
struct frame {
    cob_module *module;
    unsigned serial;
};

struct level {
    cob_module *module;
    cob_module **begun;
    struct frame frames[16];
    unsigned char *eib;
    unsigned frame; /* of the last command */
    int begun_count, begun_room, depth, checks, task;
    jmp_buf env;
};

static struct level *current;
static cob_global *global;
int dfh_exec(void);
static int (*command)(int);
static void *(*resolver)(const char *);
static int (*again)(int, int);
static int (*statement)(cob_module *, const char *, unsigned);
static ssize_t (*convert)(int, const void *, size_t, int, void *, size_t);
static int (*overran)(void); /* whether the task that has used up its processor time was not suspended meanwhile */
static char message[1024];
static FILE *console, *spoken;
static char *text;
static size_t size;
static volatile sig_atomic_t running;
static volatile sig_atomic_t outside; /* a signal came while no program ran, so Python may not have handled it yet */
static volatile unsigned commands, interrupted_at;
static unsigned serials, below;
static cob_module *failing;
static unsigned failing_at;
static char failing_source[4096]; /* a copy, because the module is gone by the time it is read */
static int watching;
static const char *last_statement = "";

/* -- libcob's messages --------------------------------------------------------------------------------------------- */

/* libcob writes its messages to stderr, and passes only the first one to a handler. So stderr is replaced by a buffer
 * while COBOL runs. */
static void leave(int why);

/* Enter the program. A signal that came before is handled by Python first; one that comes later ends the program. */
static void into_program(void) {
    struct level *mine = current;
    if (spoken != NULL)
        stderr = spoken;
    running = 1;
    while (outside) {
        int raised;
        outside = running = 0;
        current = NULL;
        raised = PyErr_CheckSignals();
        current = mine;
        if (raised)
            leave(LEAVE);
        running = 1;
    }
}

static void out_of_program(void) {
    running = 0;
    current = NULL;
    stderr = console;
}

/* Take libcob's message from the buffer, unless there is a message already. */
static void take_message(void) {
    long length;
    if (spoken == NULL)
        return;
    fflush(spoken);
    length = ftell(spoken);
    if (length > 0 && message[0] == '\0')
        snprintf(message, sizeof message, "%.*s", (int)(length < 1000 ? length : 1000), text);
    rewind(spoken);
}

static long runaway_ms, used_then, used_since;
static int no_command; /* whether the program that has run away has issued no command meanwhile */

static void leave(int why) {
    cob_module *module = global->cob_current_module;
    if (why == RUNAWAY)
        snprintf(message, sizeof message,
                 no_command ? "no command for %ld ms of processor time"
                            : "its commands have not suspended the task for %ld ms of processor time",
                 runaway_ms);
    running = 0;
    failing = module;
    failing_at = module == NULL ? 0 : module->module_stmt;
    snprintf(failing_source, sizeof failing_source, "%s",
             failing_at == 0 || module->module_sources == NULL ? "" : module->module_sources[COB_GET_FILE_NUM(failing_at)]);
    while (module != NULL) {
        module->module_active = 0;
        module = module->next;
    }
    global->cob_current_module = NULL;
    longjmp(current->env, why);
}

static int failed(char *what) {
    snprintf(message, sizeof message, "%s", what == NULL ? "" : what);
    if (current != NULL)
        leave(FAILED);
    return 0;
}

static int stopped(void) {
    if (current != NULL)
        leave(STOPPED);
    return 0;
}

/* The state of libcob that a call of Python from a program may change. After the call it is restored, or the level is
 * left. */
struct pause {
    struct level *level;
    cob_module *module;
    int params;
};

static struct pause to_python(void) {
    struct pause pause = {current, global->cob_current_module, global->cob_call_params};
    out_of_program();
    return pause;
}

static void into_cobol(struct pause pause, int left) {
    current = pause.level;
    global->cob_current_module = pause.module;
    global->cob_call_params = pause.params;
    if (left)
        leave(LEAVE);
    into_program();
}

static int (*warned)(cob_module *, const char *);

#include "_copies.c"
#include "_guarded.c"

/* -- signals ------------------------------------------------------------------------------------------------------- */

static const int bad[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static const int heard[] = {SIGINT, SIGTERM, SIGALRM};
static struct sigaction before_bad[4], before_heard[3];
static timer_t patience, runaway_timer;
static int runs;
static volatile unsigned ticked_at, switches_then;
static volatile unsigned switches; /* how often another task has begun to run a program, or goes on with one */
static volatile int unheard; /* a tick came while Python handled a statement */
static volatile int overdrawn; /* the task has used its time; whether it was suspended meanwhile is not known yet */
static int task_now; /* the number of the task that runs */
static pid_t pid;
static volatile pid_t runner; /* the thread in which programs run */
static volatile int armed;
#define OVERDUE (SIGRTMIN + 6)

#define KEPT_FREE ((size_t)1 << 20)

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static pid_t this_thread(void) { return (pid_t)syscall(SYS_gettid); }

static void forked(void) { pid = getpid(); }

/* Whether programs run in the main thread: Python handles signals only there, so they end a program only there. */
static int in_main_thread(void) { return runner == pid; }

static size_t pc_of(const void *context) {
#if defined(__x86_64__)
    return (size_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (size_t)((const ucontext_t *)context)->uc_mcontext.pc;
#else
    return (void)context, 0;
#endif
}

static size_t sp_of(const void *context) {
#if defined(__x86_64__)
    return (size_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (size_t)((const ucontext_t *)context)->uc_mcontext.sp;
#else
    return (void)context, 0;
#endif
}

/* Whether a bad address is near the stack pointer, so that the stack has overflowed. */
static int beyond_stack(size_t address, const void *context) {
    size_t sp = sp_of(context);
    return address < sp + 65536 && address + 65536 > sp;
}

/* The process is about to die: name the program of the last command, whose module may be gone by now. */
static int last_words = STDERR_FILENO;
static char last_program[64], last_source[512];
static unsigned last_line;

void dfh_last_words(int descriptor) { last_words = descriptor; }

static void say_last_words(int number, const void *address) {
    char said[768];
    int length = snprintf(said, sizeof said, "%ssignal %d (%s) at address %p%s%s%s%s%.0u",
                          last_words == STDERR_FILENO ? "tdq: the process dies: " : "!", number, strsignal(number), address,
                          last_program[0] ? ", program " : "", last_program, last_source[0] ? ", last command at " : "",
                          last_source, 0u);
    if (length > 0 && last_source[0])
        length += snprintf(said + length, sizeof said - (size_t)length, ":%u", last_line);
    if (length > 0 && (size_t)length < sizeof said - 1) {
        said[length++] = '\n';
        if (write(last_words, said, (size_t)length) < 0)
            return;
    }
}

static void crashed(int number, siginfo_t *info, void *context) {
    size_t at;
    for (at = 0; at < 4; at++)
        if (bad[at] == number)
            break;
    if (running && current != NULL && runner == this_thread()) {
        message[0] = '\0';
        if ((number == SIGSEGV || number == SIGBUS) && beyond_area(info->si_addr, context))
            return;
        if (message[0] == '\0')
            snprintf(message, sizeof message, "signal %d (%s) at address %p%s", number, strsignal(number), info->si_addr,
                 beyond_stack((size_t)info->si_addr, context) ? ": CALLs go deeper than the stack has room" : "");
        leave(CRASHED);
    }
    if ((number == SIGSEGV || number == SIGBUS) && open_for_python(info->si_addr, context))
        return;
    sigaction(number, &before_bad[at], NULL); /* the fault happens again, and goes to the previous handler */
    if (runs > 0 && runner == this_thread())
        say_last_words(number, info->si_addr);
}

/* Whether the program counter is in a COBOL program: then no function of libcob or libc is interrupted, and the
 * level can be left. The loader does not know the copies in which programs run; it knows all other code. */
static int in_program(void *context) {
    Dl_info info;
    return !dladdr((void *)pc_of(context), &info);
}

static void set_timer(timer_t timer, long ms, long interval) {
    struct itimerspec when = {{interval / 1000, interval % 1000 * 1000000}, {ms / 1000, ms % 1000 * 1000000}};
    timer_settime(timer, 0, &when, NULL);
}

/* Processor time of this thread. It is read, instead of setting a timer on that clock, because such a timer would
 * make the processor-time clock of the whole process coarse. */
static long used_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Note whether the task has used up its processor time; only Python knows whether a command has suspended it meanwhile,
 * so its next command asks. Returns the processor time. */
static long noted_ms(void) {
    long now = used_ms();
    if (switches_then != switches) {
        switches_then = switches;
        used_since = now;
        overdrawn = 0;
    } else if (now - used_since >= runaway_ms)
        overdrawn = 1;
    return now;
}

/* Whether a program has used up its processor time since its last command. */
static int ran_away(void) {
    long now = noted_ms();
    no_command = 0;
    if (ticked_at != commands) {
        ticked_at = commands;
        used_then = now;
        return 0;
    }
    no_command = now - used_then >= runaway_ms;
    return no_command;
}

/* From now on the processor time is that of this task. */
static void charge(int task) {
    if (task != task_now) {
        task_now = task;
        switches++;
    }
}

/* The handler of the two timers: a program has run for a while since a signal that Python must handle, or since the
 * last tick. It leaves the level if no command came meanwhile. */
static void overdue(int number, siginfo_t *info, void *context) {
    int why = info->si_value.sival_int;
    (void)number;
    if (why == RUNAWAY && runs == 0) { /* no program runs: stop the timer until one does */
        set_timer(runaway_timer, 0, 0);
        armed = 0;
    }
    if (!running || current == NULL) {
        if (why == RUNAWAY) {
            unheard = 1;
            noted_ms();
        }
        return;
    }
    if (why == INTERRUPTED ? interrupted_at != commands : !ran_away())
        return;
    if (!in_program(context)) {
        set_timer(why == RUNAWAY ? runaway_timer : patience, 1, why == RUNAWAY ? runaway_ms : 0);
        return;
    }
    leave(why);
}

/* The handler of the signals that Python handles: calls Python's handler, and interrupts a program that does not
 * issue a command soon. */
static void passed_on(int number, siginfo_t *info, void *context) {
    size_t at;
    for (at = 0; at < 3; at++)
        if (heard[at] == number)
            break;
    if (before_heard[at].sa_flags & SA_SIGINFO)
        before_heard[at].sa_sigaction(number, info, context);
    else
        before_heard[at].sa_handler(number);
    if (!in_main_thread())
        return;
    if (running && current != NULL) {
        interrupted_at = commands;
        set_timer(patience, 100, 0);
    } else
        outside = 1;
}

/* Its ticks go to the thread in which programs run, because a program can be left only there. */
static void make_timer(timer_t *timer, clockid_t clock, int why) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_notify_thread_id = runner;
    event.sigev_signo = OVERDUE;
    event.sigev_value.sival_int = why;
    timer_create(clock, &event, timer);
}

static size_t lowest; /* the lowest stack address at which a program may start */

/* Find the end of this thread's stack. The handler for a program that overflows it nevertheless needs an alternate
 * stack; a thread that already has one keeps it. */
static void know_stack(void) {
    static __thread char room[65536];
    pthread_attr_t attributes;
    stack_t spare, now;
    size_t length = 0;
    void *end = NULL;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &end, &length);
        pthread_attr_destroy(&attributes);
    }
    lowest = length == 0 ? 0 : (size_t)end + (length < 4 * KEPT_FREE ? length / 4 : KEPT_FREE);
    if (sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_DISABLE))
        return;
    memset(&spare, 0, sizeof spare);
    spare.ss_sp = room;
    spare.ss_size = sizeof room;
    sigaltstack(&spare, NULL);
}

/* From now on programs run in this thread, which gets the ticks of the timers. A forked child inherits no timers. */
static void move_to(pid_t thread) {
    static pid_t timers_of;
    struct sigaction ours;
    if (timers_of == pid) {
        timer_delete(patience);
        timer_delete(runaway_timer);
    }
    timers_of = pid;
    runner = thread;
    know_stack();
    memset(&ours, 0, sizeof ours);
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    ours.sa_sigaction = overdue;
    sigaction(OVERDUE, &ours, NULL);
    make_timer(&patience, CLOCK_MONOTONIC, INTERRUPTED);
    make_timer(&runaway_timer, CLOCK_MONOTONIC, RUNAWAY);
    armed = 0;
}

/* Install the signal handlers. Python and its plugins may set handlers at any time, so ours are put in front of
 * them whenever a task's first program starts. Those for signals that Python handles are installed only in the main
 * thread. */
static void guard(void) {
    struct sigaction now, ours;
    pid_t thread = this_thread();
    size_t at;
    if (runner != thread)
        move_to(thread);
    memset(&ours, 0, sizeof ours);
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    ours.sa_sigaction = crashed;
    if (sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction != crashed)
        for (at = 0; at < 4; at++)
            if (sigaction(bad[at], NULL, &now) == 0 && now.sa_sigaction != crashed) {
                before_bad[at] = now;
                sigaction(bad[at], &ours, NULL);
            }
    if (!in_main_thread())
        return;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
    ours.sa_sigaction = passed_on;
    for (at = 0; at < 3; at++)
        if (sigaction(heard[at], NULL, &now) == 0 && now.sa_sigaction != passed_on && now.sa_handler != SIG_DFL &&
            now.sa_handler != SIG_IGN) {
            before_heard[at] = now;
            sigaction(heard[at], &ours, NULL);
        }
}

/* -- replacements for libcob's functions --------------------------------------------------------------------------- */

/* The function of libcob that one here replaces, as ``real``. */
#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (real == NULL) \
        real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* Every program calls this first. Too little stack is reported here, before the program does anything. The limit
 * leaves room for functions that the program calls, including Python. */
int cob_module_global_enter(cob_module **module, cob_global **mine, const int auto_init, const int entry,
                            const unsigned int *name) {
    REAL(int, cob_module_global_enter, cob_module **, cob_global **, const int, const int, const unsigned int *);
    char here;
    if (current != NULL && (size_t)&here < lowest)
        failed("CALLs go deeper than the stack has room");
    return real(module, mine, auto_init, entry, name);
}

void cob_set_cancel(cob_module *module) {
    struct level *level = current;
    if (level == NULL)
        return;
    if (level->begun_count == level->begun_room) {
        level->begun_room = level->begun_room ? level->begun_room * 2 : 8;
        level->begun = realloc(level->begun, level->begun_room * sizeof *level->begun);
    }
    level->begun[level->begun_count++] = module;
}

static int cancelling;

/* A copy that is cancelled keeps its record for its next run, because libcob searches the records of all copies for one
 * that it frees. The program of a RECURSIVE one has a record for each run, and frees it at the end. */
void cob_module_free(cob_module **module) {
    REAL(void, cob_module_free, cob_module **);
    if (cancelling) {
        if (*module != NULL)
            memset(*module, 0, sizeof **module);
        return;
    }
    real(module);
}

static void forget(struct level *level, int at) {
    cob_module *module = level->begun[at];
    int (*cancel)(const int) = (int (*)(const int))module->module_cancel.funcint;
    level->begun[at] = level->begun[--level->begun_count];
    module->module_active = 0;
    cancelling = 1;
    cancel(-1);
    cancelling = 0;
}

/* No check is needed: the modules were compiled for this run-time. */
void cob_check_version(const char *program, const char *version, const int patch) {
    (void)program;
    (void)version;
    (void)patch;
}

void cob_cancel(const char *name) {
    int at;
    for (at = 0; current != NULL && at < current->begun_count; at++)
        if (strcmp(current->begun[at]->module_name, name) == 0 && !current->begun[at]->module_active) {
            forget(current, at);
            return;
        }
}

static void name_of(const cob_field *field, char *name, size_t room) {
    size_t length = field->size < room ? field->size : room - 1;
    while (length > 0 && (field->data[length - 1] == ' ' || field->data[length - 1] == '\0'))
        length--;
    memcpy(name, field->data, length);
    name[length] = '\0';
}

void cob_cancel_field(const cob_field *field, const struct cob_call_struct *nested) {
    char name[64];
    (void)nested;
    name_of(field, name, sizeof name);
    cob_cancel(name);
}

static void *resolved(const char *name) {
    struct pause pause = to_python();
    void *entry = PyErr_CheckSignals() ? (void *)-1 : resolver(name);
    into_cobol(pause, entry == (void *)-1);
    return entry;
}

void *cob_resolve_cobol(const char *name, const int fold, const int errind) {
    REAL(void *, cob_resolve_cobol, const char *, const int, const int);
    void *entry = NULL;
    if (strcmp(name, "DFHEIP") == 0)
        return (void *)dfh_exec;
    if (current != NULL)
        entry = resolved(name);
    if (entry != NULL)
        return entry;
    return real(name, fold, errind);
}

void *cob_call_field(const cob_field *field, const struct cob_call_struct *nested, const unsigned int errind,
                     const int fold) {
    REAL(void *, cob_call_field, const cob_field *, const struct cob_call_struct *, const unsigned int, const int);
    const struct cob_call_struct *each;
    char name[64];
    void *entry = NULL;
    name_of(field, name, sizeof name);
    for (each = nested; each != NULL && each->cob_cstr_name != NULL; each++)
        if (strcasecmp(each->cob_cstr_name, name) == 0)
            break;
    if (current != NULL && (each == NULL || each->cob_cstr_name == NULL))
        entry = resolved(name);
    if (entry != NULL)
        return entry;
    return real(field, nested, errind, fold);
}

/* FUNCTION DISPLAY-OF and NATIONAL-OF, which this run-time lacks: the translator replaces them by CONCATENATE with
 * two additional literals that identify them. Python does the conversion, because it has the code pages. */
#define RESULTS 32

static cob_field *new_result(size_t room) {
    static cob_field results[RESULTS];
    static const cob_field_attr text_attr = {COB_TYPE_ALPHANUMERIC, 0, 0, 0, NULL};
    static int last;
    cob_field *result = &results[last = (last + 1) % RESULTS];
    free(result->data);
    result->data = malloc(room);
    result->attr = &text_attr;
    return result;
}

/* Reference modification of a function's result. */
static cob_field *part_of(cob_field *result, int offset, int length) {
    if (offset > 0 && (size_t)offset <= result->size) {
        size_t rest = result->size - (size_t)(offset - 1);
        result->size = length > 0 && (size_t)length < rest ? (size_t)length : rest;
        memmove(result->data, result->data + offset - 1, result->size);
    }
    return result;
}

static cob_field *national(int how, cob_field *from, int ccsid, int offset, int length) {
    size_t room = from->size * 4 + 4;
    cob_field *result = new_result(room);
    struct pause pause = to_python();
    ssize_t length_used = PyErr_CheckSignals() ? -1 : convert(how, from->data, from->size, ccsid, result->data, room);
    into_cobol(pause, length_used < 0);
    result->size = (size_t)length_used;
    return part_of(result, offset, length);
}

cob_field *cob_intr_concatenate(const int offset, const int length, const int params, ...) {
    REAL(cob_field *, cob_intr_concatenate, const int, const int, const int, ...);
    cob_field *a[16] = {NULL};
    va_list given;
    int at;
    va_start(given, params);
    for (at = 0; at < params && at < 16; at++)
        a[at] = va_arg(given, cob_field *);
    va_end(given);
    if (current != NULL && (params == 3 || params == 4) && a[params - 1]->size == 3 &&
        memcmp(a[params - 1]->data, "DFH", 3) == 0 && a[params - 2]->size == 8)
        return national(memcmp(a[params - 2]->data, "DFHEINAT", 8) == 0, a[0], params == 4 ? cob_get_int(a[1]) : 0,
                        offset, length);
    if (params > 16)
        failed("FUNCTION CONCATENATE has more than 16 arguments, the most that are supported");
    return real(offset, length, params, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
                a[12], a[13], a[14], a[15]);
}

void cob_module_leave(cob_module *module) {
    int at;
    if (current != NULL && read_beyond != NULL && read_by == module)
        warn_of_read();
    if (current != NULL)
        for (at = current->depth - 1; at >= 0; at--)
            if (current->frames[at].module == module)
                current->depth = at;
    global->cob_current_module = global->cob_current_module->next;
    (void)module;
}

/* -- statements: coverage and tracing ------------------------------------------------------------------------------ */

#define LINES (1u << 20)

struct line {
    unsigned number; /* 0 for a free entry */
    const char *verb; /* of the first statement that was reached on the line */
    long long count;  /* how often a statement with this verb was reached there */
};

/* The lines of a source that programs of one name have reached. */
struct reached {
    const char *program, *source;
    struct line *lines; /* open addressing */
    unsigned room, count;
};

static struct reached *reached;
static int reached_count;

static struct reached *reached_of(const char *program, const char *source) {
    int at;
    for (at = 0; at < reached_count; at++)
        if (strcmp(reached[at].program, program) == 0 && strcmp(reached[at].source, source) == 0)
            return &reached[at];
    return NULL;
}

static struct reached *reached_by(cob_module *module) {
    static struct reached *last;
    unsigned file = COB_GET_FILE_NUM(module->module_stmt);
    const char *source = module->module_sources == NULL ? "" : module->module_sources[file];
    if (last != NULL && strcmp(last->source, source) == 0 && strcmp(last->program, module->module_name) == 0)
        return last;
    last = reached_of(module->module_name, source);
    if (last == NULL) {
        reached = realloc(reached, ++reached_count * sizeof *reached);
        last = &reached[reached_count - 1];
        memset(last, 0, sizeof *last);
        last->program = strdup(module->module_name);
        last->source = strdup(source);
        last->room = 1024;
        last->lines = calloc(last->room, sizeof(struct line));
    }
    return last;
}

static struct line *line_of(struct reached *where, unsigned number) {
    unsigned at = number * 2654435761u & (where->room - 1);
    while (where->lines[at].number != 0 && where->lines[at].number != number)
        at = (at + 1) & (where->room - 1);
    return &where->lines[at];
}

static void reach(struct reached *where, unsigned number, const char *verb) {
    struct line *line = line_of(where, number);
    if (line->number == 0 && where->room < LINES) {
        if (++where->count * 2 > where->room) {
            struct line *old = where->lines;
            unsigned room = where->room, each;
            where->lines = calloc(where->room *= 2, sizeof(struct line));
            for (each = 0; each < room; each++)
                if (old[each].number)
                    *line_of(where, old[each].number) = old[each];
            free(old);
            line = line_of(where, number);
        }
        line->number = number;
        line->verb = verb;
    }
    if (line->number == number && (line->verb == verb || strcmp(line->verb, verb) == 0))
        line->count++;
}

/* A CALL may pass on an area that was not passed to the program, so it is not checked there. */
void cob_check_linkage(const unsigned char *area, const char *name, const int how) {
    REAL(void, cob_check_linkage, const unsigned char *, const char *, const int);
    if (area == NULL && strcmp(last_statement, "CALL") == 0)
        return;
    real(area, name, how);
}

void cob_trace_stmt(const char *what) {
    cob_module *module = global->cob_current_module;
    last_statement = what;
    if (!watching || current == NULL)
        return;
    reach(reached_by(module), COB_GET_LINE_NUM(module->module_stmt), what);
    if (watching > 1) {
        struct pause pause = to_python();
        int left = PyErr_CheckSignals() || statement(module, what, module->module_stmt);
        if (!left && unheard) {
            current = pause.level;
            global->cob_current_module = module;
            unheard = 0;
            if (ran_away())
                leave(RUNAWAY);
        }
        into_cobol(pause, left);
    }
}

/* Returns how many lines of a source a program has reached; stores up to ``room`` of them, each with its count. */
unsigned dfh_reached(const char *program, const char *source, long long *lines, unsigned room) {
    const struct reached *found = reached_of(program, source);
    unsigned count = 0, each;
    for (each = 0; found != NULL && each < found->room; each++)
        if (found->lines[each].number && ++count <= room) {
            lines[2 * count - 2] = found->lines[each].number;
            lines[2 * count - 1] = found->lines[each].count;
        }
    return count;
}

void dfh_forget_reached(void) {
    int at;
    for (at = 0; at < reached_count; at++) {
        memset(reached[at].lines, 0, reached[at].room * sizeof(struct line));
        reached[at].count = 0;
    }
}

void dfh_watch(int how) { watching = how; }

#include "_libcob_overrides.c"

/* -- functions for Python ------------------------------------------------------------------------------------------ */

/* Initialize libcob and restore the signal handlers, because libcob installs its own, which would end the process.
 * This may run in any thread and long after the start. So the C handlers are restored here; Python could restore
 * only those that were set from Python. */
static void initialize(void) {
    struct sigaction before[NSIG];
    int number, known[NSIG];
    for (number = 1; number < NSIG; number++)
        known[number] = sigaction(number, NULL, &before[number]) == 0;
    cob_init(0, NULL);
    for (number = 1; number < NSIG; number++)
        if (known[number])
            sigaction(number, &before[number], NULL);
}

int dfh_start(int (*on_command)(int), void *(*on_call)(const char *),
              int (*on_failure)(int, int), int (*on_statement)(cob_module *, const char *, unsigned),
              ssize_t (*on_convert)(int, const void *, size_t, int, void *, size_t)) {
    unsigned char install = 0;
    int (*on_error)(char *) = failed;
    int (*on_exit)(void) = stopped;
    initialize();
    global = cob_get_global_ptr();
    command = on_command;
    resolver = on_call;
    again = on_failure;
    statement = on_statement;
    convert = on_convert;
    console = stderr;
    spoken = open_memstream(&text, &size);
    pid = getpid();
    pthread_atfork(NULL, NULL, forked);
    cob_sys_error_proc(&install, &on_error);
    cob_sys_exit_proc(&install, &on_exit);
    return 0;
}

static unsigned frame_of(struct level *level, cob_module *module) {
    int at;
    for (at = level->depth - 1; at >= 0; at--)
        if (level->frames[at].module == module)
            break;
    if (at >= 0) {
        level->depth = at + 1;
    } else if (level->depth < 16) {
        at = level->depth++;
        below = at ? level->frames[at - 1].serial : 0;
        level->frames[at].module = module;
        level->frames[at].serial = ++serials;
    } else {
        at = 15;
    }
    return level->frames[at].serial;
}

/* The current command: the number of arguments, the program, its frame, and the address of its control area; then
 * for each argument: address, size, type with flags and scale, address of the item, and the value of a binary
 * number. */
#define ARGUMENTS 64
#define HEADING 4
static long long table[ARGUMENTS * 5 + HEADING];

/* The input and the results of a command, in WORKING-STORAGE of the program. */
struct control {
    int number; /* first that of the command, afterwards that of the label to go to, 0 to continue */
    int resp, resp2;
};

/* The value of a binary item without a scale; LLONG_MIN for other items. */
static long long binary(const cob_field *item) {
    unsigned long long value = 0;
    size_t at;
    if (item == NULL || item->attr == NULL || (item->attr->type != COB_TYPE_NUMERIC_BINARY && item->attr->type != 0x1B) ||
        item->attr->scale != 0 || item->size > 8 || (size_t)item->data < 65536)
        return LLONG_MIN;
    for (at = 0; at < item->size; at++)
        value = value << 8 | item->data[item->attr->flags & COB_FLAG_BINARY_SWAP ? at : item->size - 1 - at];
    if (item->attr->flags & COB_FLAG_HAVE_SIGN && item->size < 8 && value >> (item->size * 8 - 1))
        value -= 1ULL << (item->size * 8);
    return (long long)value;
}

void dfh_overran(int (*on_overran)(void)) { overran = on_overran; }

long long *dfh_table(void) { return table; }

static int fullword(const unsigned char *at) {
    return (int)((unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3]);
}

/* Read the first and last byte of an area while the program is still active, so that a bad address ends the
 * program; later it would end Python. Addresses below 65536 mean that there is no area; they are not read, because
 * programs pass such areas without using them. */
static void touch(const cob_field *area) {
    volatile const unsigned char *data = area->data;
    if ((size_t)data >= 65536 && area->size > 0) {
        (void)data[0];
        (void)data[area->size - 1];
    }
}

/* The arguments of a CALL, from the one with number ``first``. */
static void touch_arguments(const cob_module *module, int first) {
    int at;
    for (at = first; at < global->cob_call_params && at < ARGUMENTS; at++)
        if (module->cob_procedure_params[at] != NULL)
            touch(module->cob_procedure_params[at]);
}

static void take_arguments(const cob_module *module, int first) {
    int at;
    for (at = first; at < global->cob_call_params && at < ARGUMENTS; at++) {
        long long *row = table + HEADING + (at - first) * 5;
        cob_field *argument = module->cob_procedure_params[at];
        const cob_field_attr *attr = argument == NULL ? NULL : argument->attr;
        row[0] = argument == NULL ? 0 : (long long)(size_t)argument->data;
        row[1] = argument == NULL ? 0 : (long long)argument->size;
        row[2] = attr == NULL ? 0 : (attr->type | (long long)attr->flags << 16 | (long long)(attr->scale & 0xffff) << 32);
        row[3] = (long long)(size_t)argument;
        row[4] = binary(argument);
    }
    table[0] = at - first;
}

/* Keep the place of a command for the last words of the process. */
static void note_place(const cob_module *module) {
    static const cob_module *noted;
    const char *source = module->module_sources == NULL ? NULL : module->module_sources[COB_GET_FILE_NUM(module->module_stmt)];
    last_line = COB_GET_LINE_NUM(module->module_stmt);
    if (noted == module && strcmp(last_program, module->module_name) == 0)
        return;
    noted = module;
    snprintf(last_program, sizeof last_program, "%s", module->module_name);
    snprintf(last_source, sizeof last_source, "%s", source == NULL ? "" : source);
}

/* The function that every command CALLs; its first argument is the control area. The callback gets the command's
 * number, negative if another program of the level issued the previous command, or none did. It returns one more
 * than the number of the label to go to. A pending signal is handled before the callback, because an exception at
 * the very beginning of a callback would be lost. */
int dfh_exec(void) {
    struct level *mine = current;
    cob_module *module = global->cob_current_module;
    int answer, sheltered;
    struct shelter shelters[SHELTERS];
    struct control *control = (struct control *)module->cob_procedure_params[0]->data;
    unsigned frame = frame_of(mine, module);
    commands++;
    note_place(module);
    if (overdrawn) {
        struct pause pause = to_python();
        int away = overran();
        overdrawn = 0;
        current = pause.level;
        global->cob_current_module = pause.module;
        global->cob_call_params = pause.params;
        if (away) {
            no_command = 0;
            leave(RUNAWAY);
        }
        used_since = used_ms();
    }
    if (read_beyond != NULL)
        warn_of_read();
    sheltered = shelter_arguments(module, shelters);
    touch_arguments(module, 1);
    out_of_program();
    take_arguments(module, 1);
    table[1] = (long long)(size_t)module;
    table[2] = frame;
    table[3] = (long long)(size_t)control;
    sheltered_now = shelters;
    sheltered_count = sheltered;
    answer = PyErr_CheckSignals() ? -LEAVE : command(frame == mine->frame && !sheltered ? control->number : -control->number);
    charge(mine->task);
    mine->frame = frame;
    current = mine;
    global->cob_current_module = module;
    sheltered_count = 0;
    if (sheltered && end_shelters(shelters, sheltered))
        leave(CRASHED);
    if (answer <= 0)
        leave(answer < 0 ? -answer : INTERRUPTED);
    control->number = answer - 1;
    control->resp = fullword(mine->eib + 76);
    control->resp2 = fullword(mine->eib + 80);
    into_program();
    return 0;
}

#include "_external_calls.c"

#define EIB 85
#define EIBTASKN 12

/* PIC S9(7) COMP-3. */
static void pack(unsigned char *to, int number) {
    int at;
    to[3] = (unsigned char)(number % 10 << 4 | 0xC);
    for (at = 2, number /= 10; at >= 0; at--, number /= 100)
        to[at] = (unsigned char)(number / 10 % 10 << 4 | number % 10);
}

/* Report a failure of a program to Python before the storage of the level's programs is freed. Returns whether to enter
 * the program again, at the label of its abend exit; only the program at the top of the level can be. */
static int goes_on(struct level *level, int why, volatile int *tries) {
    int may;
    if (why != FAILED && why != CRASHED && why != RUNAWAY && !(why == STOPPED && message[0]))
        return 0;
    may = why != RUNAWAY && level->begun_count > 0 && failing == level->begun[0] && (*tries)++ < 16;
    return again(why, may) && may;
}

/* Run a program. Its EIB gets the contents of ``filled``, and the task number as packed digits. */
int dfh_run(int (*program)(void *, void *), unsigned char *eib, void *commarea, long runaway, const char *filled,
            int task, int checks) {
    struct level here;
    volatile int why, tries = 0;
    here.module = global->cob_current_module;
    here.begun = NULL;
    here.eib = eib;
    here.frame = 0;
    here.checks = checks;
    here.task = task;
    if (runs == 0)
        task_now = -1; /* tasks of two regions may have one number */
    charge(task);
    here.begun_count = here.begun_room = here.depth = 0;
    if (runs == 0 || runner != this_thread()) {
        guard();
        outside = 1; /* a signal may have come before the handlers were installed */
    }
    if (runs++ == 0 && runaway && (!armed || runaway != runaway_ms)) {
        runaway_ms = runaway;
        set_timer(runaway_timer, runaway, runaway);
        armed = 1;
    }
    commands++;
    memcpy(eib, filled, EIB);
    pack(eib + EIBTASKN, task);
    do {
        message[0] = '\0';
        current = &here;
        global->cob_current_module = NULL;
        why = setjmp(here.env);
        if (why == 0) {
            into_program();
            global->cob_call_params = 2;
            program(eib, commarea);
        }
        out_of_program();
        if (why > LEAVE || ftell(spoken) > 0)
            take_message();
    } while (goes_on(&here, why, &tries));
    while (here.begun_count > 0)
        forget(&here, here.begun_count - 1);
    free(here.begun);
    global->cob_current_module = here.module;
    runs--;
    return why;
}

const char *dfh_message(void) { return message; }

const char *dfh_module_name(cob_module *module) { return module->module_name; }

/* Whether a program is this module's, or that of a module below it on the stack. */
int dfh_active(cob_module *module, const char *name) {
    for (; module != NULL; module = module->next)
        if (strcasecmp(module->module_name, name) == 0) return 1;
    return 0;
}

const char *dfh_module_source(cob_module *module, unsigned at) {
    return module->module_sources == NULL ? NULL : module->module_sources[at];
}

unsigned dfh_below(void) { return below; }

/* The program that has CALLed this one; NULL for the first program of a level. */
cob_module *dfh_caller(cob_module *module) { return module->next; }

/* The program in which the last level ended abnormally; its storage exists until the callback for the failure ends. */
cob_module *dfh_failing(void) { return failing; }

/* The source file and the statement at which the last level ended abnormally. */
const char *dfh_failing_source(void) { return failing_source; }
unsigned dfh_failing_at(void) { return failing_at; }
unsigned dfh_statement_of(cob_module *module) { return module->module_stmt; }

long long dfh_number(cob_field *field) { return cob_get_llint(field); }
