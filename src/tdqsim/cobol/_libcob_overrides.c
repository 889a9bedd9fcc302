/* Checks of data, the clock and DISPLAY: replacements for libcob's functions of the same names. Included in _shim.c.
 *
 * Programs are compiled with all checks of the compiler. Here each check is done as on the mainframe:
 *
 * - In arithmetic and in comparisons of numbers, the machine's decimal instructions raise a data exception (S0C7): for a
 *   packed item, if a half byte is not a digit or the sign is not valid; for a zoned item, the same after PACK, which
 *   takes the right half of each byte and the sign from the last one. So blanks before the last digit count as zeros. A
 *   MOVE of a zoned item raises no exception; it moves the right halves of the bytes.
 * - For checks that Enterprise COBOL makes only on request (SSRANGE, NUMCHECK), a policy decides: ignore the problem,
 *   warn, or end the program.
 *
 * Programs run in ASCII; the zone of a character is that of the corresponding EBCDIC character.
 */

enum { IGNORE = 0, WARN = 1, ABEND = 2 };
enum { SSRANGE = 0, NUMCHECK = 2, ZONED_MOVE = 4 }; /* positions of the three policies in the bits of ``checks`` */
enum { INITIAL = 6, HAS_INITIAL = 14 }; /* the byte that fills items without VALUE, and whether there is one */

static unsigned char ebcdic[256];
static int (*named)(const void *, size_t, int, char *, size_t);
static int (*displayed)(const char *, size_t, int);
static int (*moment)(char *);

static int wanted(int check) { return current == NULL ? IGNORE : current->checks >> check & 3; }

static void warn(const char *text) {
    struct pause pause = to_python();
    into_cobol(pause, PyErr_CheckSignals() || warned(pause.module, text));
}

/* -- numbers in the machine's form --------------------------------------------------------------------------------- */

#define DIGITS 64
#define MOST_DIGITS 38 /* of a number in libcob */

/* Libcob's decimal is a number of GMP, whose second field is 0 for zero, and a scale. What is known of the number is in
 * the padding after them. */
enum { FLOATING = 1, QUOTIENT = 2, ZERO_DIVIDE = 4 };

struct decimal {
    int room, length;
    void *digits;
    int scale, marks;
};

void cob_decimal_init(void *);
void cob_decimal_clear(void *);
void cob_decimal_set_field(void *, cob_field *);
int cob_decimal_get_field(void *, cob_field *, const int);

static int is_zoned(const cob_field *field) {
    return field->attr->type == COB_TYPE_NUMERIC_DISPLAY && field->size <= DIGITS;
}

static int is_float(const cob_field *field) {
    return field->attr->type == COB_TYPE_NUMERIC_FLOAT || field->attr->type == COB_TYPE_NUMERIC_DOUBLE;
}

/* The results of functions that are floating point on the mainframe; libcob returns decimal numbers. */
#define FLOATS 32

static struct {
    cob_field field;
    cob_field_attr attr;
    unsigned char data[128];
} float_results[FLOATS];

static int is_float_result(const cob_field *field) {
    return (const void *)field >= (const void *)float_results && (const void *)field < (const void *)(float_results + FLOATS);
}

static cob_field *float_result(const cob_field *from) {
    static int last;
    int at = last = (last + 1) % FLOATS;
    if (from->size > sizeof float_results[at].data)
        return (cob_field *)from;
    memcpy(float_results[at].data, from->data, from->size);
    float_results[at].attr = *from->attr;
    float_results[at].field = (cob_field){from->size, float_results[at].data, &float_results[at].attr};
    return &float_results[at].field;
}

#define FLOAT(name) \
    cob_field *name(cob_field *argument) { \
        REAL(cob_field *, name, cob_field *); \
        return float_result(real(argument)); \
    }
#define FLOAT_OF_TWO(name) \
    cob_field *name(cob_field *argument, cob_field *other) { \
        REAL(cob_field *, name, cob_field *, cob_field *); \
        return float_result(real(argument, other)); \
    }

FLOAT(cob_intr_acos)
FLOAT(cob_intr_asin)
FLOAT(cob_intr_atan)
FLOAT(cob_intr_cos)
FLOAT(cob_intr_log)
FLOAT(cob_intr_log10)
FLOAT(cob_intr_numval)
FLOAT(cob_intr_sin)
FLOAT(cob_intr_sqrt)
FLOAT(cob_intr_tan)
FLOAT_OF_TWO(cob_intr_annuity)
FLOAT_OF_TWO(cob_intr_numval_c)

/* The index of the byte whose left half is the sign; -1 if the sign is a separate byte. */
static int sign_at(const cob_field *field) {
    if (COB_FIELD_SIGN_SEPARATE(field))
        return -1;
    return COB_FIELD_HAVE_SIGN(field) && COB_FIELD_SIGN_LEADING(field) ? 0 : (int)field->size - 1;
}

/* Whether libcob reads a zoned item like the machine: all bytes are digits, with a sign only if the PICTURE has
 * one. */
static int is_plain(const cob_field *field) {
    const unsigned char *digits = COB_FIELD_DATA(field);
    int at, count = (int)COB_FIELD_SIZE(field), sign = sign_at(field);
    for (at = 0; at < count; at++)
        if ((digits[at] < '0' || digits[at] > '9') &&
            !(at == sign && COB_FIELD_HAVE_SIGN(field) && digits[at] && strchr("{ABCDEFGHI}JKLMNOPQR", digits[at])))
            return 0;
    return 1;
}

/* Store the result of PACK for a zoned item, in zoned form; returns whether the half bytes are digits and a sign. */
static int as_packed(const cob_field *field, unsigned char *to) {
    int at, count = (int)COB_FIELD_SIZE(field), sign = sign_at(field), good = 1;
    const unsigned char *from = COB_FIELD_DATA(field);
    memcpy(to, field->data, field->size);
    to += from - field->data;
    for (at = 0; at < count; at++) {
        int digit = ebcdic[from[at]] & 15, zone = ebcdic[from[at]] >> 4;
        if (digit > 9)
            good = digit = 0;
        to[at] = (unsigned char)('0' + digit);
        if (at == sign) {
            if (zone < 10)
                good = 0;
            else if (COB_FIELD_HAVE_SIGN(field) && (zone == 0xB || zone == 0xD))
                to[at] = (unsigned char)"}JKLMNOPQR"[digit];
        }
    }
    return good;
}

static int is_packed_number(const cob_field *field) {
    int with_sign = !COB_FIELD_NO_SIGN_NIBBLE(field);
    size_t at;
    for (at = 0; at < field->size; at++) {
        int left = field->data[at] >> 4, right = field->data[at] & 15;
        if (left > 9 || (with_sign && at == field->size - 1 ? right < 10 : right > 9))
            return 0;
    }
    return 1;
}

/* A message about an item that does not contain a number: its name (known for arithmetic, looked up for
 * comparisons), its contents as text, and its bytes. */
static const char *not_numeric(const cob_field *field, const char *name, const char *what) {
    static char text[400];
    char item[160], hex[2 * 32 + 1] = "", shown[34] = "";
    size_t at, count = field->size < 32 ? field->size : 32;
    struct pause pause = to_python();
    snprintf(item, sizeof item, "%s", name == NULL ? "" : name);
    into_cobol(pause, named(field->data, field->size, field->attr->type | field->attr->flags << 16, item, sizeof item));
    for (at = 0; at < count; at++) {
        snprintf(hex + 2 * at, 3, "%02X", field->data[at]);
        shown[at] = field->data[at] >= ' ' && field->data[at] < 127 ? (char)field->data[at] : '.';
    }
    snprintf(text, sizeof text, "%s: '%s' not numeric: '%s' X'%s'%s", what, item, shown, hex, field->size > count ? "..." : "");
    return text;
}

/* Whether an item has only the byte with which items without VALUE begin. */
static int is_unset(const cob_field *field) {
    size_t at;
    for (at = 0; at < field->size; at++)
        if (field->data[at] != (unsigned char)(current->checks >> INITIAL))
            return 0;
    return current->checks >> HAS_INITIAL & 1;
}

static void data_exception(const cob_field *field, const char *name) {
    static char text[600];
    const char *what = not_numeric(field, name, "data exception (S0C7)");
    if (is_unset(field)) { /* told even if the program handles the abend */
        snprintf(text, sizeof text, "%s (items without VALUE begin so; on the mainframe their contents are undefined)", what);
        warn(what = text);
    }
    failed((char *)what);
}

/* NUMCHECK of a sending item, with libcob's own class test for the item's usage. */
static void check_class(const cob_field *field, const char *name, int check) {
    int how = wanted(check);
    if (how == IGNORE || cob_is_numeric(field))
        return;
    if (how == ABEND)
        failed((char *)not_numeric(field, name, "NUMCHECK"));
    warn(not_numeric(field, name, "NUMCHECK"));
}

/* The operand of a decimal instruction; does not return if the item does not contain a number. For a zoned item that
 * libcob would read differently it returns a copy, ``plain``, whose digits are in ``digits``. */
static cob_field *operand(cob_field *field, cob_field *plain, unsigned char *digits, const char *name) {
    if (current == NULL || field == NULL || field->attr == NULL || (size_t)field->data < 65536)
        return field;
    if (field->attr->type == COB_TYPE_NUMERIC_PACKED) {
        check_class(field, name, NUMCHECK);
        if (!is_packed_number(field))
            data_exception(field, name);
    } else if (is_zoned(field) && !is_plain(field)) {
        check_class(field, name, NUMCHECK);
        if (!as_packed(field, digits))
            data_exception(field, name);
        *plain = *field;
        plain->data = digits;
        return plain;
    }
    return field;
}

#define COPY_OF(field) \
    cob_field copy_##field; \
    unsigned char digits_##field[DIGITS]; \
    field = operand(field, &copy_##field, digits_##field, NULL)

/* The compiler puts a call of this before each statement that takes a number from an item. */
void cob_check_numeric(const cob_field *field, const char *name) {
    cob_field plain;
    unsigned char digits[DIGITS];
    if (strcmp(last_statement, "MOVE") != 0 && strcmp(last_statement, "SET") != 0)
        operand((cob_field *)field, &plain, digits, name);
    else if (field->attr->type == COB_TYPE_NUMERIC_PACKED)
        operand((cob_field *)field, &plain, digits, name);
    else
        check_class(field, name, ZONED_MOVE);
}

/* The attributes of an edited item, with the digits and decimals that it shows. Of a floating currency sign the
 * compiler counts one digit too few if one sign and a comma begin it ($,$$9), and no decimals ($$,$$$.$$). */
static cob_field_attr as_shown(const cob_field_attr *edited) {
    cob_field_attr shown = *edited;
    const cob_pic_symbol *symbol;
    int digits = 0, floating = 0, decimals = 0, after = 0;
    for (symbol = edited->pic; symbol != NULL && symbol->symbol != '\0'; symbol++) {
        int is_currency = symbol->symbol == global->cob_current_module->currency_symbol;
        if (symbol->symbol == 'V' || symbol->symbol == global->cob_current_module->decimal_point)
            after = 1;
        if (!is_currency && strchr("9Z*", symbol->symbol) == NULL)
            continue;
        *(is_currency ? &floating : &digits) += symbol->times_repeated;
        decimals += after ? symbol->times_repeated : 0;
    }
    if (floating > 1) {
        shown.digits = (unsigned short)(digits + floating - 1);
        shown.scale = (short)decimals;
    }
    return shown;
}

/* libcob shows a plus or minus sign for each number where a currency sign follows it. */
static void correct_sign(cob_field *from, cob_field *to) {
    const cob_pic_symbol *symbol = to->attr == NULL || to->attr->type != COB_TYPE_NUMERIC_EDITED ? NULL : to->attr->pic;
    if (symbol != NULL && (symbol[0].symbol == '+' || symbol[0].symbol == '-') && to->data[0] == symbol[0].symbol &&
        symbol[1].symbol == global->cob_current_module->currency_symbol && COB_FIELD_IS_NUMERIC(from))
        to->data[0] = cob_cmp_llint(from, 0) < 0 ? '-' : symbol[0].symbol == '+' ? '+' : ' ';
}

/* Text is an unsigned integer: libcob would interpret signs, a decimal point and blanks. Returns whether it was moved;
 * digits alone are left to libcob. */
static int move_text(cob_field *from, cob_field *to) {
    unsigned char digits[MOST_DIGITS];
    cob_field_attr whole = {COB_TYPE_NUMERIC_DISPLAY, 0, 0, 0, NULL};
    cob_field kept = {from->size < MOST_DIGITS ? from->size : MOST_DIGITS, from->data, &whole};
    int good = 1;
    size_t at, count;
    kept.data += from->size - kept.size;
    whole.digits = (unsigned short)kept.size;
    if (is_plain(&kept))
        return 0;
    for (at = 0; at < kept.size; at++) {
        int digit = ebcdic[kept.data[at]] & 15;
        digits[at] = (unsigned char)(digit > 9 ? kept.data[at] : '0' + digit);
        good &= digit <= 9;
    }
    if (!good && is_zoned(to) && to->attr->scale == 0 && !COB_FIELD_SIGN_SEPARATE(to)) {
        /* the item is not NUMERIC then, and the data exception comes when the number is used */
        count = kept.size < to->size ? kept.size : to->size;
        memset(to->data, '0', to->size);
        memcpy(to->data + to->size - count, digits + kept.size - count, count);
        return 1;
    }
    if (!good)
        data_exception(from, NULL);
    kept.data = digits;
    cob_move(&kept, to);
    return 1;
}

void cob_move(cob_field *from, cob_field *to) {
    cob_field plain;
    unsigned char digits[DIGITS];
    REAL(void, cob_move, cob_field *, cob_field *);
    if (is_float_result(from) && to->attr != NULL && COB_FIELD_IS_NUMERIC(to) && !is_float(to)) {
        cob_field_attr rounded = {COB_TYPE_NUMERIC_DISPLAY, MOST_DIGITS, to->attr->scale, COB_FLAG_HAVE_SIGN, NULL};
        cob_field kept = {MOST_DIGITS, digits, &rounded};
        struct decimal number;
        cob_decimal_init(&number);
        cob_decimal_set_field(&number, from);
        cob_decimal_get_field(&number, &kept, 0);
        cob_decimal_clear(&number);
        real(&kept, to);
        return;
    }
    if (from->attr != NULL && from->attr->type == COB_TYPE_NUMERIC_DISPLAY && from->attr->scale <= DIGITS &&
        (int)COB_FIELD_SIZE(from) < from->attr->scale && to->attr != NULL && COB_FIELD_IS_NUMERIC(to)) {
        /* P before the digits: of too few decimals of a binary item libcob makes an endless loop */
        cob_field_attr whole = {COB_TYPE_NUMERIC_DISPLAY, from->attr->scale, from->attr->scale,
                                from->attr->flags & COB_FLAG_HAVE_SIGN, NULL};
        cob_field zeros = {whole.digits, digits, &whole};
        real(from, &zeros);
        real(&zeros, to);
        return;
    }
    if (from->attr != NULL && to->attr != NULL && to->attr->type == COB_TYPE_NUMERIC_EDITED &&
        COB_FIELD_IS_NUMERIC(from) && to->attr->digits <= DIGITS && to->attr->scale >= 0) {
        cob_field_attr edited = as_shown(to->attr);
        if (is_float(from) || is_float_result(from) ||
            from->attr->digits - from->attr->scale > edited.digits - edited.scale) {
            /* of a longer number libcob takes a digit for the place of the sign, and then shows zeros; and it does not
             * round a floating-point number */
            cob_field_attr shorter = {COB_TYPE_NUMERIC_DISPLAY, edited.digits, edited.scale, COB_FLAG_HAVE_SIGN, NULL};
            cob_field kept = {shorter.digits, digits, &shorter};
            cob_move(from, &kept);
            real(&kept, to);
            correct_sign(&kept, to);
            return;
        }
    }
    if (current != NULL && from->attr != NULL && from->attr->type == COB_TYPE_ALPHANUMERIC && from->size > 0 &&
        (size_t)from->data >= 65536 && to->attr != NULL && !is_float(to) &&
        (COB_FIELD_IS_NUMERIC(to) || to->attr->type == COB_TYPE_NUMERIC_EDITED) && move_text(from, to))
        return;
    if (current != NULL && from->attr != NULL && is_zoned(from) && (size_t)from->data >= 65536 && to->attr != NULL &&
        (COB_FIELD_IS_NUMERIC(to) || to->attr->type == COB_TYPE_NUMERIC_EDITED) && !is_plain(from)) {
        as_packed(from, digits);
        plain = *from;
        plain.data = digits;
        from = &plain;
    }
    real(from, to);
    correct_sign(from, to);
}

/* -- division by zero ---------------------------------------------------------------------------------------------- */

/* libcob leaves the result unchanged. On the mainframe the divide instruction raises an exception unless the statement
 * has ON SIZE ERROR, for which the compiler tests the divisor.
 *
 * ``to`` is NULL for an expression in a condition, whose result is decimal. */
static void divided(const cob_field *to) {
    int type = to == NULL || to->attr == NULL ? COB_TYPE_NUMERIC_PACKED : to->attr->type;
    if (current == NULL)
        return;
    if (type == COB_TYPE_NUMERIC_BINARY)
        failed("fixed-point-divide exception (S0C9): division by zero without ON SIZE ERROR");
    if (type == COB_TYPE_NUMERIC_FLOAT || type == COB_TYPE_NUMERIC_DOUBLE)
        failed("HFP-divide exception (S0CF): division by zero without ON SIZE ERROR");
    failed("decimal-divide exception (S0CB): division by zero without ON SIZE ERROR");
}

void cob_div(cob_field *to, cob_field *by, const int how) {
    REAL(void, cob_div, cob_field *, cob_field *, const int);
    if (current != NULL && !(how & COB_STORE_KEEP_ON_OVERFLOW) && cob_cmp_llint(by, 0) == 0)
        divided(to);
    real(to, by, how);
}

void cob_div_quotient(cob_field *number, cob_field *by, cob_field *to, const int how) {
    REAL(void, cob_div_quotient, cob_field *, cob_field *, cob_field *, const int);
    if (current != NULL && !(how & COB_STORE_KEEP_ON_OVERFLOW) && cob_cmp_llint(by, 0) == 0)
        divided(to);
    real(number, by, to, how);
}

/* -- expressions --------------------------------------------------------------------------------------------------- */

void cob_decimal_set_llint(void *number, const cob_s64_t value) {
    REAL(void, cob_decimal_set_llint, void *, const cob_s64_t);
    ((struct decimal *)number)->marks = 0;
    real(number, value);
}

void cob_decimal_set_ullint(void *number, const cob_u64_t value) {
    REAL(void, cob_decimal_set_ullint, void *, const cob_u64_t);
    ((struct decimal *)number)->marks = 0;
    real(number, value);
}

void cob_decimal_set_field(void *number, cob_field *field) {
    REAL(void, cob_decimal_set_field, void *, cob_field *);
    COPY_OF(field);
    ((struct decimal *)number)->marks = is_float(field) || is_float_result(field) ? FLOATING : 0;
    real(number, field);
}

/* The mainframe evaluates a whole expression in floating point if one of its operands is, or an exponent has decimals. */
#define OPERATION(name, marks_of_result) \
    void name(void *number, void *other) { \
        struct decimal *one = number, *two = other; \
        int marks = one->marks | two->marks | (marks_of_result); \
        REAL(void, name, void *, void *); \
        real(number, other); \
        one->marks = marks; \
    }

OPERATION(cob_decimal_add, 0)
OPERATION(cob_decimal_sub, 0)
OPERATION(cob_decimal_mul, 0)
OPERATION(cob_decimal_div, QUOTIENT | (two->length == 0 ? ZERO_DIVIDE : 0))
OPERATION(cob_decimal_pow, two->scale > 0 ? FLOATING : 0)

/* A quotient within an expression keeps no more decimals than this, unless it is in floating point. libcob would cut
 * other results too, and takes digits away from one with fewer decimals. */
void cob_decimal_align(void *number, const int scale) {
    struct decimal *result = number;
    REAL(void, cob_decimal_align, void *, const int);
    if ((result->marks & (FLOATING | QUOTIENT)) == QUOTIENT && result->scale > scale)
        real(number, scale);
    result->marks &= ~QUOTIENT;
}

/* A result in floating point is rounded, with or without ROUNDED, and so is one of a MOVE; libcob cuts it. */
int cob_decimal_get_field(void *number, cob_field *to, const int how) {
    int marks = ((struct decimal *)number)->marks;
    cob_field_attr attr;
    cob_field edited;
    REAL(int, cob_decimal_get_field, void *, cob_field *, const int);
    if (marks & ZERO_DIVIDE && !(how & COB_STORE_KEEP_ON_OVERFLOW))
        divided(to);
    if (to->attr->type == COB_TYPE_NUMERIC_EDITED) {
        attr = as_shown(to->attr);
        edited = (cob_field){to->size, to->data, &attr};
        to = &edited;
    }
    return real(number, to, marks & FLOATING ? how | COB_STORE_ROUND : how);
}

int cob_decimal_cmp(void *one, void *other) {
    REAL(int, cob_decimal_cmp, void *, void *);
    if ((((struct decimal *)one)->marks | ((struct decimal *)other)->marks) & ZERO_DIVIDE)
        divided(NULL);
    return real(one, other);
}

int cob_get_int(cob_field *field) {
    REAL(int, cob_get_int, cob_field *);
    COPY_OF(field);
    return real(field);
}

cob_s64_t cob_get_llint(cob_field *field) {
    REAL(cob_s64_t, cob_get_llint, cob_field *);
    COPY_OF(field);
    return real(field);
}

/* The result replaces the item's value, so the corrected digits can be written to the item first. */
int cob_add_int(cob_field *field, const int number, const int options) {
    cob_field plain;
    unsigned char digits[DIGITS];
    REAL(int, cob_add_int, cob_field *, const int, const int);
    if (operand(field, &plain, digits, NULL) != field)
        memcpy(field->data, digits, field->size);
    return real(field, number, options);
}

int cob_cmp_numdisp(const unsigned char *data, const size_t length, const cob_s64_t number, const cob_u32_t has_sign) {
    static const cob_field_attr with_sign = {COB_TYPE_NUMERIC_DISPLAY, 0, 0, COB_FLAG_HAVE_SIGN, NULL},
                                without = {COB_TYPE_NUMERIC_DISPLAY, 0, 0, 0, NULL};
    cob_field item = {length, (unsigned char *)data, has_sign ? &with_sign : &without}, *field = &item;
    REAL(int, cob_cmp_numdisp, const unsigned char *, const size_t, const cob_s64_t, const cob_u32_t);
    COPY_OF(field);
    return real(field->data, length, number, has_sign);
}

int cob_cmp_packed(cob_field *field, const cob_s64_t number) {
    REAL(int, cob_cmp_packed, cob_field *, const cob_s64_t);
    COPY_OF(field);
    return real(field, number);
}

int cob_cmp_llint(cob_field *field, const cob_s64_t number) {
    REAL(int, cob_cmp_llint, cob_field *, const cob_s64_t);
    COPY_OF(field);
    return real(field, number);
}

int cob_numeric_cmp(cob_field *one, cob_field *other) {
    REAL(int, cob_numeric_cmp, cob_field *, cob_field *);
    COPY_OF(one);
    COPY_OF(other);
    return real(one, other);
}

/* -- subscripts and reference modification ------------------------------------------------------------------------- */

/* Whether a value that is out of range must end the program, which libcob's own check then does. With the policy WARN
 * this issues the warning. */
static int ends(int out_of_range, const char *what, const char *name, int value) {
    int how = wanted(SSRANGE);
    char text[200];
    if (!out_of_range || how == IGNORE)
        return 0;
    if (how == ABEND)
        return 1;
    snprintf(text, sizeof text, "SSRANGE: %s of '%s' out of bounds: %d", what, name, value);
    warn(text);
    return 0;
}

void cob_check_subscript(const int at, const int most, const char *name, const int depending) {
    REAL(void, cob_check_subscript, const int, const int, const char *, const int);
    if (ends(at < 1 || at > most, "subscript", name, at))
        real(at, most, name, depending);
}

void cob_check_odo(const int count, const int least, const int most, const char *name, const char *object) {
    REAL(void, cob_check_odo, const int, const int, const int, const char *, const char *);
    if (ends(count < least || count > most, "OCCURS DEPENDING ON", object, count))
        real(count, least, most, name, object);
}

void cob_check_ref_mod_detailed(const char *name, const int abend, const int zero, const int length, const int offset,
                                const int wanted_length) {
    REAL(void, cob_check_ref_mod_detailed, const char *, const int, const int, const int, const int, const int);
    int out = offset < 1 || offset > length || wanted_length < !zero || offset + wanted_length - 1 > length;
    if (ends(out, "reference modification", name, offset < 1 || offset > length ? offset : wanted_length))
        real(name, abend, zero, length, offset, wanted_length);
}

void cob_check_ref_mod_minimal(const char *name, const int offset, const int length) {
    REAL(void, cob_check_ref_mod_minimal, const char *, const int, const int);
    if (ends(offset < 1 || length < 1, "reference modification", name, offset < 1 ? offset : length))
        real(name, offset, length);
}

void cob_check_ref_mod(const int offset, const int wanted_length, const int length, const char *name) {
    REAL(void, cob_check_ref_mod, const int, const int, const int, const char *);
    int out = offset < 1 || offset > length || wanted_length < 1 || offset + wanted_length - 1 > length;
    if (ends(out, "reference modification", name, offset < 1 || offset > length ? offset : wanted_length))
        real(offset, wanted_length, length, name);
}

/* -- the clock of the region --------------------------------------------------------------------------------------- */

/* CURRENT-DATE (21 characters), the day of the year (3) and of the week (1, Monday is 1). */
static void now(char *text) {
    struct pause pause = to_python();
    into_cobol(pause, PyErr_CheckSignals() || moment(text));
}

static void accept_digits(cob_field *to, const char *first, size_t count, const char *then, size_t more) {
    static const cob_field_attr text_attr = {COB_TYPE_ALPHANUMERIC, 0, 0, 0, NULL};
    unsigned char digits[16];
    cob_field from = {count + more, digits, &text_attr};
    memcpy(digits, first, count);
    memcpy(digits + count, then, more);
    cob_move(&from, to);
}

#define ACCEPT(name, first, count, then, more) \
    void name(cob_field *to) { \
        char text[32]; \
        now(text); \
        accept_digits(to, text + (first), count, text + (then), more); \
    }

ACCEPT(cob_accept_date, 2, 6, 0, 0)
ACCEPT(cob_accept_date_yyyymmdd, 0, 8, 0, 0)
ACCEPT(cob_accept_day, 2, 2, 21, 3)
ACCEPT(cob_accept_day_yyyyddd, 0, 4, 21, 3)
ACCEPT(cob_accept_day_of_week, 24, 1, 0, 0)
ACCEPT(cob_accept_time, 8, 8, 0, 0)

cob_field *cob_intr_current_date(const int offset, const int length) {
    cob_field *result = new_result(32);
    now((char *)result->data);
    result->size = 21;
    return part_of(result, offset, length);
}

/* Functions that complete a two-digit year from a window around the current year, which libcob takes as a third
 * argument. */
static const cob_field_attr digits_attr = {COB_TYPE_NUMERIC_DISPLAY, 7, 0, 0, NULL},
                            hundredths_attr = {COB_TYPE_NUMERIC_DISPLAY, 7, 2, 0, NULL},
                            minutes_attr = {COB_TYPE_NUMERIC_BINARY, 9, 0, COB_FLAG_HAVE_SIGN, NULL};

#define WINDOWED(name) \
    cob_field *name(const int params, ...) { \
        char text[32]; \
        cob_field fifty = {2, (unsigned char *)"50", &digits_attr}, year = {4, (unsigned char *)text, &digits_attr}; \
        cob_field *number, *window = &fifty, *around = &year; \
        va_list given; \
        REAL(cob_field *, name, const int, ...); \
        va_start(given, params); \
        number = va_arg(given, cob_field *); \
        if (params > 1) \
            window = va_arg(given, cob_field *); \
        if (params > 2) \
            around = va_arg(given, cob_field *); \
        va_end(given); \
        now(text); \
        return real(3, number, window, around); \
    }

WINDOWED(cob_intr_year_to_yyyy)
WINDOWED(cob_intr_date_to_yyyymmdd)
WINDOWED(cob_intr_day_to_yyyyddd)

/* Seconds since midnight, from the text of the moment. */
static int seconds_of(const char *text) {
    const char *at = text + 8; /* HHMMSS */
    return (at[0] * 10 + at[1] - 11 * '0') * 3600 + (at[2] * 10 + at[3] - 11 * '0') * 60 + at[4] * 10 + at[5] - 11 * '0';
}

cob_field *cob_intr_seconds_past_midnight(void) {
    char text[32];
    cob_field *result;
    REAL(cob_field *, cob_intr_seconds_past_midnight, void);
    now(text);
    result = real();
    cob_set_int(result, seconds_of(text));
    return result;
}

cob_field *cob_intr_formatted_current_date(const int offset, const int length, cob_field *form) {
    char text[32], seconds[8];
    int minutes;
    cob_field date = {8, (unsigned char *)text, &digits_attr}, time = {7, (unsigned char *)seconds, &hundredths_attr},
              zone = {sizeof minutes, (unsigned char *)&minutes, &minutes_attr};
    now(text);
    snprintf(seconds, sizeof seconds, "%05d%.2s", seconds_of(text), text + 14);
    minutes = (text[17] * 10 + text[18] - 11 * '0') * 60 + text[19] * 10 + text[20] - 11 * '0';
    if (text[16] == '-')
        minutes = -minutes;
    return cob_intr_formatted_datetime(offset, length, 5, form, cob_intr_integer_of_date(&date), &time, &zone, 0);
}

/* -- DISPLAY ------------------------------------------------------------------------------------------------------- */

/* What DISPLAY shows of a number with DISPSIGN(COMPAT), the mainframe's default: the sign of a zoned item as it is
 * stored; of a binary or packed item an overpunched last digit if it is negative; a floating-point item as an item
 * with PICTURE -.9(8)E-99 (COMP-1) or -.9(17)E-99. */
static cob_field *shown(cob_field *item, cob_field *text, char *digits) {
    static const cob_field_attr double_attr = {COB_TYPE_NUMERIC_DOUBLE, 34, 17, COB_FLAG_HAVE_SIGN, NULL};
    double result;
    cob_field floats = {sizeof result, (unsigned char *)&result, &double_attr};
    static const cob_field_attr text_attr = {COB_TYPE_ALPHANUMERIC, 0, 0, 0, NULL};
    cob_field_attr zoned = {COB_TYPE_NUMERIC_DISPLAY, 0, 0,
                            COB_FLAG_HAVE_SIGN | COB_FLAG_SIGN_SEPARATE | COB_FLAG_SIGN_LEADING, NULL};
    cob_field number = {0, (unsigned char *)digits, &zoned};
    const cob_field_attr *attr;
    if (is_float_result(item)) {
        cob_move(item, &floats);
        item = &floats;
    }
    attr = item->attr;
    *text = *item;
    text->attr = &text_attr;
    if (attr->flags & (COB_FLAG_CONSTANT | COB_FLAG_IS_POINTER) || attr->scale < 0 || attr->scale > attr->digits)
        return item;
    if (attr->type == COB_TYPE_NUMERIC_DISPLAY)
        return text;
    text->data = (unsigned char *)digits;
    if (is_float(item)) {
        int count = attr->type == COB_TYPE_NUMERIC_FLOAT ? 8 : 17, exponent;
        double value;
        float single;
        char decimal[32];
        memcpy(&single, item->data, sizeof single);
        value = single;
        if (attr->type == COB_TYPE_NUMERIC_DOUBLE)
            memcpy(&value, item->data, sizeof value);
        if (!isfinite(value))
            return item;
        snprintf(decimal, sizeof decimal, "%+.*e", count - 1, value); /* +d.dddE+dd */
        exponent = value == 0 ? 0 : atoi(decimal + count + 3) + 1;
        text->size = (size_t)snprintf(digits, DIGITS, "%c.%c%.*sE%c%02d", value < 0 ? '-' : ' ', decimal[1], count - 1,
                                      decimal + 3, exponent < 0 ? '-' : ' ', abs(exponent));
        return text;
    }
    if (attr->type != COB_TYPE_NUMERIC_BINARY && attr->type != COB_TYPE_NUMERIC_PACKED)
        return item;
    zoned.digits = attr->digits;
    zoned.scale = attr->scale;
    if (attr->type == COB_TYPE_NUMERIC_BINARY && attr->flags & COB_FLAG_REAL_BINARY)
        zoned.digits = item->size <= 2 ? 5 : item->size <= 4 ? 10 : attr->flags & COB_FLAG_HAVE_SIGN ? 19 : 20;
    number.size = zoned.digits + 1;
    cob_move(item, &number);
    if (digits[0] == '-' && isdigit((unsigned char)digits[zoned.digits]))
        digits[zoned.digits] = "}JKLMNOPQR"[digits[zoned.digits] - '0'];
    text->data++;
    text->size = zoned.digits;
    return text;
}

/* libcob writes to stdout, which is replaced by a buffer meanwhile. Each item is written by a separate call, because
 * variable arguments cannot be passed on. */
void cob_display(const int device, const int newline, const int count, ...) {
    static FILE *page;
    static char *line;
    static size_t length;
    FILE *before = stdout;
    struct pause pause;
    va_list given;
    cob_field text;
    char digits[DIGITS];
    int at;
    REAL(void, cob_display, const int, const int, const int, ...);
    (void)device;
    if (page == NULL)
        page = open_memstream(&line, &length);
    if (page == NULL)
        return;
    rewind(page);
    stdout = page;
    va_start(given, count);
    for (at = 0; at < count; at++)
        real(0, 0, 1, shown(va_arg(given, cob_field *), &text, digits));
    va_end(given);
    stdout = before;
    fflush(page);
    pause = to_python();
    into_cobol(pause, PyErr_CheckSignals() || displayed(line, (size_t)ftell(page), newline));
}

void dfh_characters(const unsigned char *to_ebcdic) { memcpy(ebcdic, to_ebcdic, sizeof ebcdic); }

void dfh_overrides(int (*on_warning)(cob_module *, const char *),
                 int (*on_name)(const void *, size_t, int, char *, size_t), int (*on_display)(const char *, size_t, int),
                 int (*on_clock)(char *)) {
    warned = on_warning;
    named = on_name;
    displayed = on_display;
    moment = on_clock;
}
