/* attention.c - A kernel that was compiled ahead of time, in a program of C alone.
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Queries are zero, so that all visible keys have the same weight and each row of
 * the output is the mean of the values that it sees: the last 32 up to its own.
 */

#include "window.h"

#include <stdio.h>
#include <stdlib.h>

enum { batch = 2, heads = 4, kv_heads = 2, length = 100, width = 64, window = 32 };

static float query[batch][heads][length][width];
static float key[batch][kv_heads][length][width];
static float value[batch][kv_heads][length][width];
static float out[batch][heads][length][width];
static float lse[batch][heads][length];

static int is_mean(int b, int h, int q, int x) {
  const int first = q < window ? 0 : q - window + 1;
  double sum = 0;
  for (int k = first; k <= q; ++k)
    sum += value[b][h / (heads / kv_heads)][k][x];
  const double difference = out[b][h][q][x] - sum / (q - first + 1);
  return difference < 1e-4 && difference > -1e-4;
}

int main(void) {
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < kv_heads; ++h)
      for (int k = 0; k < length; ++k)
        for (int x = 0; x < width; ++x) {
          key[b][h][k][x] = 1;
          value[b][h][k][x] = (float)(1000 * b + 100 * h + k) + (float)x / width;
        }

  struct window_arguments arguments = {.batch = batch,
                                       .heads = heads,
                                       .kv_heads = kv_heads,
                                       .query_length = length,
                                       .key_length = length,
                                       .scale = 0.125F,
                                       .scalar_window = window};
  arguments.query.data = &query[0][0][0][0];
  arguments.key.data = &key[0][0][0][0];
  arguments.value.data = &value[0][0][0][0];
  arguments.out.data = &out[0][0][0][0];
  arguments.lse.data = &lse[0][0][0];
  window_set_dense_strides(&arguments);

  const size_t size = window_workspace_size(&arguments);
  void *workspace = size > 0 ? malloc(size) : NULL;
  const int status = window_run(&arguments, workspace, size);
  free(workspace);
  if (status != window_success) {
    fprintf(stderr, "not computed: %s\n", window_status_text(status));
    return EXIT_FAILURE;
  }

  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < heads; ++h)
      for (int q = 0; q < length; ++q)
        for (int x = 0; x < width; ++x)
          if (!is_mean(b, h, q, x)) {
            fprintf(stderr, "out[%d][%d][%d][%d] is %g\n", b, h, q, x, out[b][h][q][x]);
            return EXIT_FAILURE;
          }
  printf("all %d rows are the means of the values that they see; the last one starts with %.1f\n",
         batch * heads * length, out[batch - 1][heads - 1][length - 1][0]);
  return EXIT_SUCCESS;
}
