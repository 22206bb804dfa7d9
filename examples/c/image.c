/*===- image.c - A C program that runs a kernel image ---------------------------*- C -*-===
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *   tilewright compile --target sm_90a --head-dim 64 --dtype bf16 --mask 'k <= q' -o causal.twk
 *   image causal.twk
 *
 * Links the runtime library alone: no compiler, no LLVM. Loads the image and launches it on device
 * memory. Under this mask the first query sees the first key and nothing else, so its output is
 * that key's value, to the bit; the program checks that.
 *
 *===----------------------------------------------------------------------------------===*/

#include <tilewright/c/tilewright.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  BATCH = 1,
  HEADS = 2,
  LENGTH = 300,
  HEAD_DIM = 64,
  ELEMENTS = BATCH * HEADS * LENGTH * HEAD_DIM
};

/* A program that uses CUDA already has memory and a context. This one gets both from the driver, by
 * name, so that it builds where there is none. */
typedef struct {
  int (*init)(unsigned flags);
  int (*retain_context)(void **context, int device);
  int (*set_context)(void *context);
  int (*allocate)(uint64_t *address, size_t bytes);
  int (*to_device)(uint64_t address, const void *host, size_t bytes);
  int (*to_host)(void *host, uint64_t address, size_t bytes);
} driver_functions;

static int open_driver(driver_functions *driver) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  void *context = NULL;
  if (!library)
    return 0;
  *(void **)&driver->init = dlsym(library, "cuInit");
  *(void **)&driver->retain_context = dlsym(library, "cuDevicePrimaryCtxRetain");
  *(void **)&driver->set_context = dlsym(library, "cuCtxSetCurrent");
  *(void **)&driver->allocate = dlsym(library, "cuMemAlloc_v2");
  *(void **)&driver->to_device = dlsym(library, "cuMemcpyHtoD_v2");
  *(void **)&driver->to_host = dlsym(library, "cuMemcpyDtoH_v2");
  return driver->init(0) == 0 && driver->retain_context(&context, 0) == 0 &&
         driver->set_context(context) == 0;
}

static int report(tilewright_status *status) {
  fprintf(stderr, "error: %s\n", tilewright_status_message(status));
  tilewright_status_destroy(status);
  return EXIT_FAILURE;
}

static tilewright_tensor describe(uint64_t address) {
  tilewright_tensor tensor = {
      .data = (void *)(uintptr_t)address,
      .dtype = TILEWRIGHT_BF16,
      .rank = 4,
      .shape = {BATCH, HEADS, LENGTH, HEAD_DIM},
      .strides = {HEADS * LENGTH * HEAD_DIM, LENGTH * HEAD_DIM, HEAD_DIM, 1}};
  return tensor;
}

int main(int argc, char **argv) {
  static uint16_t host[ELEMENTS], result[ELEMENTS];
  const size_t bytes = sizeof host;
  driver_functions driver;
  tilewright_kernel *kernel = NULL;
  tilewright_status *status;
  const tilewright_sizes sizes = {BATCH, HEADS, HEADS, LENGTH, LENGTH};
  size_t workspace_bytes = 0;
  uint64_t q, k, v, out, lse, workspace = 0;
  int i;

  if (argc != 2) {
    fprintf(stderr, "usage: %s KERNEL.twk\n", argv[0]);
    return EXIT_FAILURE;
  }
  if (tilewright_c_abi_version() != TILEWRIGHT_C_ABI_VERSION) {
    fprintf(stderr, "error: this program and its library are of different versions\n");
    return EXIT_FAILURE;
  }
  if ((status = tilewright_kernel_load_file(argv[1], &kernel)))
    return report(status);
  if ((status = tilewright_kernel_workspace_size(kernel, &sizes, &workspace_bytes)))
    return report(status);
  printf("loaded %s: a workspace of %zu bytes\n", argv[1], workspace_bytes);

  if (!open_driver(&driver)) {
    printf("this machine has no GPU to launch it on\n");
    tilewright_kernel_destroy(kernel);
    return EXIT_SUCCESS;
  }
  for (i = 0; i < ELEMENTS; ++i) /* bf16 from 0.0078 to 1.99, some negative */
    host[i] = (uint16_t)(0x3c00 + i * 37 % 0x400 + (i % 3 ? 0 : 0x8000));
  if (driver.allocate(&q, bytes) || driver.allocate(&k, bytes) || driver.allocate(&v, bytes) ||
      driver.allocate(&out, bytes) ||
      driver.allocate(&lse, BATCH * HEADS * LENGTH * sizeof(float)) ||
      (workspace_bytes && driver.allocate(&workspace, workspace_bytes)) ||
      driver.to_device(q, host, bytes) || driver.to_device(k, host, bytes) ||
      driver.to_device(v, host, bytes)) {
    fprintf(stderr, "error: the driver gave no memory\n");
    return EXIT_FAILURE;
  }

  const tilewright_tensor lse_tensor = {.data = (void *)(uintptr_t)lse,
                                        .dtype = TILEWRIGHT_F32,
                                        .rank = 3,
                                        .shape = {BATCH, HEADS, LENGTH},
                                        .strides = {HEADS * LENGTH, LENGTH, 1}};
  const tilewright_arguments arguments = {.query = describe(q),
                                          .key = describe(k),
                                          .value = describe(v),
                                          .out = describe(out),
                                          .lse = &lse_tensor};
  if ((status = tilewright_kernel_launch(kernel, &arguments, (void *)(uintptr_t)workspace,
                                         workspace_bytes, NULL)))
    return report(status);
  if (driver.to_host(result, out, bytes)) { /* waits for the launch */
    fprintf(stderr, "error: the kernel failed\n");
    return EXIT_FAILURE;
  }
  tilewright_kernel_destroy(kernel);
  if (memcmp(result, host, HEAD_DIM * sizeof result[0]) != 0) {
    fprintf(stderr, "error: the first row is not the first value\n");
    return EXIT_FAILURE;
  }
  printf("the first row is the first value\n");
  return EXIT_SUCCESS;
}
