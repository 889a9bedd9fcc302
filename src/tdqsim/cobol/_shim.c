/* Between libcob and Python: runs a program so that it can be left from inside a command, and hands commands over.
 *
 * A "level" is one run of a program (a task's first program, or one that was LINKed to). The command callback is
 * Python's; when it says so, the level is left by longjmp: no Python frame lies between the two, only COBOL's. libcob's
 * chain of active programs is put back by hand. An error of the run-time, and its wish to end the process, leave the
 * level too. What of this belongs to a task that waits is taken and given by dfh_take and dfh_give.
 */
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <libcob.h>

enum { DONE = 0, LEAVE = 1, FAILED = 2, STOPPED = 3 };

struct level {
    struct level *up;
    cob_module *module;
    jmp_buf env;
};

static struct level *current;
static cob_global *global;
static int (*command)(int, cob_field **);
static char message[1024];
static FILE *console, *spoken;
static char *text;
static size_t size;

/* libcob tells what was wrong on stderr, and only the first time to a handler: while COBOL runs, stderr is ours. */
static void listen(void) {
    if (spoken != NULL)
        stderr = spoken;
}

static void hush(void) {
    stderr = console;
}

static void hear(void) {
    if (spoken == NULL)
        return;
    fflush(spoken);
    if (size > 0 && message[0] == '\0')
        snprintf(message, sizeof message, "%s", text);
    rewind(spoken);
}

static void leave(int why) {
    cob_module *module = global->cob_current_module;
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

int dfh_start(int (*callback)(int, cob_field **)) {
    unsigned char install = 0;
    int (*on_error)(char *) = failed;
    int (*on_exit)(void) = stopped;
    cob_init(0, NULL);
    global = cob_get_global_ptr();
    command = callback;
    console = stderr;
    spoken = open_memstream(&text, &size);
    cob_sys_error_proc(&install, &on_error);
    cob_sys_exit_proc(&install, &on_exit);
    return 0;
}

int dfh_exec(void) {
    int why;
    hush();
    why = command(global->cob_call_params, global->cob_current_module->cob_procedure_params);
    if (why)
        leave(why);
    listen();
    return 0;
}

void *dfh_entry(void) { return (void *)dfh_exec; }

int dfh_run(int (*program)(void *, void *), void *eib, void *commarea) {
    struct level here;
    int why;
    here.up = current;
    here.module = global->cob_current_module;
    message[0] = '\0';
    current = &here;
    global->cob_current_module = NULL;
    why = setjmp(here.env);
    if (why == 0) {
        listen();
        global->cob_call_params = 2;
        program(eib, commarea);
    }
    hush();
    hear();
    current = here.up;
    global->cob_current_module = here.module;
    return why;
}

void dfh_take(void **state) {
    state[0] = current;
    state[1] = global->cob_current_module;
}

void dfh_give(void **state) {
    current = state[0];
    global->cob_current_module = state[1];
}

const char *dfh_message(void) { return message; }

long long dfh_number(cob_field *field) { return cob_get_llint(field); }

void dfh_set_number(cob_field *field, int value) { cob_set_int(field, value); }
