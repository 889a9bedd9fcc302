/* Functions that stand in for programs that are not there: Python answers their CALLs. Included in _shim.c.
 *
 * A program calls such a function like any other program, and keeps its address. So each stands for one name, by its
 * number, until the process ends. */

#define STAND_INS 256

static int (*outside_call)(int);

static int stood_in(int number) {
    struct pause pause;
    cob_module *module = global->cob_current_module;
    int answer;
    if (current == NULL)
        return 0;
    touch_arguments(module, 0);
    pause = to_python();
    take_arguments(module, 0);
    table[1] = (long long)(size_t)module;
    answer = PyErr_CheckSignals() ? LEAVE : outside_call(number);
    into_cobol(pause, answer);
    return (int)table[0];
}

#define ONE(n) \
    static int stand_in_##n(void) { return stood_in(0x##n); }
#define SIXTEEN(h) \
    ONE(h##0) ONE(h##1) ONE(h##2) ONE(h##3) ONE(h##4) ONE(h##5) ONE(h##6) ONE(h##7) \
    ONE(h##8) ONE(h##9) ONE(h##a) ONE(h##b) ONE(h##c) ONE(h##d) ONE(h##e) ONE(h##f)
#define ALL \
    SIXTEEN(0) SIXTEEN(1) SIXTEEN(2) SIXTEEN(3) SIXTEEN(4) SIXTEEN(5) SIXTEEN(6) SIXTEEN(7) \
    SIXTEEN(8) SIXTEEN(9) SIXTEEN(a) SIXTEEN(b) SIXTEEN(c) SIXTEEN(d) SIXTEEN(e) SIXTEEN(f)
ALL
#undef ONE
#define ONE(n) stand_in_##n,
static int (*const stand_ins[STAND_INS])(void) = {ALL};

void *dfh_stand_in(int number) { return (void *)stand_ins[number]; }

void dfh_outside(int (*on_outside)(int)) { outside_call = on_outside; }
