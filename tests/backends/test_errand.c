/* test_errand.c: calls of a thread of their own: in turn, and not waited for longer than said. */
#include "testing.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "backends/errand.h"
#include "base/clock.h"

enum { CALLERS = 4, CALLS = 200, PLENTY = 60 };

static struct { int calls, inside, most_inside; } seen; /* by the runner's thread alone */

static void count(void *context) {
  (void)context;
  seen.inside++;
  if (seen.inside > seen.most_inside) seen.most_inside = seen.inside;
  seen.calls++;
  seen.inside--;
}

static void *call_often(void *context) {
  ath_runner *runner = context;
  for (int i = 0; i < CALLS; i++)
    if (!ath_runner_call(runner, count, NULL, PLENTY)) return NULL;
  return runner;
}

static void test_several_callers_take_turns(void **state) {
  (void)state;
  ath_runner *runner;
  pthread_t threads[CALLERS];
  assert_ok(ath_runner_create(&runner));
  for (int i = 0; i < CALLERS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, call_often, runner), 0);
  for (int i = 0; i < CALLERS; i++) {
    void *finished = NULL;
    pthread_join(threads[i], &finished);
    assert_ptr_equal(finished, runner);
  }
  ath_runner_destroy(runner);
  assert_int_equal(seen.calls, CALLERS * CALLS);
  assert_int_equal(seen.most_inside, 1);
}

static void wait_for_post(void *context) { sem_wait(context); }

static void test_a_call_that_does_not_return_is_waited_for_so_long_and_no_longer(void **state) {
  (void)state;
  static ath_runner *runner; /* it is left to its stuck thread: no leak while this knows it */
  static sem_t never;
  sem_init(&never, 0, 0);
  assert_ok(ath_runner_create(&runner));
  double start = seconds_now();
  assert_false(ath_runner_call(runner, wait_for_post, &never, 0.2));
  double waited = seconds_now() - start;
  assert_true(waited >= 0.2 && waited < 10);
  start = seconds_now();
  assert_false(ath_runner_call(runner, count, NULL, PLENTY)); /* the thread is not to be had */
  ath_runner_destroy(runner);
  assert_true(seconds_now() - start < 10);
  sem_post(&never);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_several_callers_take_turns),
    cmocka_unit_test(test_a_call_that_does_not_return_is_waited_for_so_long_and_no_longer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
