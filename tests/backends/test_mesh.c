/* test_mesh.c: reading a mesh, the text of shardings, the rule for a model's values, the parts of a
 * value. What the text means to a partitioner is seen where programs run (test_pjrt_mesh). */
#include "athanor/ops.h"
#include "backends/pjrt/partition.h"
#include "testing.h"

static const ath_mesh one = {1, 1, 1};

/* --- reading ------------------------------------------------------------------------------- */

static void a_mesh_is_read_from_text(void **state) {
  (void)state;
  static const struct { const char *text; ath_mesh mesh; } cases[] = {
    {NULL, {1, 1, 1}}, {"data=1", {1, 1, 1}}, {"data=4", {4, 1, 1}}, {"fsdp=3", {1, 3, 1}},
    {"data=2,fsdp=4", {2, 4, 1}}, {"model=8,data=2", {2, 1, 8}},
    {"data=2,fsdp=3,model=5", {2, 3, 5}}, {"data=65536", {65536, 1, 1}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_mesh mesh;
    assert_ok(ath_mesh_parse(cases[i].text, &mesh));
    assert_memory_equal(&mesh, &cases[i].mesh, sizeof mesh);
  }
  char text[64];
  assert_string_equal(ath_mesh_text(&(ath_mesh){2, 3, 5}, text), "data=2,fsdp=3,model=5");
  assert_string_equal(ath_mesh_text(&(ath_mesh){1, 4, 1}, text), "fsdp=4"); /* as it was typed */
  assert_string_equal(ath_mesh_text(&(ath_mesh){2, 1, 2}, text), "data=2,model=2");
  assert_string_equal(ath_mesh_text(&one, text), "data=1");
  assert_int_equal(ath_mesh_devices(&(ath_mesh){2, 3, 5}), 30);
}

static void any_other_text_is_refused(void **state) {
  (void)state;
  static const char *const cases[] = {
    "", "4", "data", "data=", "data=0", "data=-1", "data=+2", "data= 2", "data=2,", ",data=2",
    "data=2,data=2", "data=2;fsdp=2", "tensor=2", "data=2x", "data=99999999999999999999",
    "data=65537", "DATA=2", "data=02"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ath_mesh mesh;
    assert_fails(ath_mesh_parse(cases[i], &mesh), ATH_USAGE, "is not of the form data=N");
  }
  ath_mesh mesh;
  assert_fails(ath_mesh_parse("data=65536,fsdp=65536,model=2", &mesh), ATH_USAGE,
               "has 8589934592 devices; at most 65536");
}

/* --- text ---------------------------------------------------------------------------------- */

static void assert_text(ath_mesh mesh, int rank, ath_split split, const char *wanted) {
  ath_buffer text = ath_buffer_make(1 << 10);
  assert_ok(ath_split_print(&split, &mesh, rank, &text));
  assert_string_equal(text.bytes, wanted);
  ath_buffer_free(&text);
}

/* The first two are those of the experiments (design/pjrt.md); the others are by the definition of
 * HloShardingProto's iota form: reshape the list of devices, transpose it, cut it by the tiles. */
static void a_split_is_printed_as_a_list_of_devices(void **state) {
  (void)state;
  const uint8_t d = ATH_AXIS_DATA, f = ATH_AXIS_FSDP, m = ATH_AXIS_MODEL;
  assert_text((ath_mesh){4, 1, 1}, 2, (ath_split){{d | f}}, "{devices=[4,1]<=[4]}");
  assert_text((ath_mesh){4, 1, 1}, 2, (ath_split){{0}}, "{replicated}");
  assert_text((ath_mesh){4, 1, 1}, 0, (ath_split){{0}}, "{replicated}");
  assert_text((ath_mesh){4, 1, 1}, 2, (ath_split){{f}}, "{replicated}"); /* an axis of one */
  assert_text((ath_mesh){2, 2, 1}, 2, (ath_split){{d | f}}, "{devices=[4,1]<=[4]}");
  assert_text((ath_mesh){2, 2, 1}, 2, (ath_split){{d}},
              "{devices=[2,1,2]<=[4] last_tile_dim_replicate}");
  assert_text((ath_mesh){2, 2, 1}, 2, (ath_split){{f}},
              "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}");
  assert_text((ath_mesh){2, 1, 3}, 2, (ath_split){{0, m}},
              "{devices=[1,3,2]<=[2,3]T(1,0) last_tile_dim_replicate}");
  assert_text((ath_mesh){2, 3, 4}, 3, (ath_split){{d | f, 0, m}}, "{devices=[6,1,4]<=[24]}");
  assert_text((ath_mesh){2, 3, 4}, 2, (ath_split){{m, f}},
              "{devices=[4,3,2]<=[2,3,4]T(2,1,0) last_tile_dim_replicate}");
  assert_text((ath_mesh){2, 3, 4}, 2, (ath_split){{f, m}},
              "{devices=[3,4,2]<=[2,3,4]T(1,2,0) last_tile_dim_replicate}");
}

/* --- the rule ------------------------------------------------------------------------------ */

static void assert_variable(ath_mesh mesh, const char *name, int rows, int columns,
                            const char *wanted) {
  ath_type type = columns > 0 ? ath_type_make(ATH_F32, 2, rows, columns)
                              : ath_type_make(ATH_F32, 1, rows);
  assert_text(mesh, type.rank, ath_mesh_variable(&mesh, name, &type), wanted);
}

static void heads_and_inner_columns_are_cut_by_model(void **state) {
  (void)state;
  const ath_mesh mesh = {1, 1, 2};
  const char *rows = "{devices=[2,1]<=[2]}", *columns = "{devices=[1,2]<=[2]}";
  const char *layer = "roberta.encoder.layer.0.";
  static const struct { const char *name; int rows, columns, cut; } cases[] = {
    {"attention.self.qkv.weight", 192, 64, 0}, {"attention.output.dense.weight", 64, 64, 1},
    {"intermediate.dense.weight", 256, 64, 0}, {"output.dense.weight", 64, 256, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int p = 0; p < 4; p++) {
      static const char *const prefixes[] = {"", "m.", "v.", "sum."};
      char name[128];
      snprintf(name, sizeof name, "%s%s%s", prefixes[p], layer, cases[i].name);
      assert_variable(mesh, name, cases[i].rows, cases[i].columns,
                      cases[i].cut == 0 ? rows : columns);
    }
  assert_variable(mesh, "roberta.encoder.layer.0.attention.self.qkv.bias", 192, 0,
                  "{devices=[2]<=[2]}");
  assert_variable(mesh, "roberta.encoder.layer.0.intermediate.dense.bias", 256, 0,
                  "{devices=[2]<=[2]}");
  assert_variable(mesh, "roberta.encoder.layer.0.output.dense.bias", 64, 0, "{replicated}");
  assert_variable(mesh, "roberta.encoder.layer.0.output.LayerNorm.weight", 64, 0, "{replicated}");
  assert_variable(mesh, "roberta.embeddings.word_embeddings.weight", 100, 64, rows);
  assert_variable(mesh, "roberta.embeddings.word_embeddings.weight", 101, 64, "{replicated}");
  assert_variable(mesh, "lm_head.dense.weight", 64, 64, "{replicated}");
}

static void matrices_are_cut_by_fsdp_along_their_largest_dimension_that_divides(void **state) {
  (void)state;
  const ath_mesh mesh = {1, 4, 1};
  assert_variable(mesh, "a", 256, 64, "{devices=[4,1]<=[4]}");
  assert_variable(mesh, "a", 64, 256, "{devices=[1,4]<=[4]}");
  assert_variable(mesh, "a", 64, 64, "{devices=[4,1]<=[4]}");
  assert_variable(mesh, "a", 257, 64, "{devices=[1,4]<=[4]}");
  assert_variable(mesh, "a", 257, 63, "{replicated}");
  assert_variable(mesh, "a", 16, 16, "{replicated}"); /* small */
  assert_variable(mesh, "a", 65536, 0, "{replicated}");
  assert_variable((ath_mesh){2, 4, 1}, "a", 256, 64,
                  "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}");
  assert_variable((ath_mesh){1, 2, 2}, "x.intermediate.dense.weight", 256, 64,
                  "{devices=[2,2]<=[2,2]T(1,0)}");
  assert_variable((ath_mesh){8, 1, 1}, "a", 256, 64, "{replicated}");
}

static void batches_are_cut_by_data_and_fsdp(void **state) {
  (void)state;
  const ath_mesh mesh = {2, 2, 2};
  ath_type ids = ath_type_make(ATH_I32, 2, 8, 16), odd = ath_type_make(ATH_I32, 1, 10);
  ath_type step = ath_type_make(ATH_U32, 0);
  assert_text(mesh, 2, ath_mesh_input(&mesh, &ids),
              "{devices=[4,1,2]<=[8] last_tile_dim_replicate}");
  assert_text(mesh, 1, ath_mesh_input(&mesh, &odd), "{replicated}");
  assert_text(mesh, 0, ath_mesh_input(&mesh, &step), "{replicated}");
}

/* --- a graph ------------------------------------------------------------------------------- */

/* x w, its gradient in bf16 and f32, AdamW. */
static ath_graph *make_step(int rows) {
  ath_graph *g;
  ath_type matrix = ath_type_make(ATH_F32, 2, 64, 32), scalar = ath_type_make(ATH_F32, 0);
  assert_ok(ath_graph_create(&g));
  ath_value x = ath_graph_input(g, "x", ath_type_make(ATH_BF16, 3, rows, 4, 32));
  ath_value w = ath_graph_variable(g, "w", matrix), m = ath_graph_variable(g, "m.w", matrix);
  ath_value v = ath_graph_variable(g, "v.w", matrix);
  ath_value rate = ath_graph_input(g, "rate", scalar), gradient;
  ath_graph_set_scope(g, "layer");
  ath_value y = ath_linear(g, x, ath_convert(g, w, ATH_BF16), ATH_NO_VALUE);
  ath_value loss = ath_reduce_sum(g, ath_gelu(g, y, 0));
  assert_ok(ath_graph_gradients(g, loss, &w, 1, &gradient));
  ath_graph_output(g, "gradient", gradient);
  ath_adamw(g, w, m, v, gradient, (ath_adamw_scalars){rate, rate, rate, rate},
            (ath_adamw_options){0.9f, 0.999f, 1e-8f, 0});
  assert_ok(ath_graph_status(g));
  return g;
}

static void assert_has(const ath_buffer *text, const char *part) {
  if (strstr(text->bytes, part) == NULL) fail_msg("\"%s\" is not in\n%s", part, text->bytes);
}

/* Gradients and converted weights lie as the weight does, activations like the batch, and every
 * argument and result says where it lies. */
static void values_inside_are_held_where_their_variable_or_batch_lies(void **state) {
  (void)state;
  ath_graph *g = make_step(8);
  const ath_mesh mesh = {2, 2, 1};
  ath_partition partition;
  ath_arena *arena;
  ath_hlo_signature signature;
  ath_buffer text = ath_buffer_make(1 << 20);
  assert_ok(ath_arena_create(1 << 20, &arena));
  assert_ok(ath_partition_create(&mesh, g, &partition));
  ath_hlo_module_options options = {.sharding = &partition.sharding};
  assert_ok(ath_hlo_module_print(g, &options, arena, &signature, &text));
  assert_has(&text, "mhlo.num_partitions = 4");
  assert_has(&text, "%w: tensor<64x32xf32> {mhlo.sharding = \"{devices=[2,1,2]<=[2,2]T(1,0) "
             "last_tile_dim_replicate}\", tf.aliasing_output = 0 : i32}");
  assert_has(&text, "%x: tensor<8x4x32xbf16> {mhlo.sharding = \"{devices=[4,1,1]<=[4]}\"}");
  assert_has(&text, "%rate: tensor<f32> {mhlo.sharding = \"{replicated}\"}");
  assert_has(&text, "tensor<64x32xf32> {mhlo.sharding = \"{replicated}\"} // gradient");
  const char *as_weight = "\"{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}\"";
  static const char *const inside[] = {"f32", "bf16"}; /* the gradient of each precision */
  for (int i = 0; i < 2; i++) {
    char call[256];
    snprintf(call, sizeof call, "{mhlo.sharding = %s} : (tensor<64x32x%s>)", as_weight, inside[i]);
    assert_has(&text, call);
  }
  assert_has(&text, "{mhlo.sharding = \"{devices=[4,1,1]<=[4]}\"} : (tensor<8x4x64xbf16>)");
  ath_partition_destroy(&partition);
  ath_arena_destroy(arena);
  ath_buffer_free(&text);
  ath_graph_destroy(g);
}

/* A table that is both looked up and multiplied with, as word embeddings are: each device adds its
 * parts of the two gradients, and one sum travels. */
static void gradients_of_a_tied_matrix_are_added_before_they_are_reduced(void **state) {
  (void)state;
  ath_graph *g;
  ath_arena *arena;
  ath_hlo_signature signature;
  ath_buffer text = ath_buffer_make(1 << 20);
  assert_ok(ath_graph_create(&g));
  assert_ok(ath_arena_create(1 << 20, &arena));
  ath_value table = ath_graph_variable(g, "table", ath_type_make(ATH_F32, 2, 2048, 32)), gradient;
  ath_value ids = ath_graph_input(g, "ids", ath_type_make(ATH_I32, 2, 8, 4));
  ath_value x = ath_embedding(g, table, ids, -1);
  ath_value y = ath_linear(g, x, table, ATH_NO_VALUE);
  assert_ok(ath_graph_gradients(g, ath_reduce_sum(g, ath_gelu(g, y, 0)), &table, 1, &gradient));
  ath_graph_assign(g, table, gradient);
  const ath_mesh mesh = {2, 2, 1};
  assert_ok(ath_partition_print_module(&mesh, g, arena, &signature, &text));
  assert_has(&text, "contracting_dims = [1] x [1]");
  assert_has(&text, "{mhlo.sharding = \"{devices=[4,1,1]<=[4]}\"} : (tensor<4x2048x32xf32>)");
  const char *reduce = "across dimensions = [0] : (tensor<4x2048x32xf32>";
  assert_has(&text, reduce);
  assert_null(strstr(strstr(text.bytes, reduce) + 1, reduce));
  ath_arena_destroy(arena);
  ath_buffer_free(&text);
  ath_graph_destroy(g);
}

static void a_batch_that_does_not_divide_is_refused_with_the_numbers(void **state) {
  (void)state;
  ath_graph *g = make_step(6);
  ath_partition partition;
  assert_fails(ath_partition_create(&(ath_mesh){2, 2, 1}, g, &partition), ATH_INVALID,
               "mesh data=2,fsdp=2: a batch of 6 (x: bf16[6, 4, 32]) cannot be shared by "
               "data * fsdp = 4 devices; make it a multiple of 4");
  assert_ok(ath_partition_create(&(ath_mesh){2, 1, 2}, g, &partition));
  ath_partition_destroy(&partition);
  ath_graph_destroy(g);
}

/* --- parts --------------------------------------------------------------------------------- */

static uint32_t draw(uint32_t *state, uint32_t below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

/* A random shape, each dimension a multiple of the axes that cut it. */
static ath_type random_type(uint32_t *seed, const ath_mesh *mesh, ath_split *split) {
  ath_type type = {.dtype = draw(seed, 2) ? ATH_F32 : ATH_BF16, .rank = (int)draw(seed, 5)};
  *split = (ath_split){0};
  for (int a = 0; a < ATH_MESH_AXES; a++) {
    uint32_t d = draw(seed, 6);
    if (d < (uint32_t)type.rank) split->axes[d] |= (uint8_t)(1u << a);
  }
  for (int d = 0; d < type.rank; d++)
    type.dims[d] = (1 + draw(seed, 4)) * ath_mesh_along(mesh, split->axes[d]);
  return type;
}

/* Where the element of a part with these indices lies in the whole, by the definition: each
 * device's place along an axis, the part's number row-major over the axes that cut. */
static int64_t place_in_whole(const ath_split *split, const ath_mesh *mesh, const ath_type *whole,
                              const ath_type *part, int device, int64_t element) {
  const int sizes[3] = {mesh->data, mesh->fsdp, mesh->model};
  const int places[3] = {device / (mesh->model * mesh->fsdp), device / mesh->model % mesh->fsdp,
                         device % mesh->model};
  int64_t place = 0, step = 1;
  for (int d = whole->rank - 1; d >= 0; d--) {
    int64_t index = element % part->dims[d];
    element /= part->dims[d];
    int number = 0;
    for (int a = 0; a < 3; a++)
      if (split->axes[d] & (1u << a)) number = number * sizes[a] + places[a];
    place += (number * part->dims[d] + index) * step;
    step *= whole->dims[d];
  }
  return place;
}

static void check_parts(uint32_t *seed) {
  ath_mesh mesh = {1 + (int)draw(seed, 3), 1 + (int)draw(seed, 3), 1 + (int)draw(seed, 3)};
  ath_split split;
  ath_type whole = random_type(seed, &mesh, &split);
  ath_type part = ath_split_type(&split, &mesh, &whole);
  size_t size = ath_dtype_size(whole.dtype), bytes = ath_type_bytes(&whole);
  unsigned char *from = malloc(bytes), *to = calloc(1, bytes), *piece = malloc(bytes);
  int64_t covered = 0;
  for (size_t i = 0; i < bytes; i++) from[i] = (unsigned char)(1 + draw(seed, 255));
  for (int device = 0; device < ath_mesh_devices(&mesh); device++) {
    ath_split_cut(&split, &mesh, &whole, device, from, piece);
    for (int64_t e = 0; e < ath_type_count(&part); e++)
      assert_memory_equal(piece + (size_t)e * size,
                          from + (size_t)place_in_whole(&split, &mesh, &whole, &part, device, e) *
                                     size, size);
    if (!ath_split_is_first(&split, &mesh, 0, device)) continue;
    ath_split_join(&split, &mesh, &whole, device, piece, to);
    covered += ath_type_count(&part);
  }
  assert_int_equal(covered, ath_type_count(&whole)); /* each element once */
  assert_memory_equal(from, to, bytes);
  free(from);
  free(to);
  free(piece);
}

static void parts_put_together_are_the_whole(void **state) {
  (void)state;
  uint32_t seed = 7;
  for (int i = 0; i < 500; i++) check_parts(&seed);
}

static void on_one_device_the_part_is_the_whole(void **state) {
  (void)state;
  ath_type type = ath_type_make(ATH_F32, 2, 64, 32);
  ath_split split = ath_mesh_variable(&one, "x.intermediate.dense.weight", &type);
  ath_type part = ath_split_type(&split, &one, &type);
  assert_true(ath_type_equal(&part, &type));
  assert_text(one, 2, split, "{replicated}");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_mesh_is_read_from_text),
    cmocka_unit_test(any_other_text_is_refused),
    cmocka_unit_test(a_split_is_printed_as_a_list_of_devices),
    cmocka_unit_test(heads_and_inner_columns_are_cut_by_model),
    cmocka_unit_test(matrices_are_cut_by_fsdp_along_their_largest_dimension_that_divides),
    cmocka_unit_test(batches_are_cut_by_data_and_fsdp),
    cmocka_unit_test(values_inside_are_held_where_their_variable_or_batch_lies),
    cmocka_unit_test(gradients_of_a_tied_matrix_are_added_before_they_are_reduced),
    cmocka_unit_test(a_batch_that_does_not_divide_is_refused_with_the_numbers),
    cmocka_unit_test(parts_put_together_are_the_whole),
    cmocka_unit_test(on_one_device_the_part_is_the_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
