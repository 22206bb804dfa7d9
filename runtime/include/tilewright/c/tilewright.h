/*===- tilewright.h - Attention kernels from C ------------------------------*- C -*-===
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loads a kernel image, or compiles a kernel where the compiler library is
 * installed, and launches it on the caller's tensors:
 *
 *   tilewright_kernel *kernel = NULL;
 *   tilewright_status *status = tilewright_kernel_load_file("kernel.twk", &kernel);
 *   if (status) {
 *     fprintf(stderr, "%s\n", tilewright_status_message(status));
 *     tilewright_status_destroy(status);
 *   }
 *
 * Errors: a function that can fail returns NULL for success, or a status that the
 * caller destroys. What such a function would have made is NULL then.
 *
 * Ownership: handles are destroyed by whoever made them. Structures that are
 * passed in are read during the call and not kept, nor are the strings and arrays
 * they point to. Tensors belong to the caller, for a GPU until the stream has done
 * the launch's work.
 *
 * Threads: every function may be called from any thread, and on one kernel from
 * several at once. Destroying a handle while another call uses it is an error of
 * the caller.
 *
 *===------------------------------------------------------------------------------===*/

#ifndef TILEWRIGHT_C_TILEWRIGHT_H
#define TILEWRIGHT_C_TILEWRIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#error "Tilewright is for Unix-like systems"
#endif
#define TILEWRIGHT_C_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a function or a structure of this header changes its meaning or layout. */
#define TILEWRIGHT_C_ABI_VERSION 2

/* The version that the library was built with; a program compares it with the macro's. */
TILEWRIGHT_C_EXPORT uint32_t tilewright_c_abi_version(void);

/*===--------------------------------------------------------------------------===
 * Errors
 *===--------------------------------------------------------------------------===*/

typedef enum tilewright_status_code {
  TILEWRIGHT_OK = 0,
  /* The caller's input is wrong; the message names the argument, the value and the limit. */
  TILEWRIGHT_INVALID_ARGUMENT = 1,
  /* The input is meaningful, but this build, device or schedule cannot serve it. */
  TILEWRIGHT_UNSUPPORTED = 2,
  /* A file, the driver or the system failed. */
  TILEWRIGHT_SYSTEM = 3,
  /* Tilewright itself is at fault. */
  TILEWRIGHT_INTERNAL = 4
} tilewright_status_code;

typedef struct tilewright_status tilewright_status;

/* TILEWRIGHT_OK for NULL. */
TILEWRIGHT_C_EXPORT tilewright_status_code tilewright_status_get_code(const tilewright_status *);

/* One or more sentences in UTF-8, "" for NULL; valid until the status is destroyed. */
TILEWRIGHT_C_EXPORT const char *tilewright_status_message(const tilewright_status *);

/* NULL is fine. */
TILEWRIGHT_C_EXPORT void tilewright_status_destroy(tilewright_status *);

/*===--------------------------------------------------------------------------===
 * Tensors
 *===--------------------------------------------------------------------------===*/

typedef enum tilewright_dtype {
  TILEWRIGHT_F64 = 0,
  TILEWRIGHT_F32 = 1,
  TILEWRIGHT_F16 = 2,
  TILEWRIGHT_BF16 = 3,
  TILEWRIGHT_I64 = 4,
  TILEWRIGHT_I32 = 5,
  TILEWRIGHT_U8 = 6,
  TILEWRIGHT_BOOL = 7 /* one byte, 0 or 1 */
} tilewright_dtype;

#define TILEWRIGHT_MAX_RANK 8

/* Strides count elements, and may be 0 for an expanded dimension. `data` is the address of the
 * element with all indices 0: of host memory for a CPU kernel, of device memory for a GPU's. */
typedef struct tilewright_tensor {
  void *data;
  tilewright_dtype dtype;
  uint32_t rank;
  int64_t shape[TILEWRIGHT_MAX_RANK];
  int64_t strides[TILEWRIGHT_MAX_RANK];
} tilewright_tensor;

/* Describes the same memory as a DLTensor of DLPack (https://github.com/dmlc/dlpack), which is the
 * first member of a DLManagedTensor too. Refused: a rank above TILEWRIGHT_MAX_RANK, a type with
 * several lanes or none of the above, a device other than CPU, CUDA, CUDA host and CUDA managed. */
TILEWRIGHT_C_EXPORT tilewright_status *tilewright_tensor_from_dlpack(const void *dl_tensor,
                                                                     tilewright_tensor *tensor);

/*===--------------------------------------------------------------------------===
 * Kernels
 *===--------------------------------------------------------------------------===*/

typedef struct tilewright_kernel tilewright_kernel;

/* Loads an image, as `tilewright compile -o kernel.twk` writes it. The bytes are checked and not
 * kept. Refused: what is no image, a newer, truncated or altered one. Needs no GPU; launching
 * does. */
TILEWRIGHT_C_EXPORT tilewright_status *tilewright_kernel_load(const void *bytes, size_t size,
                                                              tilewright_kernel **kernel);
TILEWRIGHT_C_EXPORT tilewright_status *tilewright_kernel_load_file(const char *path,
                                                                   tilewright_kernel **kernel);

typedef struct tilewright_scalar_declaration {
  const char *name;
  bool is_real; /* f32, or f64 in an f64 problem; otherwise i32 */
} tilewright_scalar_declaration;

typedef struct tilewright_tensor_declaration {
  const char *name;
  tilewright_dtype dtype;
  uint32_t rank;
} tilewright_tensor_declaration;

/* What is to be computed; tilewright/compiler.h and docs/semantics.md explain each field. */
typedef struct tilewright_problem {
  int64_t head_dim;
  int64_t value_dim;
  tilewright_dtype dtype;     /* of query, key and value: f64, f32, f16 or bf16 */
  tilewright_dtype out_dtype; /* the same, or f32 */
  bool lse;                   /* whether the kernel writes the logarithm of each row's sum */
  const char *const *scores;  /* applied in this order */
  size_t score_count;
  const char *const *masks; /* and-ed */
  size_t mask_count;
  const tilewright_scalar_declaration *scalars;
  size_t scalar_count;
  const tilewright_tensor_declaration *tensors;
  size_t tensor_count;
} tilewright_problem;

/* NULL for the default. */
typedef struct tilewright_compile_options {
  const char *target;   /* "cpu" (default) or "sm_90a" */
  const char *cpu;      /* LLVM's name of a processor; default: this machine's */
  const char *schedule; /* "block_q=64,block_kv=96" */
} tilewright_compile_options;

/* Compiles a kernel. `options` may be NULL. The compiler is libtilewright.so, which is opened at
 * the first call; where it is not installed the call is refused as unsupported. */
TILEWRIGHT_C_EXPORT tilewright_status *
tilewright_kernel_compile(const tilewright_problem *problem,
                          const tilewright_compile_options *options, tilewright_kernel **kernel);

/* NULL is fine. Work that is queued on a stream must be done. */
TILEWRIGHT_C_EXPORT void tilewright_kernel_destroy(tilewright_kernel *);

/* The extents that a workspace depends on. */
typedef struct tilewright_sizes {
  int64_t batch, heads, kv_heads, query_length, key_length;
} tilewright_sizes;

TILEWRIGHT_C_EXPORT tilewright_status *
tilewright_kernel_workspace_size(const tilewright_kernel *kernel, const tilewright_sizes *sizes,
                                 size_t *bytes);

typedef struct tilewright_named_scalar {
  const char *name;
  double value; /* integral and in range for an i32 */
} tilewright_named_scalar;

typedef struct tilewright_named_tensor {
  const char *name;
  tilewright_tensor tensor;
} tilewright_named_tensor;

/* What a launch reads and writes: [batch, heads, length, width] each, lse [batch, heads, length].
 * tilewright/runtime.h states dtypes, shapes and strides. */
typedef struct tilewright_arguments {
  tilewright_tensor query, key, value, out;
  const tilewright_tensor *lse; /* NULL exactly if the problem has none */
  const double *scale;          /* NULL: 1 / sqrt(head_dim) */
  const tilewright_named_scalar *scalars;
  size_t scalar_count;
  const tilewright_named_tensor *tensors;
  size_t tensor_count;
} tilewright_arguments;

/* A host's own threads for CPU kernels. Calls work(argument) on up to `count` threads at once, the
 * caller's among them if it likes, and returns when all these calls have; a call returns once there
 * is nothing left to do. Each thread has at least 5 MiB of stack. `context` is the host's own. */
typedef void (*tilewright_executor)(void *context, void (*work)(void *argument), void *argument,
                                    uint32_t count);

/* How a launch is executed; all zero is the default. */
typedef struct tilewright_execution {
  uint32_t threads; /* of a CPU kernel; 0: as many as the machine has */
  void *stream;     /* of a GPU kernel: a CUstream (or cudaStream_t); NULL: the default stream */
  tilewright_executor executor; /* of a CPU kernel; NULL: threads of the library's own */
  void *executor_context;
} tilewright_execution;

/* Computes attention: a CPU kernel before it returns, a GPU kernel on the stream. Everything is
 * checked before anything is written. `execution` may be NULL. `workspace` has at least
 * `workspace_size` bytes of the kernel's memory (host or device), as many as
 * tilewright_kernel_workspace_size says, and belongs to the launch until it is done. The call
 * allocates nothing and does not wait for the device, and a CUDA graph can capture it. */
TILEWRIGHT_C_EXPORT tilewright_status *
tilewright_kernel_launch(const tilewright_kernel *kernel, const tilewright_arguments *arguments,
                         void *workspace, size_t workspace_size,
                         const tilewright_execution *execution);

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_C_TILEWRIGHT_H */
