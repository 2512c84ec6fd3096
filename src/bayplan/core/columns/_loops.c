/* What resource plugins compute for many nodes, alone or all in one pass, and rankings of nodes.
 *
 * Reads NumPy arrays as they are, through the buffer protocol (any strides, no copies), and fills `out` with one int64
 * for each row. The rules are those of the array code in core/plugins/node_resources_fit.py,
 * node_resources_balanced_allocation.py, core/reuse/appraisal.py and core/ranking.py, bit for bit;
 * tests/oracle/test_compiled_loops.py compares the two. Knows nothing about devices, resource names or which rows have
 * changed.
 *
 * Rows are processed in blocks that fit into the L1 cache: amounts are gathered as doubles, and each rule is a loop
 * that a compiler can vectorize. A block with an amount too large for that is computed with integers, as in Go.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

#if PY_SSIZE_T_MAX < INT64_MAX
#error "rows are expected to be int64"
#endif

enum { BLOCK = 256, RESOURCES_MAX = 64, STEPS_MAX = 8, FLAGS_MAX = 4 };

/* The tables of a request. Each loop reads some of them. */
enum {
    OUT,
    ROWS,
    ALLOCATABLE,
    TAKEN, /* (nodes, 3 + resources), of which the next three are parts */
    POD_COUNTS,
    NONZERO_REQUESTED,
    REQUESTED,
    ALLOWED_PODS,
    NAME_RANKS,
    LASTING,
    VALUES,
    BOUNDS,
    CODES,
    SETTLED_CODES,
    TABLES_MAX
};

/* The rules that `appraise` can apply, as loops.py numbers them. */
enum { FIT_CODES, LEAST_ALLOCATED, MOST_ALLOCATED, BALANCED, RULES };

/* Smaller amounts give the same percentages in doubles as in integers. */
enum { EXACT_BITS = 45 };

static const int64_t TOO_MANY_PODS_BIT = 1;
static const int64_t UNRESOLVABLE_BIT = INT64_C(1) << 62;
static const int64_t UNCHANGED_SCORE = 75;
static const int64_t DOUBLE_START = 150;
static const int64_t NOT_FEASIBLE = INT64_MIN;
static const signed char PASSED = -1; /* as in filtering.py */

#if defined(__GNUC__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif

#if defined(__GNUC__) && defined(__x86_64__) && defined(__gnu_linux__)
#define HAS_VARIANTS
#define FASTEST_FOR_THIS_CPU __attribute__((target_clones("avx2", "default")))
#else
#define FASTEST_FOR_THIS_CPU
#endif

/* ---------------------------------------------------------------- arguments */

typedef struct {
    Py_buffer buffer;
    char *data;
    Py_ssize_t rows, columns, row_step, column_step; /* steps in bytes */
} Table;

typedef struct {
    Table tables[TABLES_MAX];
    Py_buffer *held[TABLES_MAX + FLAGS_MAX]; /* by those that were opened, in order */
    int open;
    Py_ssize_t count; /* of rows in `out` */
    int64_t *out;
    int is_all; /* whether every row is meant, so that `rows` does not count */
} Request;

/* What a pod asks for: `column` in the tables, and what the rule needs to know about it. */
typedef struct {
    int64_t column, amount, first, second;
} Amount;

static inline int64_t item(const Table *table, Py_ssize_t row, Py_ssize_t column)
{
    return *(const int64_t *)(table->data + row * table->row_step + column * table->column_step);
}

static inline Py_ssize_t row_at(const Request *request, Py_ssize_t place)
{
    return request->is_all ? place : (Py_ssize_t)item(&request->tables[ROWS], place, 0);
}

static int open_buffer(Request *request, PyObject *array, Py_buffer *buffer, int flags, Py_ssize_t itemsize)
{
    if (PyObject_GetBuffer(array, buffer, PyBUF_STRIDES | flags) < 0)
        return -1;
    request->held[request->open++] = buffer;
    if (buffer->itemsize != itemsize || buffer->ndim < 1 || buffer->ndim > 2) {
        PyErr_SetString(PyExc_ValueError, "expected int64 arrays of one or two dimensions");
        return -1;
    }
    return 0;
}

static int open_table(Request *request, int slot, PyObject *array, int flags)
{
    Table *table = &request->tables[slot];
    const Py_buffer *buffer = &table->buffer;
    if (open_buffer(request, array, &table->buffer, flags, sizeof(int64_t)) < 0)
        return -1;
    table->data = buffer->buf;
    table->rows = buffer->shape[0];
    table->row_step = buffer->strides[0];
    table->columns = buffer->ndim == 2 ? buffer->shape[1] : 1;
    table->column_step = buffer->ndim == 2 ? buffer->strides[1] : 0;
    return 0;
}

static void close_request(Request *request)
{
    while (request->open)
        PyBuffer_Release(request->held[--request->open]);
}

static int has_length(const Request *request, int slot, Py_ssize_t length)
{
    if (request->tables[slot].rows == length)
        return 1;
    PyErr_SetString(PyExc_IndexError, "a row is outside of a table");
    return 0;
}

static int check_rows(const Request *request, Py_ssize_t length)
{
    int outside = request->is_all && request->count != length;
    for (Py_ssize_t place = 0; !request->is_all && place < request->count; place++)
        outside |= (uint64_t)row_at(request, place) >= (uint64_t)length;
    if (outside)
        PyErr_SetString(PyExc_IndexError, "a row is outside of a table");
    return outside ? -1 : 0;
}

static int open_answers(Request *request, PyObject *out, PyObject *rows)
{
    request->is_all = rows == Py_None;
    if (open_table(request, OUT, out, PyBUF_WRITABLE) < 0)
        return -1;
    const Table *answers = &request->tables[OUT];
    request->out = (int64_t *)answers->data;
    request->count = answers->rows;
    if (!request->is_all && open_table(request, ROWS, rows, 0) < 0)
        return -1;
    if (answers->row_step == sizeof(int64_t) && (request->is_all || request->tables[ROWS].rows == answers->rows))
        return 0;
    PyErr_SetString(PyExc_ValueError, "out must be contiguous and as long as rows");
    return -1;
}

/* Opens tables of the same length, in these slots. */
static int open_tables(Request *request, PyObject *const *arguments, const int *slots, int tables)
{
    for (int each = 0; each < tables; each++) {
        if (open_table(request, slots[each], arguments[each], 0) < 0)
            return -1;
        if (!has_length(request, slots[each], request->tables[slots[0]].rows))
            return -1;
    }
    return check_rows(request, request->tables[slots[0]].rows);
}

/* Opens (out, rows or None, tables...). On failure everything is closed again. */
static int open_request(Request *request, PyObject *const *arguments, const int *slots, int tables)
{
    request->open = 0;
    if (open_answers(request, arguments[0], arguments[1]) == 0
        && open_tables(request, arguments + 2, slots, tables) == 0)
        return 0;
    close_request(request);
    return -1;
}

static int expects_tuple(PyObject *given)
{
    if (!PyTuple_Check(given))
        PyErr_SetString(PyExc_TypeError, "expected a tuple of tuples");
    return PyTuple_Check(given);
}

/* Reads a tuple of tuples, each with a column, an amount and what else the rule needs. Returns how many.
 * With a tuple of what is `asked` for, each has a place in there instead of an amount. */
static int read_amounts(PyObject *tuples, PyObject *asked, int rule, const Request *request, Amount *amounts)
{
    Py_ssize_t start = rule == FIT_CODES; /* after the name of the resource */
    Py_ssize_t extra = rule == FIT_CODES ? 2 : rule != BALANCED;
    const Table *allocatable = &request->tables[ALLOCATABLE], *requested = &request->tables[REQUESTED];
    Py_ssize_t columns = allocatable->columns < requested->columns ? allocatable->columns : requested->columns;
    if (!expects_tuple(tuples))
        return -1;
    Py_ssize_t count = PyTuple_Size(tuples);
    if (count > RESOURCES_MAX)
        PyErr_SetString(PyExc_ValueError, "too many resources");
    for (Py_ssize_t each = 0; !PyErr_Occurred() && each < count; each++) {
        int64_t numbers[4] = {0};
        PyObject *entry = PyTuple_GetItem(tuples, each);
        if (!expects_tuple(entry))
            return -1;
        for (Py_ssize_t position = 0; position < 2 + extra; position++) {
            PyObject *number = PyTuple_GetItem(entry, start + position);
            numbers[position] = number ? PyLong_AsLongLong(number) : 0;
        }
        if (asked && !PyErr_Occurred()) {
            PyObject *amount = PyTuple_GetItem(asked, (Py_ssize_t)numbers[1]);
            numbers[1] = amount ? PyLong_AsLongLong(amount) : 0;
        }
        amounts[each] = (Amount){numbers[0], numbers[1], numbers[2], numbers[3]};
        if (!PyErr_Occurred() && (numbers[0] < 0 || numbers[0] >= columns))
            PyErr_SetString(PyExc_IndexError, "a resource is outside of the tables");
    }
    return PyErr_Occurred() ? -1 : (int)count;
}

static int expects(Py_ssize_t given, Py_ssize_t expected)
{
    if (given != expected)
        PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", expected, given);
    return given == expected;
}

/* ---------------------------------------------------------------- a block of rows */

/* Up to BLOCK rows of those in question. */
typedef struct {
    const Request *request;
    Py_ssize_t first;
    int count;
    int64_t *out;
} Block;

static Block block_from(const Request *request, Py_ssize_t first)
{
    Py_ssize_t left = request->count - first;
    return (Block){request, first, left < BLOCK ? (int)left : BLOCK, request->out ? request->out + first : NULL};
}

/* One by one, as many CPUs have instructions for this that are slower. */
static void gather(int count, const int64_t *restrict rows, const int64_t *restrict amounts, int64_t *restrict out)
{
    for (int place = 0; place < count; place++)
        out[place] = amounts[rows[place]];
}

/* The amounts in a column: where they lie, if they lie side by side, else gathered in `space`. */
static const int64_t *amounts_in(Block block, int table, int64_t column, int64_t *space)
{
    const Request *request = block.request;
    const Table *from = &request->tables[table], *rows = &request->tables[ROWS];
    const char *data = from->data + column * from->column_step;
    int side_by_side = from->row_step == sizeof(int64_t);
    if (request->is_all && side_by_side)
        return (const int64_t *)data + block.first;
    if (side_by_side && rows->row_step == sizeof(int64_t))
        gather(block.count, (const int64_t *)rows->data + block.first, (const int64_t *)data, space);
    else
        for (int place = 0; place < block.count; place++)
            space[place] = *(const int64_t *)(data + row_at(request, block.first + place) * from->row_step);
    return space;
}

/* Amounts as doubles, and what rules need to know about all of them. */
typedef struct {
    uint64_t bits;        /* of all amounts: they show whether any is negative or too large */
    int64_t all_positive; /* 0 or -1 */
} Seen;

/* Below 2**52 an integer is the fraction of a double that is 2**52 larger: quicker than converting. */
INLINED double as_double(int64_t amount)
{
    const union { uint64_t bits; double value; } offset = {UINT64_C(0x4330000000000000)};
    const union { uint64_t bits; double value; } shifted = {(uint64_t)amount | offset.bits};
    return shifted.value - offset.value;
}

FASTEST_FOR_THIS_CPU static Seen to_doubles(int count, const int64_t *restrict amounts, double *restrict doubles)
{
    uint64_t bits = 0;
    int64_t all_positive = -1;
    for (int place = 0; place < count; place++) {
        bits |= (uint64_t)amounts[place];
        all_positive &= -(int64_t)(amounts[place] > 0);
        doubles[place] = as_double(amounts[place]);
    }
    return (Seen){bits, all_positive};
}

/* Columns of a block as doubles, converted once however many rules read them. No rule reads more than four at a time,
 * so those stay while they are needed. */
enum { GATHERED_MAX = 8 };
typedef struct {
    Block block;
    int next; /* how many were converted; they take turns */
    int tables[GATHERED_MAX];
    int64_t columns[GATHERED_MAX];
    Seen seen[GATHERED_MAX];
    double doubles[GATHERED_MAX][BLOCK];
} Gathered;

static const double *doubles_in(Gathered *gathered, int table, int64_t column, Seen *seen)
{
    int known = gathered->next < GATHERED_MAX ? gathered->next : GATHERED_MAX, place = 0;
    while (place < known && (gathered->tables[place] != table || gathered->columns[place] != column))
        place++;
    if (place == known) {
        int64_t space[BLOCK];
        place = gathered->next++ % GATHERED_MAX;
        gathered->tables[place] = table;
        gathered->columns[place] = column;
        gathered->seen[place] = to_doubles(
            gathered->block.count, amounts_in(gathered->block, table, column, space), gathered->doubles[place]);
    }
    seen->bits |= gathered->seen[place].bits;
    seen->all_positive &= gathered->seen[place].all_positive;
    return gathered->doubles[place];
}

/* ---------------------------------------------------------------- NodeResourcesFit: filter */

FASTEST_FOR_THIS_CPU static void find_full(int count, const int64_t *restrict allowed, const int64_t *restrict pods,
                                           int64_t *restrict codes)
{
    for (int place = 0; place < count; place++)
        codes[place] = pods[place] >= allowed[place] ? TOO_MANY_PODS_BIT : 0;
}

FASTEST_FOR_THIS_CPU static void find_short(int count, const int64_t *restrict allocatable,
                                            const int64_t *restrict requested, Amount demand,
                                            int64_t *restrict codes)
{
    for (int place = 0; place < count; place++) {
        int64_t capacity = allocatable[place];
        int64_t free = (int64_t)((uint64_t)capacity - (uint64_t)requested[place]);
        int64_t code = (free < demand.amount ? demand.first : 0) | (capacity < demand.amount ? UNRESOLVABLE_BIT : 0);
        codes[place] |= demand.second && capacity == 0 ? 0 : code; /* devices may do instead */
    }
}

static void fit_codes_of(Block block, const Amount *demands, int count, int64_t *codes)
{
    int64_t space[2][BLOCK];
    find_full(block.count, amounts_in(block, ALLOWED_PODS, 0, space[0]), amounts_in(block, POD_COUNTS, 0, space[1]),
              codes);
    for (int each = 0; each < count; each++) {
        int64_t column = demands[each].column;
        find_short(block.count, amounts_in(block, ALLOCATABLE, column, space[0]),
                   amounts_in(block, REQUESTED, column, space[1]), demands[each], codes);
    }
}

/* fit_codes(out, rows, allocatable, requested, allowed_pods, pod_counts, demands)
 * demands: (name, column, amount, bit, may be devices) each */
static PyObject *fit_codes(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    static const int SLOTS[] = {ALLOCATABLE, REQUESTED, ALLOWED_PODS, POD_COUNTS};
    Request request;
    Amount demands[RESOURCES_MAX];
    if (!expects(given, 7) || open_request(&request, arguments, SLOTS, 4) < 0)
        return NULL;
    int count = read_amounts(arguments[6], NULL, FIT_CODES, &request, demands);
    for (Py_ssize_t first = 0; count >= 0 && first < request.count; first += BLOCK)
        fit_codes_of(block_from(&request, first), demands, count, request.out + first);
    close_request(&request);
    return count < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---------------------------------------------------------------- NodeResourcesFit: score */

/* As Go computes it: a product that is too large wraps around, a quotient is truncated. */
static int64_t percentage(int64_t part, int64_t capacity)
{
    return (int64_t)((uint64_t)part * 100) / capacity;
}

/* The table that says how much of a resource pods take: of cpu and memory, not less than the scheduler assumes. */
static int taken_in(int64_t column)
{
    return column < 2 ? NONZERO_REQUESTED : REQUESTED;
}

static int64_t fit_score(const Request *request, Py_ssize_t row, const Amount *scored, int count, int most)
{
    int64_t total = 0, weights = 0;
    for (int each = 0; each < count; each++) {
        int64_t column = scored[each].column, capacity = item(&request->tables[ALLOCATABLE], row, column);
        if (capacity <= 0)
            continue;
        const Table *taken = &request->tables[taken_in(column)];
        int64_t needed = (int64_t)((uint64_t)item(taken, row, column) + (uint64_t)scored[each].amount);
        int64_t part = most ? (needed < capacity ? needed : capacity) : (needed < capacity ? capacity - needed : 0);
        total += percentage(part, capacity) * scored[each].first;
        weights += scored[each].first;
    }
    return weights ? total / weights : 0;
}

FASTEST_FOR_THIS_CPU static void add_percentages(int count, const double *restrict capacities,
                                                 const double *restrict taken, double request, double weight, int most,
                                                 double *restrict totals, double *restrict weights)
{
    for (int place = 0; place < count; place++) {
        double capacity = capacities[place], needed = taken[place] + request;
        needed = needed < capacity ? needed : capacity;
        double part = most ? needed : capacity - needed;
        double counts = capacity > 0.0 ? weight : 0.0;
        double divisor = capacity > 0.0 ? capacity : 1.0;
        totals[place] += counts * (double)(int32_t)(part * 100.0 / divisor);
        weights[place] += counts;
    }
}

FASTEST_FOR_THIS_CPU static void divide(int count, const double *restrict totals, const double *restrict weights,
                                        int64_t *restrict out)
{
    for (int place = 0; place < count; place++)
        out[place] = (int32_t)(totals[place] / (weights[place] > 0.0 ? weights[place] : 1.0));
}

/* The same where all weights are equal. No quotient with a half added lies close to a whole number, so that to multiply
 * is as good as to divide, and faster. */
FASTEST_FOR_THIS_CPU static void divide_all(int count, const double *restrict totals, double weight,
                                            int64_t *restrict out)
{
    double inverse = 1.0 / weight;
    for (int place = 0; place < count; place++)
        out[place] = (int32_t)((totals[place] + 0.5) * inverse);
}

static void fit_scores_of(Gathered *gathered, const Amount *scored, int count, int most, int64_t *out)
{
    Block block = gathered->block;
    double totals[BLOCK], weights[BLOCK], weight = 0.0;
    Seen capacity = {0, -1}, use = {0, -1};
    for (int place = 0; place < block.count; place++)
        totals[place] = weights[place] = 0.0;
    for (int each = 0; each < count && !((capacity.bits | use.bits) >> EXACT_BITS); each++) {
        int64_t column = scored[each].column;
        use.bits |= (uint64_t)scored[each].amount | (uint64_t)scored[each].first;
        const double *capacities = doubles_in(gathered, ALLOCATABLE, column, &capacity);
        const double *taken = doubles_in(gathered, taken_in(column), column, &use);
        weight += (double)scored[each].first;
        add_percentages(block.count, capacities, taken, (double)scored[each].amount, (double)scored[each].first, most,
                        totals, weights);
    }
    if ((capacity.bits | use.bits) >> EXACT_BITS)
        for (int place = 0; place < block.count; place++)
            out[place] = fit_score(block.request, row_at(block.request, block.first + place), scored, count, most);
    else if (capacity.all_positive && weight > 0.0 && weight < (double)INT32_MAX)
        divide_all(block.count, totals, weight, out);
    else
        divide(block.count, totals, weights, out);
}

/* fit_scores(out, rows, allocatable, requested, nonzero_requested, scored, most)
 * scored: (column, request, weight) each */
static PyObject *fit_scores(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    static const int SLOTS[] = {ALLOCATABLE, REQUESTED, NONZERO_REQUESTED};
    Request request;
    Amount scored[RESOURCES_MAX];
    if (!expects(given, 7) || open_request(&request, arguments, SLOTS, 3) < 0)
        return NULL;
    if (request.tables[NONZERO_REQUESTED].columns < 2) {
        PyErr_SetString(PyExc_ValueError, "nonzero_requested has cpu and memory");
        close_request(&request);
        return NULL;
    }
    int most = PyObject_IsTrue(arguments[6]);
    int count = read_amounts(arguments[5], NULL, LEAST_ALLOCATED, &request, scored);
    for (Py_ssize_t first = 0; count >= 0 && first < request.count; first += BLOCK) {
        Gathered gathered;
        gathered.block = block_from(&request, first);
        gathered.next = 0;
        fit_scores_of(&gathered, scored, count, most, request.out + first);
    }
    close_request(&request);
    return count < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---------------------------------------------------------------- NodeResourcesBalancedAllocation: score */

/* 100 when all shares are equal, less the more they differ; truncated. The order of operations is upstream's. */
static int64_t evenness(const double *shares, int count)
{
    double deviation = 0.0;
    if (count == 2) {
        deviation = fabs(shares[0] - shares[1]) * 0.5;
    } else {
        double sum = 0.0, squares = 0.0;
        for (int each = 0; each < count; each++)
            sum += shares[each];
        double mean = sum / count;
        for (int each = 0; each < count; each++)
            squares += (shares[each] - mean) * (shares[each] - mean);
        deviation = sqrt(squares / count);
    }
    return (int64_t)((1.0 - deviation) * 100.0);
}

static double share_of(int64_t used, int64_t capacity)
{
    double share = (double)used / (double)capacity;
    return share < 1.0 ? share : 1.0;
}

static int64_t balance_score(const Request *request, Py_ssize_t row, const Amount *scored, int count)
{
    double after[RESOURCES_MAX], before[RESOURCES_MAX];
    int offered = 0;
    for (int each = 0; each < count; each++) {
        int64_t capacity = item(&request->tables[ALLOCATABLE], row, scored[each].column);
        if (capacity <= 0)
            continue;
        int64_t used = item(&request->tables[REQUESTED], row, scored[each].column);
        after[offered] = share_of((int64_t)((uint64_t)used + (uint64_t)scored[each].amount), capacity);
        before[offered++] = share_of(used, capacity);
    }
    if (offered < 2)
        return UNCHANGED_SCORE;
    return (evenness(after, offered) - evenness(before, offered) + DOUBLE_START) >> 1;
}

static inline double at_most_one(double share)
{
    return share < 1.0 ? share : 1.0;
}

/* Of two resources that every node of the block offers, by far the most frequent case. */
FASTEST_FOR_THIS_CPU static void balance_of_two(int count, const double *restrict capacities,
                                                const double *restrict other_capacities, const double *restrict used,
                                                const double *restrict other_used, double request,
                                                double other_request, int64_t *restrict out)
{
    for (int place = 0; place < count; place++) {
        double capacity = capacities[place], other = other_capacities[place];
        double after = at_most_one((used[place] + request) / capacity)
                       - at_most_one((other_used[place] + other_request) / other);
        double before = at_most_one(used[place] / capacity) - at_most_one(other_used[place] / other);
        int32_t even_after = (int32_t)((1.0 - fabs(after) * 0.5) * 100.0);
        int32_t even_before = (int32_t)((1.0 - fabs(before) * 0.5) * 100.0);
        out[place] = (even_after - even_before + (int32_t)DOUBLE_START) >> 1;
    }
}

static void balance_scores_of(Gathered *gathered, const Amount *scored, int count, int64_t *out)
{
    Block block = gathered->block;
    if (count == 2) {
        const double *capacities[2], *used[2];
        Seen capacity = {0, -1}, use = {(uint64_t)scored[0].amount | (uint64_t)scored[1].amount, -1};
        for (int each = 0; each < 2; each++) {
            capacities[each] = doubles_in(gathered, ALLOCATABLE, scored[each].column, &capacity);
            used[each] = doubles_in(gathered, REQUESTED, scored[each].column, &use);
        }
        if (capacity.all_positive && !((capacity.bits | use.bits) >> EXACT_BITS)) {
            balance_of_two(block.count, capacities[0], capacities[1], used[0], used[1], (double)scored[0].amount,
                           (double)scored[1].amount, out);
            return;
        }
    }
    for (int place = 0; place < block.count; place++)
        out[place] = balance_score(block.request, row_at(block.request, block.first + place), scored, count);
}

/* balance_scores(out, rows, allocatable, requested, scored)
 * scored: (column, request, weight) each; the weight does not count */
static PyObject *balance_scores(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    static const int SLOTS[] = {ALLOCATABLE, REQUESTED};
    Request request;
    Amount scored[RESOURCES_MAX];
    if (!expects(given, 5) || open_request(&request, arguments, SLOTS, 2) < 0)
        return NULL;
    int count = read_amounts(arguments[4], NULL, BALANCED, &request, scored);
    for (Py_ssize_t first = 0; count >= 0 && first < request.count; first += BLOCK) {
        Gathered gathered;
        gathered.block = block_from(&request, first);
        gathered.next = 0;
        balance_scores_of(&gathered, scored, count, request.out + first);
    }
    close_request(&request);
    return count < 0 ? NULL : Py_NewRef(Py_None);
}

/* ---------------------------------------------------------------- all of them together */

/* A rule of a plugin, as it applies to a pod. */
typedef struct {
    int rule, count;
    int64_t weight; /* of a score */
    Amount amounts[RESOURCES_MAX];
} Step;

/* Reads a tuple of (rule, weight, amounts). Returns how many. */
static int read_steps(PyObject *tuples, PyObject *asked, const Request *request, Step *steps)
{
    if (!expects_tuple(tuples))
        return -1;
    Py_ssize_t count = PyTuple_Size(tuples);
    if (count > STEPS_MAX)
        PyErr_SetString(PyExc_ValueError, "too many steps");
    for (Py_ssize_t each = 0; !PyErr_Occurred() && each < count; each++) {
        PyObject *entry = PyTuple_GetItem(tuples, each);
        if (!expects_tuple(entry))
            return -1;
        if (PyTuple_Size(entry) != 3) {
            PyErr_SetString(PyExc_ValueError, "a step has a rule, a weight and amounts");
            return -1;
        }
        long rule = PyLong_AsLong(PyTuple_GetItem(entry, 0));
        steps[each].weight = PyLong_AsLongLong(PyTuple_GetItem(entry, 1));
        if (PyErr_Occurred())
            return -1;
        if (rule < 0 || rule >= RULES) {
            PyErr_SetString(PyExc_ValueError, "there is no such rule");
            return -1;
        }
        steps[each].rule = (int)rule;
        steps[each].count = read_amounts(PyTuple_GetItem(entry, 2), asked, (int)rule, request, steps[each].amounts);
    }
    return PyErr_Occurred() ? -1 : (int)count;
}

/* Finds the columns of what pods take in the one table that has them all. */
static int split_taken(Request *request)
{
    const Table *taken = &request->tables[TAKEN];
    static const int PARTS[] = {POD_COUNTS, NONZERO_REQUESTED, REQUESTED};
    static const Py_ssize_t STARTS[] = {0, 1, 3};
    if (taken->columns < 3) {
        PyErr_SetString(PyExc_ValueError, "taken has pods, and cpu and memory twice");
        return -1;
    }
    for (int each = 0; each < 3; each++) {
        Table *part = &request->tables[PARTS[each]];
        part->data = taken->data + STARTS[each] * taken->column_step;
        part->rows = taken->rows;
        part->row_step = taken->row_step;
        part->column_step = taken->column_step;
        part->columns = taken->columns - STARTS[each];
    }
    return 0;
}

/* A byte for each row. */
typedef struct {
    Py_buffer buffer;
    signed char *data;
    Py_ssize_t step;
} Flags;

static inline signed char *flag_of(const Flags *flags, Py_ssize_t row)
{
    return flags->data + row * flags->step;
}

static int open_flags(Request *request, Flags *flags, PyObject *array, int access)
{
    if (open_buffer(request, array, &flags->buffer, access, 1) < 0)
        return -1;
    flags->data = flags->buffer.buf;
    flags->step = flags->buffer.strides[0];
    if (flags->buffer.ndim == 1 && flags->buffer.shape[0] == request->tables[ALLOCATABLE].rows)
        return 0;
    PyErr_SetString(PyExc_IndexError, "a row is outside of a table");
    return -1;
}

FASTEST_FOR_THIS_CPU static void add_weighted(int count, const int64_t *restrict scores, int64_t weight,
                                              int64_t *restrict totals)
{
    if (weight == 1)
        for (int place = 0; place < count; place++)
            totals[place] += scores[place];
    else
        for (int place = 0; place < count; place++)
            totals[place] += scores[place] * weight;
}

FASTEST_FOR_THIS_CPU static void add_codes(int count, const int64_t *restrict codes, int64_t *restrict rejected)
{
    for (int place = 0; place < count; place++)
        rejected[place] |= codes[place];
}

/* Totals become places in a ranking. Returns the highest. */
FASTEST_FOR_THIS_CPU static int64_t to_places(int count, const int64_t *restrict totals,
                                              const int64_t *restrict rejected, const int64_t *restrict name_ranks,
                                              int bits, int64_t *restrict out, int64_t *feasible)
{
    int64_t highest = NOT_FEASIBLE, passed = 0;
    for (int place = 0; place < count; place++) {
        int64_t passes = -(int64_t)(rejected[place] == 0); /* all bits, or none */
        int64_t value = (int64_t)((uint64_t)totals[place] << bits) - name_ranks[place];
        out[place] = (value & passes) | (NOT_FEASIBLE & ~passes);
        passed -= passes;
    }
    for (int place = 0; place < count; place++)
        highest = out[place] > highest ? out[place] : highest;
    *feasible += passed;
    return highest;
}

FASTEST_FOR_THIS_CPU static void copy_flags(int count, const signed char *restrict flags, int64_t *restrict out)
{
    for (int place = 0; place < count; place++)
        out[place] = flags[place];
}

static void flags_of(Block block, const Flags *flags, int64_t *out)
{
    if (block.request->is_all && flags->step == 1)
        copy_flags(block.count, flags->data + block.first, out);
    else
        for (int place = 0; place < block.count; place++)
            out[place] = *flag_of(flags, row_at(block.request, block.first + place));
}

/* What most pods come to: a filter and two scores that look at cpu and memory alone. */
typedef struct {
    double demands[2];               /* below what any node has, where the pod asks for nothing */
    double scored[2], shares[2];     /* requests as each of the scores sees them */
    double weights[2], total_weight; /* of cpu and memory in the first score */
    double of_fit, of_balance;       /* weights of the scores */
} Usual;

/* What `appraise` is given besides tables, and what it finds. */
typedef struct {
    Step steps[STEPS_MAX];
    int count, bits, has_lasting, is_usual;
    Usual usual;
    Flags settled; /* the rows that are rejected whatever runs there */
    int64_t feasible;
} Appraisal;

static int are_cpu_and_memory(const Step *step)
{
    return step->count == 2 && step->amounts[0].column == 0 && step->amounts[1].column == 1;
}

/* Whether the steps are of that kind, with amounts that doubles hold. */
static int find_usual(const Appraisal *appraisal, Usual *usual)
{
    enum { WEIGHT_BITS = 20 };
    const Step *fit = &appraisal->steps[0], *score = &appraisal->steps[1], *balance = &appraisal->steps[2];
    if (appraisal->count != 3 || fit->rule != FIT_CODES || score->rule != LEAST_ALLOCATED || balance->rule != BALANCED
        || !are_cpu_and_memory(score) || !are_cpu_and_memory(balance))
        return 0;
    uint64_t amounts = 0, weights = (uint64_t)score->weight | (uint64_t)balance->weight;
    *usual = (Usual){.demands = {-INFINITY, -INFINITY}, .of_fit = (double)score->weight,
                     .of_balance = (double)balance->weight};
    for (int each = 0; each < 2; each++) {
        usual->scored[each] = (double)score->amounts[each].amount;
        usual->shares[each] = (double)balance->amounts[each].amount;
        usual->weights[each] = (double)score->amounts[each].first;
        usual->total_weight += usual->weights[each];
        amounts |= (uint64_t)score->amounts[each].amount | (uint64_t)balance->amounts[each].amount;
        weights |= (uint64_t)score->amounts[each].first;
    }
    for (int each = 0; each < fit->count; each++) {
        const Amount *demand = &fit->amounts[each];
        if (demand->column > 1 || demand->second)
            return 0;
        usual->demands[demand->column] = fmax(usual->demands[demand->column], (double)demand->amount);
        amounts |= (uint64_t)demand->amount;
    }
    return usual->total_weight > 0.0 && !(amounts >> EXACT_BITS) && !(weights >> WEIGHT_BITS);
}

/* Where the columns of a block begin that count for most pods. */
typedef struct {
    const int64_t *capacities[2], *requested[2], *nonzero[2], *allowed_pods, *pods, *lasting, *name_ranks;
    const int64_t *settled;
} Columns;

INLINED int64_t whole(double amount) /* the way back from as_double */
{
    const union { uint64_t bits; double value; } offset = {UINT64_C(0x4330000000000000)};
    const union { double value; uint64_t bits; } shifted = {amount + offset.value};
    return (int64_t)(shifted.bits ^ offset.bits);
}

/* The quotient of whole numbers below 2**53 and 2**45, rounded as a division rounds it. `inverse` is 1 / whole, so
 * that `close` is off by two units in the last place at most, and what is left of `part` then is a number that a
 * double holds. Added to `close` it gives the quotient but for less than 2**-46 of a unit, which is nearer than any
 * such quotient comes to where rounding turns. */
INLINED double ratio(int fused, double part, double whole, double inverse)
{
    if (!fused)
        return part / whole;
    double close = part * inverse;
    return fma(fma(-whole, close, part), inverse, close);
}

/* factor * other + more, where it makes no difference whether the product is rounded: mostly both are whole numbers. */
INLINED double product_and(int fused, double factor, double other, double more)
{
    return fused ? fma(factor, other, more) : factor * other + more;
}

INLINED double not_above(double amount, double capacity)
{
    return amount < capacity ? amount : capacity;
}

INLINED double free_percentage(int fused, double taken, double capacity, double inverse)
{
    return floor(ratio(fused, (capacity - not_above(taken, capacity)) * 100.0, capacity, inverse));
}

/* What a node has of cpu and memory, with inverses for `ratio`. */
typedef struct {
    double cpu, memory, per_cpu, per_memory;
} Capacity;

INLINED double evenness_of_two(int fused, double cpu, double memory, const Capacity *of)
{
    double share = ratio(fused, not_above(cpu, of->cpu), of->cpu, of->per_cpu);
    double other_share = ratio(fused, not_above(memory, of->memory), of->memory, of->per_memory);
    return floor(product_and(fused, fabs(share - other_share), -0.5, 1.0) * 100.0);
}

/* All of it in one pass. Returns the highest value; `seen` says whether the amounts allow it. */
INLINED int64_t appraise_usual_with(int fused, int count, const Columns *columns, const Usual *usual, int bits,
                                    int64_t *restrict out, int64_t *feasible, Seen *seen)
{
    const int64_t *restrict cpu = columns->capacities[0], *restrict memory = columns->capacities[1];
    const int64_t *restrict cpu_requested = columns->requested[0], *restrict memory_requested = columns->requested[1];
    const int64_t *restrict cpu_nonzero = columns->nonzero[0], *restrict memory_nonzero = columns->nonzero[1];
    const int64_t *restrict allowed = columns->allowed_pods, *restrict pods = columns->pods;
    const int64_t *restrict lasting = columns->lasting, *restrict name_ranks = columns->name_ranks;
    const int64_t *restrict settled = columns->settled;
    const double inverse_weight = 1.0 / usual->total_weight, half = 0.5 * inverse_weight;
    uint64_t all_bits = 0;
    int64_t all_positive = -1, highest = NOT_FEASIBLE, passed = 0;
    for (int place = 0; place < count; place++) {
        Capacity has = {.cpu = as_double(cpu[place]), .memory = as_double(memory[place])};
        has.per_cpu = fused ? 1.0 / has.cpu : 0.0;
        has.per_memory = fused ? 1.0 / has.memory : 0.0;
        double used = as_double(cpu_requested[place]), other_used = as_double(memory_requested[place]);
        double taken = as_double(cpu_nonzero[place]) + usual->scored[0];
        double other_taken = as_double(memory_nonzero[place]) + usual->scored[1];
        all_bits |= (uint64_t)(cpu[place] | memory[place] | cpu_requested[place] | memory_requested[place]
                               | cpu_nonzero[place] | memory_nonzero[place]);
        /* A node that has left offers nothing, and what comes out for it is not used. */
        all_positive &= -(int64_t)((settled[place] != 0) | ((cpu[place] > 0) & (memory[place] > 0)));
        double of_memory = usual->weights[1] * free_percentage(fused, other_taken, has.memory, has.per_memory);
        double total = product_and(fused, usual->weights[0],
                                   free_percentage(fused, taken, has.cpu, has.per_cpu), of_memory);
        double fit = floor(product_and(fused, total, inverse_weight, half)); /* see divide_all */
        double after = evenness_of_two(fused, used + usual->shares[0], other_used + usual->shares[1], &has);
        double before = evenness_of_two(fused, used, other_used, &has);
        double balance = floor((after - before + (double)DOUBLE_START) * 0.5);
        int64_t score = whole(product_and(fused, fit, usual->of_fit, balance * usual->of_balance)) + lasting[place];
        int64_t passes = -(int64_t)((settled[place] == 0) & (pods[place] < allowed[place])
                                    & (has.cpu - used >= usual->demands[0])
                                    & (has.memory - other_used >= usual->demands[1]));
        int64_t value = (int64_t)((uint64_t)score << bits) - name_ranks[place];
        value = (value & passes) | (NOT_FEASIBLE & ~passes);
        out[place] = value;
        highest = value > highest ? value : highest;
        passed -= passes;
    }
    *feasible = passed;
    *seen = (Seen){all_bits, all_positive};
    return highest;
}

typedef int64_t AppraiseUsual(int, const Columns *, const Usual *, int, int64_t *restrict, int64_t *, Seen *);

#define APPRAISE_USUAL_AS(name, fused) \
    static int64_t name(int count, const Columns *columns, const Usual *usual, int bits, int64_t *restrict out, \
                        int64_t *feasible, Seen *seen) \
    { \
        return appraise_usual_with(fused, count, columns, usual, bits, out, feasible, seen); \
    }

APPRAISE_USUAL_AS(appraise_usual_plain, 0)
#ifdef HAS_VARIANTS
/* Only where multiplying and adding is one instruction does it take less time than dividing. */
__attribute__((target("avx2,fma"))) APPRAISE_USUAL_AS(appraise_usual_256, 1)
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"))) APPRAISE_USUAL_AS(appraise_usual_512, 1)
#endif

enum { VARIANTS = 3 };
static AppraiseUsual *appraise_usual;

/* The slowest is 0. Returns whether this CPU has it. */
static int take_variant(long variant)
{
    AppraiseUsual *found = variant == 0 ? appraise_usual_plain : NULL;
#ifdef HAS_VARIANTS
    if (variant == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found = appraise_usual_256;
    if (variant == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
        found = appraise_usual_512;
#endif
    appraise_usual = found ? found : appraise_usual;
    return found != NULL;
}

/* use_variant(variant) -> whether this CPU has that one; for tests, which compare them */
static PyObject *use_variant(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    if (!expects(given, 1))
        return NULL;
    long variant = PyLong_AsLong(arguments[0]);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(take_variant(variant));
}

/* Returns 0 if the amounts do not allow it. */
static int appraise_as_usual(Block block, Appraisal *appraisal, const int64_t *settled, int64_t *highest)
{
    static const int64_t NOTHING[BLOCK];
    int64_t space[10][BLOCK], feasible;
    Seen seen;
    Columns columns = {
        .allowed_pods = amounts_in(block, ALLOWED_PODS, 0, space[0]),
        .pods = amounts_in(block, POD_COUNTS, 0, space[1]),
        .lasting = appraisal->has_lasting ? amounts_in(block, LASTING, 0, space[2]) : NOTHING,
        .name_ranks = amounts_in(block, NAME_RANKS, 0, space[3]),
        .settled = settled,
    };
    for (int each = 0; each < 2; each++) {
        columns.capacities[each] = amounts_in(block, ALLOCATABLE, each, space[4 + each]);
        columns.requested[each] = amounts_in(block, REQUESTED, each, space[6 + each]);
        columns.nonzero[each] = amounts_in(block, NONZERO_REQUESTED, each, space[8 + each]);
    }
    *highest = appraise_usual(block.count, &columns, &appraisal->usual, appraisal->bits,
                              block.out, &feasible, &seen);
    if (!seen.all_positive || seen.bits >> EXACT_BITS)
        return 0;
    appraisal->feasible += feasible;
    return 1;
}

static int64_t appraise_step_by_step(Block block, Appraisal *appraisal, const int64_t *settled)
{
    int64_t totals[BLOCK], rejected[BLOCK], scores[BLOCK];
    Gathered gathered;
    gathered.block = block;
    gathered.next = 0;
    const int64_t *lasting = appraisal->has_lasting ? amounts_in(block, LASTING, 0, scores) : NULL;
    for (int place = 0; place < block.count; place++) {
        totals[place] = lasting ? lasting[place] : 0;
        rejected[place] = settled[place];
    }
    for (int each = 0; each < appraisal->count; each++) {
        const Step *step = &appraisal->steps[each];
        if (step->rule == FIT_CODES) {
            fit_codes_of(block, step->amounts, step->count, scores);
            add_codes(block.count, scores, rejected);
            continue;
        }
        if (step->rule == BALANCED)
            balance_scores_of(&gathered, step->amounts, step->count, scores);
        else
            fit_scores_of(&gathered, step->amounts, step->count, step->rule == MOST_ALLOCATED, scores);
        add_weighted(block.count, scores, step->weight, totals);
    }
    return to_places(block.count, totals, rejected, amounts_in(block, NAME_RANKS, 0, scores), appraisal->bits,
                     block.out, &appraisal->feasible);
}

static int64_t appraise_block(Block block, Appraisal *appraisal)
{
    int64_t settled[BLOCK], highest;
    flags_of(block, &appraisal->settled, settled);
    if (!appraisal->is_usual || !appraise_as_usual(block, appraisal, settled, &highest))
        highest = appraise_step_by_step(block, appraisal, settled);
    return highest;
}

static Py_ssize_t first_of(const int64_t *values, int64_t value)
{
    Py_ssize_t place = 0;
    while (values[place] != value)
        place++;
    return place;
}

/* Reads (settled, lasting or None, steps, bits). */
static int open_appraisal(Request *request, Appraisal *appraisal, PyObject *const *arguments, PyObject *asked)
{
    long bits = PyLong_AsLong(arguments[3]);
    if (PyErr_Occurred())
        return -1;
    if (bits < 0 || bits > 62) {
        PyErr_SetString(PyExc_ValueError, "expected less than 63 bits");
        return -1;
    }
    appraisal->bits = (int)bits;
    appraisal->has_lasting = arguments[1] != Py_None;
    appraisal->feasible = 0;
    if (split_taken(request) < 0 || open_flags(request, &appraisal->settled, arguments[0], 0) < 0)
        return -1;
    if (appraisal->has_lasting
        && (open_table(request, LASTING, arguments[1], 0) < 0
            || !has_length(request, LASTING, request->tables[ALLOCATABLE].rows)))
        return -1;
    appraisal->count = read_steps(arguments[2], asked, request, appraisal->steps);
    appraisal->is_usual = find_usual(appraisal, &appraisal->usual);
    return appraisal->count < 0 ? -1 : 0;
}

static const int APPRAISED[] = {ALLOCATABLE, TAKEN, ALLOWED_PODS, NAME_RANKS};

/* appraise(out, rows, allocatable, taken, allowed_pods, name_ranks, settled, lasting or None, steps, bits,
 *          asked or None)
 * -> how many rows are feasible; the first place in `out` with the highest value (-1 if no row is feasible)
 * Each row gets its place in a ranking, total * 2**bits - rank by name, or the lowest number there is. */
static PyObject *appraise(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    Request request;
    Appraisal appraisal;
    if (!expects(given, 11) || (arguments[10] != Py_None && !expects_tuple(arguments[10]))
        || open_request(&request, arguments, APPRAISED, 4) < 0)
        return NULL;
    if (open_appraisal(&request, &appraisal, arguments + 6, arguments[10] == Py_None ? NULL : arguments[10]) < 0) {
        close_request(&request);
        return NULL;
    }
    Py_ssize_t best = -1;
    int64_t highest = NOT_FEASIBLE;
    for (Py_ssize_t first = 0; first < request.count; first += BLOCK) {
        int64_t found = appraise_block(block_from(&request, first), &appraisal);
        if (found > highest) {
            highest = found;
            best = first;
        }
    }
    if (best >= 0)
        best += first_of(request.out + best, highest);
    close_request(&request);
    return Py_BuildValue("Ln", (long long)appraisal.feasible, best);
}

/* ---------------------------------------------------------------- rankings */

/* The values of a ranking, and a bound for each block of 2**bits of them. */
typedef struct {
    Request arrays;
    int64_t *values, *bounds;
    Py_ssize_t rows, blocks;
    int bits;
} Ranking;

static int open_ranking(Ranking *ranking, PyObject *values, PyObject *bounds, PyObject *bits)
{
    Request *arrays = &ranking->arrays;
    arrays->open = 0;
    ranking->bits = (int)PyLong_AsLong(bits);
    if (PyErr_Occurred())
        return -1;
    if (open_table(arrays, 0, values, PyBUF_WRITABLE) == 0 && open_table(arrays, 1, bounds, PyBUF_WRITABLE) == 0) {
        ranking->values = (int64_t *)arrays->tables[0].data;
        ranking->bounds = (int64_t *)arrays->tables[1].data;
        ranking->rows = arrays->tables[0].rows;
        ranking->blocks = arrays->tables[1].rows;
        int side_by_side = arrays->tables[0].row_step == 8 && arrays->tables[1].row_step == 8;
        int makes_sense = side_by_side && ranking->rows && ranking->bits >= 0 && ranking->bits < 32;
        if (makes_sense && ranking->blocks == ((ranking->rows - 1) >> ranking->bits) + 1)
            return 0;
        PyErr_SetString(PyExc_ValueError, "expected values and a bound for each block of them");
    }
    close_request(arrays);
    return -1;
}

FASTEST_FOR_THIS_CPU static int64_t highest_among(Py_ssize_t count, const int64_t *restrict values)
{
    int64_t highest = NOT_FEASIBLE;
    for (Py_ssize_t place = 0; place < count; place++)
        highest = values[place] > highest ? values[place] : highest;
    return highest;
}

/* The first of them that is as high as any. */
static Py_ssize_t highest_of(const int64_t *values, Py_ssize_t count)
{
    return first_of(values, highest_among(count, values));
}

/* best_row(values, bounds, bits) -> the first row with the highest value; bounds that are too high are lowered */
static PyObject *best_row(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    Ranking ranking;
    if (!expects(given, 3) || open_ranking(&ranking, arguments[0], arguments[1], arguments[2]) < 0)
        return NULL;
    for (;;) {
        Py_ssize_t block = highest_of(ranking.bounds, ranking.blocks);
        Py_ssize_t first = block << ranking.bits, left = ranking.rows - first;
        Py_ssize_t length = (Py_ssize_t)1 << ranking.bits;
        Py_ssize_t row = first + highest_of(ranking.values + first, left < length ? left : length);
        if (ranking.values[row] >= ranking.bounds[block]) {
            close_request(&ranking.arrays);
            return PyLong_FromSsize_t(row);
        }
        ranking.bounds[block] = ranking.values[row];
    }
}

/* put_rows(values, bounds, bits, rows, new): new values in these rows; bounds that are too low are lifted */
static PyObject *put_rows(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    Ranking ranking;
    if (!expects(given, 5) || open_ranking(&ranking, arguments[0], arguments[1], arguments[2]) < 0)
        return NULL;
    Request *arrays = &ranking.arrays;
    if (open_table(arrays, 2, arguments[3], 0) < 0 || open_table(arrays, 3, arguments[4], 0) < 0)
        goto failed;
    const Table *rows = &arrays->tables[2], *given_values = &arrays->tables[3];
    for (Py_ssize_t place = 0; place < rows->rows; place++) {
        int64_t row = item(rows, place, 0);
        if (rows->rows != given_values->rows || (uint64_t)row >= (uint64_t)ranking.rows) {
            PyErr_SetString(PyExc_IndexError, "a row is outside of a table");
            goto failed;
        }
        int64_t value = item(given_values, place, 0), *bound = &ranking.bounds[row >> ranking.bits];
        ranking.values[row] = value;
        *bound = value > *bound ? value : *bound;
    }
    close_request(arrays);
    return Py_NewRef(Py_None);
failed:
    close_request(arrays);
    return NULL;
}

/* ---------------------------------------------------------------- answers that are kept */

/* What is known of all rows, what their node objects alone say of those that are settled, and what has changed. */
typedef struct {
    int64_t *values, *bounds; /* no bounds: nobody ranks the values */
    int block_bits;
    PyObject *const *verdicts; /* opened when a row needs them, which is rare */
    int has_verdicts;
    Flags passed, rejected_by, settled_by;
    int64_t more_passed, flipped, changed, undecided;
} Revision;

static int open_values(Request *request, int slot, PyObject *array, Py_ssize_t length)
{
    if (open_table(request, slot, array, PyBUF_WRITABLE) < 0 || !has_length(request, slot, length))
        return -1;
    if (request->tables[slot].row_step == sizeof(int64_t))
        return 0;
    PyErr_SetString(PyExc_ValueError, "expected values side by side");
    return -1;
}

/* Reads (values, bounds or None, block bits), which the arguments of `open_verdicts` follow. */
static int open_revision(Request *request, Revision *revision, PyObject *const *arguments)
{
    Py_ssize_t rows = request->tables[ALLOCATABLE].rows;
    long bits = PyLong_AsLong(arguments[2]);
    if (PyErr_Occurred())
        return -1;
    if (bits < 0 || bits > 31) {
        PyErr_SetString(PyExc_ValueError, "expected less than 32 bits");
        return -1;
    }
    if (open_values(request, VALUES, arguments[0], rows) < 0)
        return -1;
    int is_ranked = arguments[1] != Py_None;
    if (is_ranked && open_values(request, BOUNDS, arguments[1], ((rows - 1) >> bits) + 1) < 0)
        return -1;
    *revision = (Revision){.values = (int64_t *)request->tables[VALUES].data, .block_bits = (int)bits,
                           .bounds = is_ranked ? (int64_t *)request->tables[BOUNDS].data : NULL,
                           .verdicts = arguments + 3};
    return 0;
}

/* Reads (passed, rejected_by, codes, settled_by, settled_codes). */
static int open_verdicts(Request *request, Revision *revision)
{
    Py_ssize_t rows = request->tables[ALLOCATABLE].rows;
    PyObject *const *arguments = revision->verdicts;
    revision->has_verdicts = 1;
    if (open_flags(request, &revision->passed, arguments[0], PyBUF_WRITABLE) < 0
        || open_flags(request, &revision->rejected_by, arguments[1], PyBUF_WRITABLE) < 0
        || open_values(request, CODES, arguments[2], rows) < 0
        || open_flags(request, &revision->settled_by, arguments[3], 0) < 0)
        return -1;
    return open_values(request, SETTLED_CODES, arguments[4], rows);
}

/* The verdict of a row that is settled, or passes. */
static void take_verdict(Request *request, Revision *revision, Py_ssize_t row, int settled)
{
    signed char by = settled ? *flag_of(&revision->settled_by, row) : PASSED, *known = flag_of(&revision->rejected_by, row);
    int64_t code = settled ? item(&request->tables[SETTLED_CODES], row, 0) : 0;
    int64_t *known_code = (int64_t *)request->tables[CODES].data + row;
    revision->changed += *known != by || *known_code != code;
    *known = by;
    *known_code = code;
}

static int revise_row(Request *request, Revision *revision, Py_ssize_t row, int64_t value, int settled)
{
    int passes = value != NOT_FEASIBLE, passed = revision->values[row] != NOT_FEASIBLE;
    revision->values[row] = value;
    if (revision->bounds && value > revision->bounds[row >> revision->block_bits])
        revision->bounds[row >> revision->block_bits] = value;
    if (passes && passed)
        return 0;
    if (!revision->has_verdicts && open_verdicts(request, revision) < 0)
        return -1;
    *flag_of(&revision->passed, row) = (signed char)passes;
    revision->more_passed += passes - passed;
    revision->flipped += passes != passed;
    if (passes || settled)
        take_verdict(request, revision, row, settled);
    else
        revision->undecided++;
    return 0;
}

/* revise(rows, allocatable, taken, allowed_pods, name_ranks, settled, lasting or None, steps, bits,
 *        values, bounds or None, block bits, passed, rejected_by, codes, settled_by, settled_codes)
 * -> how many more rows pass than before, how many do where they did not or the other way round, how many verdicts have
 * changed, and how many rows are rejected by rules: why, the caller has to find out
 * Puts new values for these rows into a ranking and notes who passes. What is settled is taken from there. */
static PyObject *revise(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    Request request = {.open = 0};
    Appraisal appraisal;
    Revision revision;
    int64_t values[BLOCK];
    if (!expects(given, 17))
        return NULL;
    if (open_table(&request, ROWS, arguments[0], 0) < 0)
        goto failed;
    request.count = request.tables[ROWS].rows;
    if (open_tables(&request, arguments + 1, APPRAISED, 4) < 0 || open_appraisal(&request, &appraisal, arguments + 5, NULL) < 0
        || open_revision(&request, &revision, arguments + 9) < 0)
        goto failed;
    for (Py_ssize_t first = 0; first < request.count; first += BLOCK) {
        Block block = block_from(&request, first);
        block.out = values;
        appraise_block(block, &appraisal);
        for (int place = 0; place < block.count; place++) {
            Py_ssize_t row = row_at(&request, first + place);
            if (revise_row(&request, &revision, row, values[place], *flag_of(&appraisal.settled, row)) < 0)
                goto failed;
        }
    }
    close_request(&request);
    return Py_BuildValue("LLLL", (long long)revision.more_passed, (long long)revision.flipped,
                         (long long)revision.changed, (long long)revision.undecided);
failed:
    close_request(&request);
    return NULL;
}

/* ---------------------------------------------------------------- pods that come and go */

/* add_to_row(table, row, amounts, sign): adds an amount to each value of a row, or subtracts it
 * amounts: bytes, int64 each */
static PyObject *add_to_row(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    Request request = {.open = 0};
    char *amounts;
    Py_ssize_t length;
    if (!expects(given, 4) || PyBytes_AsStringAndSize(arguments[2], &amounts, &length) < 0)
        return NULL;
    Py_ssize_t row = PyLong_AsSsize_t(arguments[1]);
    long sign = PyLong_AsLong(arguments[3]);
    if (PyErr_Occurred() || open_table(&request, OUT, arguments[0], PyBUF_WRITABLE) < 0) {
        close_request(&request);
        return NULL;
    }
    const Table *table = &request.tables[OUT];
    int fits = row >= 0 && row < table->rows && length == table->columns * (Py_ssize_t)sizeof(int64_t);
    for (Py_ssize_t column = 0; fits && column < table->columns; column++) {
        char *cell = table->data + row * table->row_step + column * table->column_step;
        uint64_t amount;
        memcpy(&amount, amounts + column * (Py_ssize_t)sizeof(int64_t), sizeof amount);
        *(uint64_t *)cell += sign < 0 ? -amount : amount;
    }
    close_request(&request);
    if (fits)
        return Py_NewRef(Py_None);
    PyErr_SetString(PyExc_IndexError, "a row is outside of a table, or of another length");
    return NULL;
}

/* ---------------------------------------------------------------- ties */

/* Eight rows to a byte, the first one in its highest bit, as NumPy packs them. Returns how many bits are set. */
FASTEST_FOR_THIS_CPU static Py_ssize_t pack_ties(Py_ssize_t bytes, const int64_t *restrict values, int64_t lowest,
                                                 char *restrict packed)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t each = 0; each < bytes; each++) {
        unsigned bits = 0;
        for (int place = 0; place < 8; place++)
            bits |= (unsigned)(values[8 * each + place] >= lowest) << (7 - place);
        packed[each] = (char)bits;
        for (; bits; bits &= bits - 1)
            count++;
    }
    return count;
}

/* The same for any number of values; what is missing in the last byte does not tie. */
static Py_ssize_t pack_some_ties(Py_ssize_t rows, const int64_t *values, int64_t lowest, char *packed)
{
    Py_ssize_t whole = rows / 8, left = rows % 8, count = pack_ties(whole, values, lowest, packed);
    int64_t last[8];
    for (Py_ssize_t place = 0; place < 8; place++)
        last[place] = place < left ? values[8 * whole + place] : INT64_MIN;
    return left ? count + pack_ties(1, last, lowest, packed + whole) : count;
}

/* The same in a ranking: where a bound is too low, no value ties, and none is looked at. */
static Py_ssize_t pack_ties_within(const Ranking *ranking, int64_t lowest, char *packed)
{
    Py_ssize_t count = 0, length = (Py_ssize_t)1 << ranking->bits;
    for (Py_ssize_t block = 0; block < ranking->blocks; block++) {
        Py_ssize_t first = block << ranking->bits, left = ranking->rows - first;
        Py_ssize_t rows = left < length ? left : length;
        if (ranking->bounds[block] < lowest)
            memset(packed + first / 8, 0, (size_t)(rows + 7) / 8);
        else
            count += pack_some_ties(rows, ranking->values + first, lowest, packed + first / 8);
    }
    return count;
}

/* ties(values, bounds or None, bits, lowest) -> how many values are at least that high, and a bit for each of all values
 * Bounds are those of a ranking, for blocks of 2**bits rows. */
static PyObject *ties(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    Ranking ranking = {.arrays = {.open = 0}};
    Request *arrays = &ranking.arrays;
    if (!expects(given, 4))
        return NULL;
    int64_t lowest = PyLong_AsLongLong(arguments[3]);
    int is_ranked = arguments[1] != Py_None;
    if (PyErr_Occurred()
        || (is_ranked ? open_ranking(&ranking, arguments[0], arguments[1], arguments[2])
                      : open_table(arrays, 0, arguments[0], PyBUF_ANY_CONTIGUOUS)) < 0) {
        close_request(arrays);
        return NULL;
    }
    is_ranked = is_ranked && ranking.bits >= 3; /* a block is whole bytes */
    Py_ssize_t rows = arrays->tables[0].rows;
    PyObject *packed = PyBytes_FromStringAndSize(NULL, (rows + 7) / 8);
    PyObject *answer = NULL;
    if (packed) {
        char *bytes = PyBytes_AsString(packed);
        Py_ssize_t count = is_ranked ? pack_ties_within(&ranking, lowest, bytes)
                                     : pack_some_ties(rows, (const int64_t *)arrays->tables[0].data, lowest, bytes);
        answer = Py_BuildValue("nO", count, packed);
        Py_DECREF(packed);
    }
    close_request(arrays);
    return answer;
}

/* ---------------------------------------------------------------- the module */

static PyMethodDef METHODS[] = {
    {"fit_codes", (PyCFunction)(void (*)(void))fit_codes, METH_FASTCALL, "Failure codes of NodeResourcesFit."},
    {"fit_scores", (PyCFunction)(void (*)(void))fit_scores, METH_FASTCALL, "Scores of NodeResourcesFit."},
    {"balance_scores", (PyCFunction)(void (*)(void))balance_scores, METH_FASTCALL,
     "Scores of NodeResourcesBalancedAllocation."},
    {"appraise", (PyCFunction)(void (*)(void))appraise, METH_FASTCALL, "Places in a ranking, by all rules together."},
    {"revise", (PyCFunction)(void (*)(void))revise, METH_FASTCALL, "New answers for some rows of those that are kept."},
    {"best_row", (PyCFunction)(void (*)(void))best_row, METH_FASTCALL, "The best row of a ranking."},
    {"ties", (PyCFunction)(void (*)(void))ties, METH_FASTCALL, "How many values are as high as one, and which."},
    {"add_to_row", (PyCFunction)(void (*)(void))add_to_row, METH_FASTCALL, "What a pod takes comes or goes."},
    {"use_variant", (PyCFunction)(void (*)(void))use_variant, METH_FASTCALL, "How most pods are appraised, for tests."},
    {"put_rows", (PyCFunction)(void (*)(void))put_rows, METH_FASTCALL, "New values for rows of a ranking."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, .m_name = "_loops", .m_size = 0, .m_methods = METHODS};

PyMODINIT_FUNC PyInit__loops(void)
{
    for (long variant = 0; variant < VARIANTS; variant++)
        take_variant(variant);
    return PyModuleDef_Init(&MODULE);
}
