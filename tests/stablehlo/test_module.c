/* test_module.c: what a module takes, gives and leaves out, its names and its failures. Whether
 * XLA reads it and computes the right thing is seen by test_statements.py and test_modules.py. */
#include "modules.h"
#include "testing.h"

static ath_graph *g;
static ath_arena *arena;
static ath_buffer text;
static ath_hlo_signature signature;

static int set_up(void **state) {
  (void)state;
  text = ath_buffer_make(1 << 20);
  return ath_graph_create(&g) != ATH_OK || ath_arena_create(1 << 20, &arena) != ATH_OK;
}

static int tear_down(void **state) {
  (void)state;
  ath_buffer_free(&text);
  ath_arena_destroy(arena);
  ath_graph_destroy(g);
  return 0;
}

static ath_status print(const ath_hlo_sharding *sharding) {
  ath_hlo_module_options options = {.sharding = sharding};
  ath_buffer_clear(&text);
  return ath_hlo_module_print(g, &options, arena, &signature, &text);
}

static void assert_has(const char *part) {
  if (strstr(text.bytes, part) == NULL) fail_msg("\"%s\" is not in\n%s", part, text.bytes);
}

static void assert_lacks(const char *part) {
  if (strstr(text.bytes, part) != NULL) fail_msg("\"%s\" is in\n%s", part, text.bytes);
}

static int occurrences(const char *part) {
  int count = 0;
  for (const char *at = text.bytes; (at = strstr(at, part)) != NULL; at++) count++;
  return count;
}

static void assert_port(const ath_hlo_port *port, ath_hlo_port_kind kind, const char *name,
                        int other) {
  assert_int_equal(port->kind, kind);
  assert_string_equal(port->name, name);
  assert_int_equal(kind == ATH_HLO_NEW_VARIABLE ? port->argument : port->result, other);
}

/* --- the signature ------------------------------------------------------------------------- */

static void variables_come_before_inputs_and_new_values_before_outputs(void **state) {
  (void)state;
  ath_value x = ath_graph_input(g, "x", matrix);
  ath_value read = ath_graph_variable(g, "read", matrix);
  ath_value first = ath_graph_variable(g, "first", matrix);
  ath_value second = ath_graph_variable(g, "second", matrix);
  ath_graph_output(g, "twice", twice(g, x));
  ath_graph_assign(g, second, twice(g, read));
  ath_graph_assign(g, first, x);
  assert_ok(print(NULL));
  assert_int_equal(signature.argument_count, 4);
  assert_port(&signature.arguments[0], ATH_HLO_VARIABLE, "read", -1);
  assert_port(&signature.arguments[1], ATH_HLO_VARIABLE, "first", 0);
  assert_port(&signature.arguments[2], ATH_HLO_VARIABLE, "second", 1);
  assert_port(&signature.arguments[3], ATH_HLO_INPUT, "x", -1);
  assert_int_equal(signature.result_count, 3);
  assert_port(&signature.results[0], ATH_HLO_NEW_VARIABLE, "first", 1);
  assert_port(&signature.results[1], ATH_HLO_NEW_VARIABLE, "second", 2);
  assert_port(&signature.results[2], ATH_HLO_OUTPUT, "twice", -1);
  assert_true(ath_type_equal(&signature.results[2].type, &matrix));
  assert_has("%read: tensor<4x2xf32>,");
  assert_has("%first: tensor<4x2xf32> {tf.aliasing_output = 0 : i32},");
  assert_has("%second: tensor<4x2xf32> {tf.aliasing_output = 1 : i32},");
}

static void what_nobody_needs_is_left_out(void **state) {
  (void)state;
  ath_value x = ath_graph_input(g, "x", matrix);
  ath_value unused = ath_graph_input(g, "unused", matrix);
  ath_graph_variable(g, "idle", matrix);
  twice(g, twice(g, unused));
  ath_graph_output(g, "y", twice(g, x));
  assert_ok(print(NULL));
  assert_int_equal(signature.argument_count, 1);
  assert_port(&signature.arguments[0], ATH_HLO_INPUT, "x", -1);
  assert_lacks("unused");
  assert_lacks("idle");
  assert_int_equal(occurrences("stablehlo.add"), 1);
}

static void the_signature_outlives_the_graph(void **state) {
  (void)state;
  char name[8] = "x";
  ath_value x = ath_graph_input(g, name, matrix);
  ath_graph_output(g, "y", twice(g, x));
  assert_ok(print(NULL));
  ath_graph_destroy(g);
  g = NULL;
  assert_string_equal(signature.arguments[0].name, "x");
  assert_string_equal(signature.results[0].name, "y");
}

/* --- names and comments ---------------------------------------------------------------------- */

static void statements_are_named_by_node_and_scopes_are_comments(void **state) {
  (void)state;
  ath_value x = ath_graph_input(g, "x", matrix);
  ath_graph_set_scope(g, "layer.0");
  x = twice(g, twice(g, x));
  ath_graph_set_scope(g, "layer.1");
  ath_graph_output(g, "y", twice(g, x));
  assert_ok(print(NULL));
  assert_has("    %layer.0.double.1 = stablehlo.add %x, %x : tensor<4x2xf32>\n");
  assert_has("    %layer.0.double_2.1 = stablehlo.add %layer.0.double.1, %layer.0.double.1 : ");
  assert_int_equal(occurrences("    // layer.0\n"), 1);
  assert_int_equal(occurrences("    // layer.1\n"), 1);
  assert_has("tensor<4x2xf32> // y\n");
}

/* A line end in a name must not become one in the text. */
static void odd_names_stay_inside_their_places(void **state) {
  (void)state;
  ath_value x = ath_graph_input(g, "0 a\"b\n} c", matrix);
  ath_graph_set_scope(g, "scope\nof two lines");
  ath_graph_output(g, "out\nput", twice(g, x));
  assert_ok(print(NULL));
  assert_has("%_0_a_b___c: tensor");
  assert_has("// scope?of two lines\n");
  assert_has("// out?put\n");
}

static void equal_names_of_values_are_told_apart(void **state) {
  (void)state;
  ath_value a = ath_graph_input(g, "double.1", matrix);
  ath_value b = ath_graph_variable(g, "double.1", matrix);
  ath_value c = ath_graph_variable(g, "double/1", matrix);
  ath_graph_output(g, "a", twice(g, a));
  ath_graph_output(g, "b", twice(g, b));
  ath_graph_output(g, "c", twice(g, c));
  assert_ok(print(NULL));
  assert_int_equal(occurrences("%double.1 = "), 1); /* the statement alone */
  assert_int_equal(occurrences("%double.1: "), 0);
  assert_has("%double.1$: ");
  assert_has("%double.1$2: ");
  assert_has("%double.1$3: ");
}

/* --- failures --------------------------------------------------------------------------------- */

static void an_operation_without_text_is_named(void **state) {
  (void)state;
  static const ath_op silent = {.name = "silent", .infer = double_infer};
  ath_value x = ath_graph_input(g, "x", matrix), y;
  ath_graph_set_scope(g, "layer.7");
  ath_graph_add(g, &silent, NULL, 0, &x, 1, &y, 1);
  ath_graph_output(g, "y", y);
  assert_fails(print(NULL), ATH_UNSUPPORTED, "layer.7/silent: the operation silent has no Stable");
  assert_int_equal(text.length, 0);
}

static ath_status wrong_type(const ath_hlo_call *call) {
  call->outputs[0] = ath_hlo_reduce(call->hlo, "add", call->inputs[0], 1);
  return ATH_OK;
}

static ath_status nothing(const ath_hlo_call *call) {
  (void)call;
  return ATH_OK;
}

static ath_status misfit(const ath_hlo_call *call) {
  ath_hlo_value x = call->inputs[0];
  ath_hlo_value sum = ath_hlo_reduce(call->hlo, "add", x, 1);
  call->outputs[0] = ath_hlo_binary(call->hlo, "add", x, sum);
  call->outputs[0] = ath_hlo_unary(call->hlo, "tanh", call->outputs[0]); /* does nothing */
  return ATH_OK;
}

static ath_status left_out(const ath_hlo_call *call) {
  call->outputs[0] = ath_hlo_unary(call->hlo, "tanh", ATH_HLO_NONE);
  return ATH_OK;
}

static void faults_of_an_operation_are_found_and_named(void **state) {
  (void)state;
  static const struct {
    ath_op op;
    const char *text;
  } cases[] = {
    {{.name = "wrong", .infer = double_infer, .stablehlo = wrong_type},
     "wrong: output 0 of its StableHLO text is not f32[4, 2]"},
    {{.name = "nothing", .infer = double_infer, .stablehlo = nothing},
     "nothing: output 0 of its StableHLO text is not f32[4, 2]"},
    {{.name = "misfit", .infer = double_infer, .stablehlo = misfit},
     "misfit: add of operands with different types"},
    {{.name = "left_out", .infer = double_infer, .stablehlo = left_out},
     "left_out: a statement lacks an operand"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_graph *own;
    ath_hlo_module_options options = {0};
    assert_ok(ath_graph_create(&own));
    ath_value x = ath_graph_input(own, "x", matrix), y;
    ath_graph_add(own, &cases[i].op, NULL, 0, &x, 1, &y, 1);
    ath_graph_output(own, "y", y);
    assert_fails(ath_hlo_module_print(own, &options, arena, &signature, &text), ATH_INTERNAL,
                 cases[i].text);
    ath_graph_destroy(own);
  }
}

static void a_failed_graph_is_not_printed(void **state) {
  (void)state;
  ath_graph_output(g, "y", 17);
  assert_fails(print(NULL), ATH_INVALID, "there is no value 17");
}

/* --- shardings -------------------------------------------------------------------------------- */

static ath_status shard(void *user, int kind, const char *name, const ath_type *type,
                        ath_buffer *out) {
  (void)user;
  assert_true(ath_type_equal(type, &matrix));
  if (kind == ATH_HLO_INPUT) return ath_buffer_string(out, "{devices=[4,1]<=[4]}");
  if (kind == ATH_HLO_VARIABLE || kind == ATH_HLO_NEW_VARIABLE)
    return ath_buffer_string(out, "{replicated}");
  if (kind == -1 && strcmp(name, "held/double") == 0)
    return ath_buffer_string(out, "{devices=[1,4]<=[4]}");
  return ATH_OK;
}

static void shardings_stand_at_arguments_results_and_where_values_are_held(void **state) {
  (void)state;
  ath_value x = ath_graph_input(g, "x", matrix), w = ath_graph_variable(g, "w", matrix);
  ath_graph_set_scope(g, "held");
  ath_value held = twice(g, x);
  ath_graph_set_scope(g, "free");
  ath_graph_output(g, "y", twice(g, held));
  ath_graph_assign(g, w, held);
  ath_hlo_sharding sharding = {.print = shard, .partitions = 4};
  assert_ok(print(&sharding));
  assert_has("mhlo.num_partitions = 4 : i32");
  assert_has("%w: tensor<4x2xf32> {mhlo.sharding = \"{replicated}\", "
             "tf.aliasing_output = 0 : i32},");
  assert_has("%x: tensor<4x2xf32> {mhlo.sharding = \"{devices=[4,1]<=[4]}\"}\n");
  assert_has("    tensor<4x2xf32> {mhlo.sharding = \"{replicated}\"}, // w\n");
  assert_has("    tensor<4x2xf32> // y\n");
  assert_int_equal(occurrences("custom_call @Sharding"), 1);
  assert_has("stablehlo.add %held.double.3, %held.double.3"); /* what reads it reads the held one */
}

static ath_status break_out(void *user, int kind, const char *name, const ath_type *type,
                            ath_buffer *out) {
  (void)user, (void)kind, (void)name, (void)type;
  return ath_buffer_string(out, "\"} evil {\"");
}

static void a_sharding_that_text_cannot_hold_is_refused(void **state) {
  (void)state;
  ath_graph_output(g, "y", twice(g, ath_graph_input(g, "x", matrix)));
  ath_hlo_sharding sharding = {.print = break_out, .partitions = 2};
  assert_fails(print(&sharding), ATH_INTERNAL, "x: a sharding with a character");
}

/* --- constants -------------------------------------------------------------------------------- */

static void floats_are_printed_as_bits(void **state) {
  (void)state;
  ath_type scalar = {.dtype = ATH_F32};
  ath_type narrow = {.dtype = ATH_BF16, .rank = 1, .dims = {3}};
  ath_graph_output(g, "tenth", ath_graph_constant(g, matrix, 0.1));
  ath_graph_output(g, "narrow", ath_graph_constant(g, narrow, 0.1));
  ath_graph_output(g, "minus", ath_graph_constant(g, scalar, -0.0));
  assert_ok(print(NULL));
  assert_has("dense<0x3DCCCCCD> : tensor<4x2xf32> // 0.1"); /* IEEE 754: 0.1f */
  assert_has("dense<0x3DCD> : tensor<3xbf16>");
  assert_has("dense<0x80000000> : tensor<f32>");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void) {
  const struct CMUnitTest tests[] = {
    TEST(variables_come_before_inputs_and_new_values_before_outputs),
    TEST(what_nobody_needs_is_left_out),
    TEST(the_signature_outlives_the_graph),
    TEST(statements_are_named_by_node_and_scopes_are_comments),
    TEST(odd_names_stay_inside_their_places),
    TEST(equal_names_of_values_are_told_apart),
    TEST(an_operation_without_text_is_named),
    TEST(faults_of_an_operation_are_found_and_named),
    TEST(a_failed_graph_is_not_printed),
    TEST(shardings_stand_at_arguments_results_and_where_values_are_held),
    TEST(a_sharding_that_text_cannot_hold_is_refused),
    TEST(floats_are_printed_as_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
