/* test_costs.c: reading a compiled program, adding up its estimates, and what they become on a
 * slice. The program is made here, field by field, as hlo.proto numbers them. */
#include "base/buffer.h"
#include "formats/wire.h"
#include "plan/chips.h"
#include "testing.h"

/* --- making a program ---------------------------------------------------------------------- */

static void put_number(ath_buffer *out, uint32_t field, uint64_t value) {
  uint8_t bytes[20], *end = ath_wire_put_varint(bytes, ath_wire_tag(field, ATH_WIRE_VARINT));
  end = ath_wire_put_varint(end, value);
  assert_ok(ath_buffer_append(out, bytes, (size_t)(end - bytes)));
}

static void put_bytes(ath_buffer *out, uint32_t field, const void *what, size_t count) {
  uint8_t bytes[20], *end = ath_wire_put_head(bytes, field, count);
  assert_ok(ath_buffer_append(out, bytes, (size_t)(end - bytes)));
  if (count > 0) assert_ok(ath_buffer_append(out, what, count));
}

static void put_text(ath_buffer *out, uint32_t field, const char *text) {
  put_bytes(out, field, text, strlen(text));
}

/* Moves what was written into a field of another message. */
static void put_message(ath_buffer *out, uint32_t field, ath_buffer *message) {
  put_bytes(out, field, message->bytes, message->length);
  ath_buffer_free(message);
}

/* What an instruction of these tests may have. */
typedef struct made {
  const char *name, *opcode, *op_name;
  int element, rows, columns; /* PrimitiveType; 11 is f32, 4 s32 */
  int line, cycles, called[2], called_count, constant, group;
} made;

static ath_buffer shape(const made *i) {
  ath_buffer out = ath_buffer_make(1 << 12);
  uint8_t dims[20], *end = ath_wire_put_varint(dims, (uint64_t)i->rows);
  end = ath_wire_put_varint(end, (uint64_t)i->columns);
  put_number(&out, 2, (uint64_t)i->element);
  if (i->rows > 0) put_bytes(&out, 3, dims, (size_t)(end - dims));
  return out;
}

static ath_buffer instruction(const made *i) {
  ath_buffer out = ath_buffer_make(1 << 12), part = shape(i);
  put_text(&out, 1, i->name);
  put_text(&out, 2, i->opcode);
  put_message(&out, 3, &part);
  part = ath_buffer_make(1 << 12);
  if (i->op_name != NULL) put_text(&part, 2, i->op_name);
  if (i->line > 0) put_number(&part, 4, (uint64_t)i->line);
  put_message(&out, 7, &part);
  if (i->constant > 0) {
    part = ath_buffer_make(1 << 12);
    put_number(&part, 4, (uint64_t)i->constant);
    put_message(&out, 8, &part);
  }
  for (int c = 0; c < i->called_count; c++) put_number(&out, 38, (uint64_t)i->called[c]);
  if (i->cycles > 0) {
    char config[128];
    snprintf(config, sizeof config, "{\"window_config\":{\"estimated_cycles\":\"%d\"}}",
             i->cycles);
    put_text(&out, 43, config);
  }
  if (i->group > 0) { /* {2 {1 groups, 2 devices of each}} */
    ath_buffer list = ath_buffer_make(1 << 12);
    part = ath_buffer_make(1 << 12);
    put_number(&part, 1, 2);
    put_number(&part, 2, (uint64_t)i->group);
    put_message(&list, 2, &part);
    put_message(&out, 87, &list);
  }
  return out;
}

static void put_named(ath_buffer *module, int id, const char *name, const made *instructions,
                      int count) {
  ath_buffer out = ath_buffer_make(1 << 16);
  put_text(&out, 1, name);
  for (int i = 0; i < count; i++) {
    ath_buffer one = instruction(&instructions[i]);
    put_message(&out, 2, &one);
  }
  put_number(&out, 5, (uint64_t)id);
  put_message(module, 3, &out);
}

static void put_computation(ath_buffer *module, int id, const made *instructions, int count) {
  put_named(module, id, "computation", instructions, count);
}

static ath_buffer with_config(ath_buffer *module, int entry) {
  ath_buffer out = ath_buffer_make(1 << 20);
  put_number(module, 6, (uint64_t)entry);
  put_message(&out, 1, module);
  return out;
}

/* A loop of seven turns, an all-reduce in it, and two operations of layers 0 and 1 around it. */
static ath_buffer looping_program(void) {
  ath_buffer module = ath_buffer_make(1 << 20);
  const made condition[] = {
    {.name = "limit", .opcode = "constant", .element = 4, .constant = 7},
    {.name = "less", .opcode = "compare", .element = 1}};
  const made body[] = {
    {.name = "fusion.9", .opcode = "fusion", .element = 11, .rows = 4, .columns = 4,
     .cycles = 100, .op_name = "loop/body"},
    {.name = "all-reduce.1", .opcode = "all-reduce", .element = 11, .rows = 256, .columns = 1000,
     .group = 4}};
  const made entry[] = {
    {.name = "p", .opcode = "parameter", .element = 11, .rows = 8, .columns = 4},
    {.name = "fusion.1", .opcode = "fusion", .element = 11, .rows = 4, .columns = 4, .cycles = 30,
     .line = 2},
    {.name = "fusion.2", .opcode = "fusion", .element = 11, .rows = 4, .columns = 4, .cycles = 20,
     .line = 3},
    {.name = "while.1", .opcode = "while", .element = 11, .rows = 4, .columns = 4,
     .called = {2, 1}, .called_count = 2},
    {.name = "sort.3", .opcode = "sort", .element = 11, .rows = 1024, .columns = 1024},
    {.name = "copy.12", .opcode = "copy", .element = 11, .rows = 1, .columns = 1, .cycles = 5}};
  put_computation(&module, 1, condition, 2);
  put_computation(&module, 2, body, 2);
  put_computation(&module, 3, entry, 6);
  return with_config(&module, 3);
}

/* A choice between a branch of 40 + 2 cycles and one of 7, between operations of 30 and 5. */
static ath_buffer choosing_program(void) {
  ath_buffer module = ath_buffer_make(1 << 20);
  const made costly[] = {
    {.name = "fusion.7", .opcode = "fusion", .element = 11, .rows = 4, .columns = 4, .cycles = 40},
    {.name = "copy.7", .opcode = "copy", .element = 11, .rows = 4, .columns = 4, .cycles = 2}};
  const made cheap[] = {
    {.name = "copy.8", .opcode = "copy", .element = 11, .rows = 4, .columns = 4, .cycles = 7}};
  const made entry[] = {
    {.name = "fusion.1", .opcode = "fusion", .element = 11, .rows = 4, .columns = 4, .cycles = 30},
    {.name = "conditional.1", .opcode = "conditional", .element = 11, .rows = 4, .columns = 4,
     .called = {1, 2}, .called_count = 2},
    {.name = "copy.12", .opcode = "copy", .element = 11, .rows = 1, .columns = 1, .cycles = 5}};
  put_computation(&module, 1, costly, 2);
  put_computation(&module, 2, cheap, 1);
  put_computation(&module, 3, entry, 3);
  return with_config(&module, 3);
}

typedef struct opened {
  ath_buffer bytes, text;
  ath_arena *arena;
  ath_xla_program program;
  ath_line_names names;
  ath_cost cost;
} opened;

static void open_program(opened *self, ath_buffer bytes) {
  *self = (opened){.bytes = bytes, .text = ath_buffer_make(1 << 12)};
  assert_ok(ath_buffer_string(&self->text, "module {\n"
                                           "    %layer.0.attention.1 = stablehlo.add %x\n"
                                           "    %layer.1.attention_2.4 = stablehlo.add %x\n"));
  assert_ok(ath_arena_create(1 << 24, &self->arena));
  assert_ok(ath_xla_program_read(bytes.bytes, bytes.length, self->arena, &self->program));
  assert_ok(ath_line_names_make(&self->text, self->arena, &self->names));
  assert_ok(ath_cost_of(&self->program, &self->names, self->arena, &self->cost));
}

static void close_program(opened *self) {
  ath_arena_destroy(self->arena);
  ath_buffer_free(&self->text);
  ath_buffer_free(&self->bytes);
}

/* --- reading and adding up ----------------------------------------------------------------- */

static void a_loop_costs_its_body_as_often_as_its_condition_says(void **state) {
  (void)state;
  opened p;
  open_program(&p, looping_program());
  assert_int_equal((int)p.cost.cycles, 30 + 20 + 5 + 7 * 100);
  close_program(&p);
}

static void a_choice_costs_its_cheapest_branch(void **state) {
  (void)state;
  opened p;
  open_program(&p, choosing_program());
  assert_int_equal((int)p.cost.cycles, 30 + 7 + 5);
  close_program(&p);
}

static void sizes_are_elements_times_their_width(void **state) {
  (void)state;
  opened p;
  open_program(&p, looping_program());
  assert_int_equal(p.program.entry->instructions[0].bytes, 8 * 4 * 4);
  close_program(&p);
}

static void transfers_are_listed_by_kind_and_group(void **state) {
  (void)state;
  opened p;
  open_program(&p, looping_program());
  assert_int_equal(p.cost.traffic_count, 1);
  assert_int_equal(p.cost.traffic[0].kind, ATH_ALL_REDUCE);
  assert_int_equal(p.cost.traffic[0].group, 4);
  assert_int_equal((int)p.cost.traffic[0].bytes, 7 * 256 * 1000 * 4);
  close_program(&p);
}

/* As the compiler writes a gather of 8 x 1024 numbers beside a product. */
static void a_transfer_beside_other_work_counts_once(void **state) {
  (void)state;
  ath_buffer module = ath_buffer_make(1 << 20);
  const made gather = {.name = "all-gather.1", .opcode = "all-gather", .element = 11, .rows = 8,
                       .columns = 1024, .group = 8};
  const made entry[] = {
    {.name = "async-collective-start", .opcode = "fusion", .element = 11, .rows = 8,
     .columns = 1024, .called = {1}, .called_count = 1},
    {.name = "fusion.2", .opcode = "fusion", .element = 11, .rows = 8, .columns = 8, .cycles = 10,
     .called = {2}, .called_count = 1},
    {.name = "async-collective-done", .opcode = "fusion", .element = 11, .rows = 8,
     .columns = 1024, .called = {3}, .called_count = 1}};
  put_named(&module, 1, "fused_computation.1", &gather, 1);
  put_named(&module, 2, "async_collective_fusion.2", &gather, 1);
  put_named(&module, 3, "fused_computation.3", &gather, 1);
  put_named(&module, 4, "main", entry, 3);
  opened p;
  open_program(&p, with_config(&module, 4));
  assert_int_equal(p.cost.traffic_count, 1);
  assert_int_equal(p.cost.traffic[0].count, 1);
  assert_int_equal((int)p.cost.traffic[0].bytes, 8 * 1024 * 4);
  assert_int_equal((int)p.cost.cycles, 10);
  assert_int_equal(p.cost.uncounted, 0);
  close_program(&p);
}

/* As libtpu writes it: the fusion's all-reduce is of 8 x 1024 numbers, a device keeps 1 x 1024. */
static void an_all_reduce_of_which_a_share_is_kept_is_a_reduce_scatter(void **state) {
  (void)state;
  ath_buffer module = ath_buffer_make(1 << 20);
  const made reduce = {.name = "all-reduce.1", .opcode = "all-reduce", .element = 11, .rows = 8,
                       .columns = 1024, .group = 8};
  const made entry = {.name = "fusion.1", .opcode = "fusion", .element = 11, .rows = 1,
                      .columns = 1024, .called = {1}, .called_count = 1};
  put_named(&module, 1, "all-reduce-scatter.7", &reduce, 1);
  put_named(&module, 2, "main", &entry, 1);
  opened p;
  open_program(&p, with_config(&module, 2));
  assert_int_equal(p.cost.traffic_count, 1);
  assert_int_equal(p.cost.traffic[0].kind, ATH_REDUCE_SCATTER);
  assert_int_equal((int)p.cost.traffic[0].bytes, 1024 * 4);
  close_program(&p);
}

static void what_has_no_estimate_is_counted(void **state) {
  (void)state;
  opened p;
  open_program(&p, looping_program());
  assert_int_equal(p.cost.uncounted, 1); /* the sort */
  assert_int_equal((int)p.cost.uncounted_bytes, 1024 * 1024 * 4);
  close_program(&p);
}

static void operations_have_our_names_and_layers_come_together(void **state) {
  (void)state;
  opened p;
  open_program(&p, looping_program());
  assert_int_equal(p.cost.part_count, 3);
  assert_string_equal(p.cost.parts[0].name, "loop/body");
  assert_int_equal((int)p.cost.parts[0].cycles, 700);
  assert_string_equal(p.cost.parts[1].name, "layer.N.attention"); /* from the lines of the text */
  assert_int_equal(p.cost.parts[1].count, 2);
  assert_int_equal((int)p.cost.parts[1].cycles, 50);
  assert_string_equal(p.cost.parts[2].name, "copy"); /* the compiler's, without its number */
  close_program(&p);
}

static void a_program_cut_anywhere_is_refused_or_read(void **state) {
  (void)state;
  ath_buffer bytes = looping_program();
  for (size_t length = 0; length < bytes.length; length++) {
    ath_arena *arena;
    ath_xla_program program;
    char *copy = malloc(length + 1); /* so that the sanitizer sees a read behind the end */
    memcpy(copy, bytes.bytes, length);
    copy = realloc(copy, length > 0 ? length : 1);
    assert_ok(ath_arena_create(1 << 24, &arena));
    assert_int_equal(ath_xla_program_read(copy, length, arena, &program), ATH_CORRUPT);
    ath_arena_destroy(arena);
    free(copy);
  }
  ath_buffer_free(&bytes);
}

static void a_program_with_changed_bytes_is_refused_or_read(void **state) {
  (void)state;
  ath_buffer bytes = looping_program();
  ath_line_names names = {0};
  uint32_t random = 1;
  int read = 0;
  for (int turn = 0; turn < 3000; turn++) {
    ath_arena *arena;
    ath_xla_program program;
    ath_cost cost;
    random = random * 1664525u + 1013904223u;
    size_t at = (random >> 8) % bytes.length;
    char before = bytes.bytes[at];
    bytes.bytes[at] = (char)(random >> 4);
    assert_ok(ath_arena_create(1 << 24, &arena));
    ath_status status = ath_xla_program_read(bytes.bytes, bytes.length, arena, &program);
    if (status == ATH_OK) status = ath_cost_of(&program, &names, arena, &cost);
    if (status == ATH_OK) read++;
    else if (status != ATH_NO_MEMORY) assert_int_equal(status, ATH_CORRUPT);
    ath_arena_destroy(arena);
    bytes.bytes[at] = before;
  }
  assert_in_range(read, 1, 2999);
  ath_buffer_free(&bytes);
}

/* A program that is read well, but whose costs cannot be added up. */
static void assert_no_cost(ath_buffer *module, int entry, const char *part) {
  ath_buffer bytes = with_config(module, entry);
  ath_arena *arena;
  ath_xla_program program;
  ath_line_names names = {0};
  ath_cost cost;
  assert_ok(ath_arena_create(1 << 24, &arena));
  assert_ok(ath_xla_program_read(bytes.bytes, bytes.length, arena, &program));
  assert_fails(ath_cost_of(&program, &names, arena, &cost), ATH_CORRUPT, part);
  ath_arena_destroy(arena);
  ath_buffer_free(&bytes);
}

static void calls_without_end_are_refused(void **state) {
  (void)state;
  ath_buffer module = ath_buffer_make(1 << 20);
  for (int id = 1; id <= 30; id++) { /* each calls the one before twice: 2^29 in all */
    const made two[] = {
      {.name = "a", .opcode = "call", .element = 11, .called = {id - 1}, .called_count = id > 1},
      {.name = "b", .opcode = "call", .element = 11, .called = {id - 1}, .called_count = id > 1}};
    put_computation(&module, id, two, 2);
  }
  assert_no_cost(&module, 30, "instructions are run");
}

static void computations_that_call_each_other_in_a_circle_are_refused(void **state) {
  (void)state;
  ath_buffer module = ath_buffer_make(1 << 20);
  const made one = {.name = "call.1", .opcode = "call", .element = 11, .called = {1},
                    .called_count = 1};
  put_computation(&module, 1, &one, 1);
  assert_no_cost(&module, 1, "deeper than");
}

/* --- slices -------------------------------------------------------------------------------- */

static void slices_are_read(void **state) {
  (void)state;
  ath_slice slice;
  assert_ok(ath_slice_parse("v5p:2x4x8", 9, &slice));
  assert_int_equal(slice.chips, 64);
  assert_string_equal(slice.chip->name, "v5p");
  assert_ok(ath_slice_parse("v5e:2x4,v4:2x2x1", 7, &slice)); /* only the first of a list */
  assert_int_equal(slice.chips, 8);
  assert_string_equal(slice.name, "v5e:2x4");
  assert_ok(ath_slice_parse("v5e:1x4", 7, &slice)); /* libtpu compiles for it, and for this */
  assert_ok(ath_slice_parse("v4:2x2x3", 8, &slice));
}

static void what_is_no_slice_is_refused(void **state) {
  (void)state;
  static const struct { const char *text, *part; } bad[] = {
    {"v5e", "no shape"}, {"v7:2x2", "generations known"}, {"v5e:2x", "not a shape"},
    {"v5e:0x4", "not a shape"}, {"v5e:2x4x1", "two axes"}, {"v4:2x2", "three axes"},
    {"v5e:2x4 ", "not a shape"}, {"", "no shape"}, {"v5e:999x2", "not a shape"},
    {"v4:3x3x3", "hosts of 2x2 chips"}, {"v5e:2x3", "hosts of 2x2 chips"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ath_slice slice;
    assert_fails(ath_slice_parse(bad[i].text, strlen(bad[i].text), &slice), ATH_USAGE,
                 bad[i].part);
  }
}

/* "How to Scale Your Model", part 3: an all-reduce of V bytes over a torus takes 2 V divided by
 * the bandwidth of its axes both ways; on v5e 9e10 bytes/s an axis. */
static void an_all_reduce_takes_what_the_formula_says(void **state) {
  (void)state;
  ath_slice slice;
  ath_cost cost = {.traffic_count = 1};
  cost.traffic[0] = (ath_traffic){.kind = ATH_ALL_REDUCE, .bytes = 1e9, .count = 1};
  assert_ok(ath_slice_parse("v5e:16x16", 9, &slice));
  assert_near(ath_slice_transfer_seconds(&slice, &cost), 2e9 / (2 * 9e10), 0, 0.01);
  assert_ok(ath_slice_parse("v5e:1x1", 7, &slice));
  assert_true(ath_slice_transfer_seconds(&slice, &cost) == 0.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_loop_costs_its_body_as_often_as_its_condition_says),
    cmocka_unit_test(a_choice_costs_its_cheapest_branch),
    cmocka_unit_test(sizes_are_elements_times_their_width),
    cmocka_unit_test(transfers_are_listed_by_kind_and_group),
    cmocka_unit_test(a_transfer_beside_other_work_counts_once),
    cmocka_unit_test(an_all_reduce_of_which_a_share_is_kept_is_a_reduce_scatter),
    cmocka_unit_test(what_has_no_estimate_is_counted),
    cmocka_unit_test(operations_have_our_names_and_layers_come_together),
    cmocka_unit_test(a_program_cut_anywhere_is_refused_or_read),
    cmocka_unit_test(a_program_with_changed_bytes_is_refused_or_read),
    cmocka_unit_test(calls_without_end_are_refused),
    cmocka_unit_test(computations_that_call_each_other_in_a_circle_are_refused),
    cmocka_unit_test(slices_are_read),
    cmocka_unit_test(what_is_no_slice_is_refused),
    cmocka_unit_test(an_all_reduce_takes_what_the_formula_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
