/* test_pjrt_mesh.c: runs on 1, 2 and 4 devices, shared along each axis of the mesh and along two,
 * beside the same run on one: losses and weights agree, dropout included; checkpoints go from one
 * mesh to another and to the embedded engine; what cannot be shared is refused before a compiler
 * is asked. */
#include <dirent.h>

#include "backends/pjrt_testing.h"
#include "runs.h"

static const char *xla; /* the newest CPU plugin */

/* The same batch of 4 records, however it is shared. */
static void set_mesh(ath_train_options *options, const char *text) {
  ath_mesh mesh;
  assert_ok(ath_mesh_parse(text, &mesh));
  options->mesh = text;
  options->per_device_train_batch_size = 4 / ath_mesh_shares(&mesh);
}

/* Matrices large enough to be cut, heads enough for 4 devices. Compiled in a hurry; evaluation has
 * a test of its own. */
static ath_train_options options_on(const char *mesh) {
  ath_train_options options = options_of(xla);
  set_mesh(&options, mesh);
  options.eval_dataset = NULL;
  options.hidden_size = 32;
  options.num_hidden_layers = 2;
  options.num_attention_heads = 4;
  options.intermediate_size = 64;
  assert_true(options.hidden_dropout_prob > 0 && options.attention_probs_dropout_prob > 0);
  setenv("ATHANOR_XLA_OPTIONS", "xla_backend_optimization_level=0", 1);
  return options;
}

static void train_on(const char *mesh, const char *run) {
  ath_train_options options = options_on(mesh);
  assert_ok(train_into(options, run, 0));
  ath_train_options_free(&options);
}

static void assert_as_on_one_device(const char *run) {
  assert_near_losses(run, "one", 1e-5);
  assert_near_weights(run, "one", 1e-4);
}

static void assert_mesh_agrees(const char *mesh) {
  train_on(mesh, mesh);
  assert_as_on_one_device(mesh);
}

static void one_device_agrees_with_the_embedded_engine(void **state) {
  (void)state;
  train_on(NULL, "one");
  ath_train_options options = options_on(NULL);
  options.device = "cpu";
  assert_ok(train_into(options, "cpu", 0));
  assert_as_on_one_device("cpu");
  ath_train_options_free(&options);
}

static void each_axis_agrees_with_one_device(void **state) {
  (void)state;
  assert_mesh_agrees("model=2");
  assert_mesh_agrees("data=4");
  assert_mesh_agrees("fsdp=4");
}

static void two_axes_agree_with_one_device(void **state) {
  (void)state;
  assert_mesh_agrees("data=2,fsdp=2");
  assert_mesh_agrees("data=2,model=2");
}

static void the_new_partitioner_agrees_too(void **state) {
  (void)state;
  ath_train_options options = options_on("fsdp=2,model=2");
  setenv("ATHANOR_PARTITIONER", "shardy", 1);
  assert_ok(train_into(options, "shardy", 0));
  setenv("ATHANOR_PARTITIONER", "other", 1);
  assert_fails(train_into(options, "other", 0), ATH_USAGE, "there are gspmd and shardy");
  unsetenv("ATHANOR_PARTITIONER");
  assert_as_on_one_device("shardy");
  ath_train_options_free(&options);
}

/* Beside the embedded engine, which compiles nothing. */
static void micro_batches_are_shared_too(void **state) {
  (void)state;
  ath_train_options options = options_on("data=2,fsdp=2");
  options.gradient_accumulation_steps = 2;
  assert_ok(train_into(options, "micro-4", 0));
  options.device = "cpu";
  set_mesh(&options, NULL);
  assert_ok(train_into(options, "micro", 0));
  ath_train_options_free(&options);
  assert_near_losses("micro-4", "micro", 1e-5);
  assert_near_weights("micro-4", "micro", 1e-4);
}

/* The same devices to the end give the same bits, by way of the cache of compiled programs too. */
static void a_stopped_run_on_a_mesh_ends_with_the_same_bits(void **state) {
  (void)state;
  ath_train_options options = options_on("data=2,fsdp=2");
  assert_fails(train_into(options, "broken", 7), ATH_INTERRUPTED, "checkpoint-8");
  assert_ok(train_into(options, "broken", 0));
  assert_same_end("broken", "data=2,fsdp=2");
  ath_train_options_free(&options);
}

/* 4 devices, then 1, then 2 shared otherwise, then the embedded engine. */
static void a_run_goes_on_with_other_devices(void **state) {
  (void)state;
  ath_train_options options = options_on("data=2,fsdp=2");
  assert_fails(train_into(options, "moved", 4), ATH_INTERRUPTED, "checkpoint-5");
  options.mesh = NULL; /* one record a step is another run */
  assert_fails(train_into(options, "moved", 0), ATH_MISMATCH, "train_batch_size was 4, is 1");
  set_mesh(&options, NULL);
  assert_fails(train_into(options, "moved", 9), ATH_INTERRUPTED, "checkpoint-10");
  set_mesh(&options, "model=2");
  assert_fails(train_into(options, "moved", 14), ATH_INTERRUPTED, "checkpoint-15");
  set_mesh(&options, NULL);
  options.device = "cpu";
  assert_ok(train_into(options, "moved", 0));
  assert_as_on_one_device("moved");
  ath_train_options_free(&options);
}

static void evaluation_on_a_mesh_agrees(void **state) {
  (void)state;
  ath_eval_options options = {.batch_size = 4, .mlm_probability = 0.15, .seed = 42};
  ath_eval_result one, four;
  assert_ok(ath_evaluate(folder_of("one"), data.validation, "cpu", &options, &one));
  options.mesh = "fsdp=2,model=2";
  options.batch_size = 2; /* on each of two */
  assert_ok(ath_evaluate(folder_of("one"), data.validation, xla, &options, &four));
  assert_near(four.loss, one.loss, 0, 1e-5);
  assert_near(four.accuracy, one.accuracy, 1e-12, 0);
  assert_int_equal(four.scored, one.scored);
}

/* --- what is refused ----------------------------------------------------------------------- */

static int files_in(const char *path) {
  int count = 0;
  DIR *folder = opendir(path);
  for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;)
    count += *e->d_name != '.';
  if (folder != NULL) closedir(folder);
  return count;
}

static void assert_refused(ath_train_options options, ath_status status, const char *part) {
  setenv("ATHANOR_COMPILE_CACHE", in_folder(data.folder, "never"), 1);
  assert_fails(train_into(options, "refused", 0), status, part);
  assert_int_equal(files_in(in_folder(data.folder, "never")), 0); /* nothing was compiled */
}

static void what_cannot_be_shared_is_refused_before_compiling(void **state) {
  (void)state;
  ath_train_options options = options_on("model=3");
  assert_refused(options, ATH_INVALID, "4 attention heads (layer.0/attention/attention) cannot be "
                 "shared by model = 3 devices");
  options.mesh = "data=300";
  assert_refused(options, ATH_INVALID, "a mesh of 300 devices, and a CPU can be at most 256");
  options.device = "cpu";
  options.mesh = "data=2";
  assert_refused(options, ATH_UNSUPPORTED, "the device cpu is one device");
  options.mesh = "data=2,rows=2";
  assert_refused(options, ATH_USAGE, "mesh \"data=2,rows=2\" is not of the form");
  ath_train_options_free(&options);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_device_agrees_with_the_embedded_engine),
    cmocka_unit_test(each_axis_agrees_with_one_device),
    cmocka_unit_test(two_axes_agree_with_one_device),
    cmocka_unit_test(the_new_partitioner_agrees_too),
    cmocka_unit_test(micro_batches_are_shared_too),
    cmocka_unit_test(a_stopped_run_on_a_mesh_ends_with_the_same_bits),
    cmocka_unit_test(a_run_goes_on_with_other_devices),
    cmocka_unit_test(evaluation_on_a_mesh_agrees),
    cmocka_unit_test(what_cannot_be_shared_is_refused_before_compiling),
  };
  xla = cpu_plugins[CPU_PLUGINS - 1];
  if (!have_plugin(xla)) return 0;
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
