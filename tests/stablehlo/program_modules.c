/* program_modules.c: prints a module by name, for test_modules.py to run: graphs that are awkward
 * for the printer, made of the operation in modules.h. */
#include <stdio.h>
#include <string.h>

#include "modules.h"

/* Names that MLIR would not take, and equal ones after it has been obeyed. */
static void names(ath_graph *g) {
  static const char *const odd[] = {"double.1", "double_2.1", "double/1", "0 a\"b\n} c", "ä", ""};
  for (int i = 0; i < 6; i++) {
    char output[8];
    snprintf(output, sizeof output, "%d", i);
    ath_graph_output(g, output, twice(g, ath_graph_input(g, odd[i], matrix)));
  }
}

/* Variables that change places, results that are arguments, the same result twice, a constant. */
static void swap(ath_graph *g) {
  ath_value a = ath_graph_variable(g, "a", matrix), b = ath_graph_variable(g, "b", matrix);
  ath_value c = ath_graph_variable(g, "c", matrix), x = ath_graph_input(g, "x", matrix);
  ath_value sum = twice(g, a);
  ath_graph_assign(g, a, b);
  ath_graph_assign(g, b, a);
  ath_graph_assign(g, c, sum);
  ath_graph_output(g, "old a", a);
  ath_graph_output(g, "x", x);
  ath_graph_output(g, "sum", sum);
  ath_graph_output(g, "sum again", sum);
  ath_graph_output(g, "constant", ath_graph_constant(g, matrix, 0.5));
}

static void held(ath_graph *g) {
  ath_value x = ath_graph_input(g, "x", matrix), w = ath_graph_variable(g, "w", matrix);
  ath_graph_set_scope(g, "held");
  ath_value inner = squared(g, x);
  ath_graph_set_scope(g, "free");
  ath_graph_assign(g, w, twice(g, inner));
  ath_graph_output(g, "y", squared(g, w));
}

/* Arguments and results whole on every device, values of the scope "held" spread over them. */
static ath_status spread_held(void *user, int kind, const char *name, const ath_type *type,
                              ath_buffer *out) {
  (void)user, (void)type;
  if (kind != -1) return ath_buffer_string(out, "{replicated}");
  if (strncmp(name, "held/", 5) != 0) return ATH_OK;
  return ath_buffer_string(out, "{devices=[4,1]<=[4]}");
}

static const struct {
  const char *name;
  void (*build)(ath_graph *g);
  ath_hlo_sharding sharding;
} modules[] = {
  {"names", names, {0}},
  {"swap", swap, {0}},
  {"held", held, {.print = spread_held, .partitions = 4}},
};

static ath_status print(int index) {
  ath_graph *g = NULL;
  ath_arena *arena = NULL;
  ath_buffer text = ath_buffer_make(1 << 20);
  ath_hlo_signature signature;
  ath_hlo_module_options options = {0};
  if (modules[index].sharding.print != NULL) options.sharding = &modules[index].sharding;
  ath_status status = ath_graph_create(&g);
  if (status == ATH_OK) status = ath_arena_create(1 << 20, &arena);
  if (status == ATH_OK) {
    modules[index].build(g);
    status = ath_hlo_module_print(g, &options, arena, &signature, &text);
  }
  if (status == ATH_OK) fwrite(text.bytes, 1, text.length, stdout);
  ath_buffer_free(&text);
  ath_arena_destroy(arena);
  ath_graph_destroy(g);
  return status;
}

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 2 && i < sizeof modules / sizeof *modules; i++)
    if (strcmp(argv[1], modules[i].name) == 0) {
      if (print((int)i) == ATH_OK) return 0;
      fprintf(stderr, "%s\n", ath_error_text());
    }
  return 1;
}
