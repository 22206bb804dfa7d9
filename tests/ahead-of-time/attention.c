/* attention.c - An object's results against attention in f64, on the processor that it is for.
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * check_aarch64.py compiles this once for each kernel, and defines:
 *
 *   HEADER         the object's header; its functions begin with `kernel`
 *   HEAD_DIM, VALUE_DIM
 *   F64, F32, F16 or BF16      the dtype of all tensors but the LSE and the slopes
 *   SEES(q, k)     the mask
 *   SCORE(s)       the score function of s, h, q and k
 *   GIVE           statements that set what the kernel takes besides its tensors
 */

#include HEADER

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(F64)
typedef double element;
typedef double lse_element;
static const double unit = 1e-12;
static element narrow(double x) {
  return x;
}
static double widen(element x) {
  return x;
}
#elif defined(F32)
typedef float element;
typedef float lse_element;
static const double unit = 0x1p-19;
static element narrow(double x) {
  return (float)x;
}
static double widen(element x) {
  return x;
}
#else
typedef uint16_t element;
typedef float lse_element;
#if defined(F16)
enum { mantissa = 10, bias = 15 };
static const double unit = 0x1.8p-12;
#else
enum { mantissa = 7, bias = 127 };
static const double unit = 0x1.8p-9;
#endif
/* For numbers that do not overflow, all that is used here. */
static element narrow(double x) {
  if (x == 0)
    return 0;
  int exponent;
  frexp(x, &exponent);                                  /* |x| is in [1/2, 1) * 2^exponent */
  exponent = exponent > 2 - bias ? exponent : 2 - bias; /* subnormal below */
  const int bits = (int)nearbyint(ldexp(fabs(x), mantissa + 1 - exponent));
  return (element)((x < 0 ? 0x8000 : 0) + (exponent - 2 + bias) * (1 << mantissa) + bits);
}
static double widen(element x) {
  const int exponent = (x & 0x7fff) >> mantissa, fraction = x & ((1 << mantissa) - 1);
  double magnitude = exponent == 0 ? ldexp(fraction, 1 - bias - mantissa)
                                   : ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
  if (exponent == (0x7fff >> mantissa))
    magnitude = fraction ? NAN : INFINITY;
  return x & 0x8000 ? -magnitude : magnitude;
}
#endif

struct shape {
  int batch, heads, kv_heads, queries, keys;
};

static uint64_t state = 1;

/* About normal: the sum of twelve uniform numbers. */
static double noise(void) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    sum += (double)(state >> 40) / (1 << 24);
  }
  return sum;
}

static void *filled(size_t bytes) {
  void *memory = malloc(bytes + 1);
  memset(memory, 0xff, bytes + 1); /* NaN in every dtype, so that nothing is right by luck */
  return memory;
}

static element *noises(size_t count) {
  element *memory = filled(count * sizeof(element));
  for (size_t i = 0; i < count; ++i)
    memory[i] = narrow(noise());
  return memory;
}

/* The output row and the LSE of query `q` of head `h`. */
static double attend(double *row, double scale, const float *slopes, int h, int q, int keys,
                     const element *query, const element *key, const element *value) {
  double *scores = filled(sizeof(double) * (size_t)(keys + 1));
  double maximum = -INFINITY, sum = 0;
  (void)slopes, (void)h, (void)q;
  for (int k = 0; k < keys; ++k) {
    double s = 0;
    for (int x = 0; x < HEAD_DIM; ++x)
      s += widen(query[x]) * widen(key[(size_t)k * HEAD_DIM + x]);
    s *= scale;
    scores[k] = SEES(q, k) ? SCORE(s) : -INFINITY;
    maximum = fmax(maximum, scores[k]);
  }
  memset(row, 0, sizeof(double) * VALUE_DIM);
  for (int k = 0; k < keys && maximum > -INFINITY; ++k) {
    const double p = exp(scores[k] - maximum);
    sum += p;
    for (int x = 0; x < VALUE_DIM; ++x)
      row[x] += p * widen(value[(size_t)k * VALUE_DIM + x]);
  }
  for (int x = 0; x < VALUE_DIM; ++x)
    row[x] = sum > 0 ? row[x] / sum : 0;
  free(scores);
  return sum > 0 ? maximum + log(sum) : -INFINITY;
}

/* The phases and their items in the order that a host's threads might take them. */
static int run_in_pieces(struct kernel_arguments *arguments, void *workspace, size_t size) {
  const int status = kernel_check(arguments, workspace, size);
  for (int phase = 0; status == 0 && phase < kernel_phases; ++phase)
    for (int64_t item = kernel_items(arguments, phase); item-- > 0;)
      if (kernel_run_item(arguments, workspace, size, phase, item) != 0)
        return -1;
  return status;
}

static int check(struct shape shape) {
  const size_t heads = (size_t)shape.batch * shape.heads;
  const size_t kv_heads = (size_t)shape.batch * shape.kv_heads;
  element *query = noises(heads * shape.queries * HEAD_DIM);
  element *key = noises(kv_heads * shape.keys * HEAD_DIM);
  element *value = noises(kv_heads * shape.keys * VALUE_DIM);
  element *out = filled(heads * shape.queries * VALUE_DIM * sizeof(element));
  lse_element *lse = filled(heads * shape.queries * sizeof(lse_element));
  float slopes[64];
  for (int h = 0; h < 64; ++h)
    slopes[h] = (float)noise() / 8;

  struct kernel_arguments arguments = {.batch = shape.batch,
                                       .heads = shape.heads,
                                       .kv_heads = shape.kv_heads,
                                       .query_length = shape.queries,
                                       .key_length = shape.keys};
  arguments.scale = (lse_element)(1 / sqrt(HEAD_DIM));
  arguments.query.data = query;
  arguments.key.data = key;
  arguments.value.data = value;
  arguments.out.data = out;
  arguments.lse.data = lse;
  kernel_set_dense_strides(&arguments);
  GIVE;

  const size_t size = kernel_workspace_size(&arguments);
  char *workspace = filled(size);
  int status = run_in_pieces(&arguments, workspace + 1, size);
  const size_t out_bytes = heads * shape.queries * VALUE_DIM * sizeof(element);
  element *out_of_pieces = memcpy(filled(out_bytes), out, out_bytes);
  memset(out, 0xff, out_bytes);
  memset(lse, 0xff, heads * shape.queries * sizeof(lse_element));
  if (status == 0)
    status = kernel_run(&arguments, workspace + 1, size);
  if (status != 0) {
    printf("refused: %s\n", status < 0 ? "an item" : kernel_status_text(status));
    return 1;
  }
  const int differ = memcmp(out, out_of_pieces, out_bytes) != 0;

  double row[VALUE_DIM], difference = 0, norm = 0, worst_lse = 0;
  for (size_t bh = 0; bh < heads; ++bh) {
    const int h = (int)(bh % shape.heads);
    const size_t kv = bh / shape.heads * shape.kv_heads + h / (shape.heads / shape.kv_heads);
    for (int q = 0; q < shape.queries; ++q) {
      const size_t at = bh * shape.queries + q;
      const double right =
          attend(row, arguments.scale, slopes, h, q, shape.keys, query + at * HEAD_DIM,
                 key + kv * shape.keys * HEAD_DIM, value + kv * shape.keys * VALUE_DIM);
      for (int x = 0; x < VALUE_DIM; ++x) {
        const double error = widen(out[at * VALUE_DIM + x]) - row[x];
        difference += error * error, norm += row[x] * row[x];
      }
      if (!(lse[at] == right)) {
        const double error = fabs(lse[at] - right) / fmax(1, fabs(right));
        /* Once NaN, it stays. */
        worst_lse = worst_lse != worst_lse || error <= worst_lse ? worst_lse : error;
      }
    }
  }
  const double relative = norm > 0 ? sqrt(difference / norm) : sqrt(difference);
  const double lse_limit = sizeof(lse_element) == 8 ? 1e-12 : 1e-5;
  const int failed = !(relative <= unit && worst_lse <= lse_limit) || differ;
  printf("%s %d,%d,%d,%d,%d: O off by %.3g of %.3g, LSE by %.3g of %.3g%s\n",
         failed ? "WRONG" : "right", shape.batch, shape.heads, shape.kv_heads, shape.queries,
         shape.keys, relative, unit, worst_lse, lse_limit,
         differ ? ", in pieces it is another O" : "");
  free(query), free(key), free(value), free(out), free(out_of_pieces), free(lse), free(workspace);
  return failed;
}

int main(void) {
  static const struct shape shapes[] = {
      {1, 1, 1, 1, 1},    {2, 4, 2, 37, 53},  {1, 6, 2, 1, 700}, {1, 4, 1, 4, 333},
      {1, 2, 1, 16, 600}, {1, 1, 1, 100, 99}, {1, 1, 1, 200, 7}, {1, 3, 3, 5, 0},
  };
  int failed = 0;
  for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i)
    failed += check(shapes[i]);
  if (failed > 0)
    printf("%d launches are wrong\n", failed);
  return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
