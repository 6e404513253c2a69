/* test_shapes.c: shape errors: each names the node, the types and what would fit. */
#include "athanor/ops.h"
#include "testing.h"

static ath_graph *graph;

static ath_value f32(int rank, int a, int b, int c) {
  static int turn;
  char name[16];
  snprintf(name, sizeof name, "v%d", turn++);
  return ath_graph_variable(graph, name, ath_type_make(ATH_F32, rank, a, b, c));
}

static ath_value i32(int rank, int a, int b) {
  static int turn;
  char name[16];
  snprintf(name, sizeof name, "i%d", turn++);
  return ath_graph_input(graph, name, ath_type_make(ATH_I32, rank, a, b));
}

static void begin(void) {
  assert_ok(ath_graph_create(&graph));
  ath_graph_set_scope(graph, "layer.3");
}

#define assert_refused(build, text)                            \
  do {                                                         \
    begin();                                                   \
    assert_int_equal((build), ATH_NO_VALUE);                   \
    assert_fails(ath_graph_status(graph), ATH_INVALID, text);  \
    ath_graph_destroy(graph);                                  \
  } while (0)

static ath_value in(const char *name, ath_type type) { return ath_graph_input(graph, name, type); }

static void a_weight_that_does_not_fit_names_both_shapes_and_values(void **state) {
  (void)state;
  begin();
  ath_value x = in("x", ath_type_make(ATH_F32, 3, 32, 128, 256));
  ath_value w = ath_graph_variable(graph, "encoder.weight", ath_type_make(ATH_F32, 2, 1024, 250));
  ath_linear(graph, x, w, ATH_NO_VALUE);
  assert_fails(ath_graph_status(graph), ATH_INVALID,
               "layer.3/linear: x f32[32, 128, 256] has 256 columns, but w f32[1024, 250] wants "
               "250 (inputs: x, encoder.weight, no value)");
  ath_graph_destroy(graph);
}

static void elementwise_shapes(void **state) {
  (void)state;
  assert_refused(ath_add(graph, f32(2, 4, 3, 0), f32(2, 3, 4, 0)),
                 "layer.3/add: b f32[3, 4] cannot be repeated over a f32[4, 3]");
  assert_refused(ath_multiply(graph, f32(1, 3, 0, 0), f32(2, 4, 3, 0)),
                 "multiply: b f32[4, 3] cannot be repeated over a f32[3]");
  assert_refused(ath_scale(graph, i32(1, 3, 0), 2), "scale: x is i32[3], not floating point");
  assert_refused(ath_activation(graph, f32(1, 3, 0, 0), (ath_activation_kind)9),
                 "9 is no kind of activation");
  assert_refused(ath_bias_activation(graph, f32(2, 4, 3, 0), f32(1, 4, 0, 0), ATH_GELU),
                 "bias is f32[4], but x f32[4, 3] wants f32[3]");
  assert_refused(ath_dropout(graph, f32(1, 3, 0, 0),
                             (ath_dropout_place){.rate = 1, .step = i32(0, 0, 0)}),
                 "a dropout rate of 1 is not in 0");
  assert_refused(ath_dropout(graph, f32(1, 3, 0, 0),
                             (ath_dropout_place){.rate = 0.5f, .step = ATH_NO_VALUE}),
                 "the dropout step is missing");
  assert_refused(ath_dropout(graph, f32(1, 3, 0, 0),
                             (ath_dropout_place){.rate = 0.5f, .step = i32(0, 0, 0)}),
                 "the dropout step is i32[], not u32");
}

static void shape_and_product_shapes(void **state) {
  (void)state;
  assert_refused(ath_reshape(graph, f32(2, 4, 3, 0), ath_type_make(ATH_F32, 1, 13)),
                 "reshape: x f32[4, 3] cannot be seen as f32[13]");
  assert_refused(ath_reshape(graph, f32(2, 4, 3, 0), ath_type_make(ATH_I32, 1, 12)),
                 "cannot be seen as i32[12]");
  assert_refused(ath_reduce_rows(graph, f32(0, 0, 0, 0)), "x is a scalar, not rows of columns");
  assert_refused(ath_matmul(graph, f32(2, 4, 3, 0), f32(2, 4, 3, 0), false, false),
                 "matmul: a f32[4, 3] has 3 inner elements, but b f32[4, 3] has 4");
  assert_refused(ath_matmul(graph, f32(2, 4, 3, 0), f32(2, 5, 3, 0), true, true),
                 "aᵀ f32[4, 3] has 4 inner elements, but bᵀ f32[5, 3] has 3");
  assert_refused(ath_linear(graph, f32(2, 4, 3, 0), f32(1, 3, 0, 0), ATH_NO_VALUE),
                 "w is f32[3], not a matrix [out, in]");
  assert_refused(ath_linear(graph, f32(2, 4, 3, 0), f32(2, 5, 3, 0), f32(1, 3, 0, 0)),
                 "bias is f32[3], but the result f32[4, 5] wants f32[5]");
  assert_refused(ath_linear(graph, f32(2, 4, 3, 0), ATH_NO_VALUE, ATH_NO_VALUE), "w is missing");
}

static void row_and_norm_shapes(void **state) {
  (void)state;
  assert_refused(ath_embedding(graph, f32(2, 5, 3, 0), f32(1, 4, 0, 0), -1),
                 "embedding: ids is f32[4], not i32");
  assert_refused(ath_embedding(graph, f32(1, 5, 0, 0), i32(1, 4, 0), -1),
                 "the table is f32[5], not [rows, width]");
  assert_refused(ath_choose_rows(graph, f32(2, 8, 3, 0), i32(1, 6, 0), 4),
                 "table of 8 rows and ids of rank 1 with 6 elements cannot be cut into 4");
  assert_refused(ath_dropout(graph, f32(2, 5, 3, 0),
                             (ath_dropout_place){.rate = 0.5f, .by_rows = true,
                                                 .step = in("step", ath_type_make(ATH_U32, 0)),
                                                 .rows = i32(1, 4, 0)}),
                 "the dropout rows i32[4] are not one for each row of x f32[5, 3]");
  assert_refused(ath_embedding(graph, f32(2, 5, 3, 0), i32(1, 4, 0), 5),
                 "padding index 5 is not a row of the table f32[5, 3]");
  assert_refused(ath_layer_norm(graph, f32(2, 4, 3, 0), f32(1, 4, 0, 0), f32(1, 3, 0, 0), 1e-5f),
                 "layer_norm: gamma is f32[4], but x f32[4, 3] wants f32[3]");
  ath_dropout_place none = {.step = ATH_NO_VALUE};
  assert_refused(ath_residual_norm(graph, f32(2, 4, 3, 0), ATH_NO_VALUE, f32(2, 3, 4, 0),
                                   f32(1, 3, 0, 0), f32(1, 3, 0, 0), 1e-5f, none),
                 "x is f32[4, 3], but residual is f32[3, 4]");
}

static void attention_and_loss_shapes(void **state) {
  (void)state;
  ath_dropout_place none = {.step = ATH_NO_VALUE};
  assert_refused(ath_attention(graph, f32(3, 2, 5, 20), i32(2, 2, 5), 2, none),
                 "qkv f32[2, 5, 20] is not [batch, length, 3 * hidden] for 2 heads");
  assert_refused(ath_attention(graph, f32(3, 2, 5, 24), i32(2, 5, 2), 2, none),
                 "the mask is i32[5, 2], but qkv f32[2, 5, 24] wants i32[2, 5]");
  assert_refused(ath_attention(graph, f32(3, 2, 5, 24), i32(2, 2, 5), 0, none), "for 0 heads");
  assert_refused(ath_cross_entropy(graph, f32(2, 4, 7, 0), i32(1, 3, 0), f32(1, 4, 0, 0)).loss,
                 "labels are i32[3], but logits f32[4, 7] want i32[4]");
  assert_refused(ath_cross_entropy(graph, f32(2, 4, 7, 0), i32(1, 4, 0), f32(1, 3, 0, 0)).loss,
                 "weights are f32[3], but logits f32[4, 7] want f32[4]");
  assert_refused(ath_clip(graph, f32(1, 2, 0, 0), f32(0, 0, 0, 0), 1).scale,
                 "clip: sum_of_squares is f32[2], not a scalar");
}

static void adamw_shapes(void **state) {
  (void)state;
  begin();
  ath_value p = f32(2, 4, 3, 0), m = f32(2, 4, 3, 0), v = f32(2, 4, 3, 0), s = f32(0, 0, 0, 0);
  ath_adamw(graph, p, m, v, f32(1, 12, 0, 0), (ath_adamw_scalars){s, s, s, s},
            (ath_adamw_options){0});
  assert_fails(ath_graph_status(graph), ATH_INVALID,
               "adamw: the parameter is f32[4, 3], but the gradient is f32[12]");
  ath_graph_destroy(graph);
}

static void types_come_out_right(void **state) {
  (void)state;
  begin();
  char text[96];
  ath_type type;
#define assert_type(value, expected)            \
  (type = ath_graph_type(graph, (value)), assert_string_equal(ath_type_text(&type, text), expected))
  ath_dropout_place none = {.step = ATH_NO_VALUE};
  ath_value x = f32(3, 2, 5, 24);
  assert_type(ath_add(graph, x, f32(1, 24, 0, 0)), "f32[2, 5, 24]");
  assert_type(ath_linear(graph, x, f32(2, 7, 24, 0), f32(1, 7, 0, 0)), "f32[2, 5, 7]");
  assert_type(ath_matmul(graph, x, f32(2, 24, 3, 0), false, false), "f32[2, 5, 3]");
  assert_type(ath_matmul(graph, x, x, true, false), "f32[24, 24]");
  assert_type(ath_embedding(graph, f32(2, 9, 4, 0), i32(2, 2, 5), -1), "f32[2, 5, 4]");
  assert_type(ath_attention(graph, x, i32(2, 2, 5), 4, none), "f32[2, 5, 8]");
  assert_type(ath_reduce_rows(graph, x), "f32[24]");
  assert_type(ath_reduce_sum(graph, x), "f32[]");
  assert_int_equal(ath_dropout(graph, x, none), x);
  assert_int_equal(ath_reshape(graph, x, ath_graph_type(graph, x)), x);
  assert_ok(ath_graph_status(graph));
  ath_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_weight_that_does_not_fit_names_both_shapes_and_values),
    cmocka_unit_test(elementwise_shapes),
    cmocka_unit_test(shape_and_product_shapes),
    cmocka_unit_test(row_and_norm_shapes),
    cmocka_unit_test(attention_and_loss_shapes),
    cmocka_unit_test(adamw_shapes),
    cmocka_unit_test(types_come_out_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
