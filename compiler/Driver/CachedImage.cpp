//===- CachedImage.cpp - A compilation's image on disk --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/CachedImage.h"
#include "compiler/Driver/BuildId.h"
#include "compiler/Frontend/PrintModule.h"
#include "lib/Support/MakeError.h"

using namespace mlir;
using namespace tilewright;

/// A problem is printed anew, so that neither layout nor comments nor names of values matter. At
/// later stages they do: code states its places in the text.
static Result<std::string> canonicalText(Compilation::Implementation &state) {
  if (state.from != Stage::Attn)
    return state.memoized(state.from);
  Result<ModuleOp> module = state.module(Stage::Attn);
  if (!module)
    return module.error();
  return printModule(*module);
}

/// Without a build id, images of one build could not be told from those of another.
static Result<CacheSettings> settingsFor(const std::string &compiler) {
  if (compiler == "unknown")
    return unsupported("this build of Tilewright has no build id (linker option --build-id)");
  return CacheSettings::fromEnvironment();
}

Result<KernelImage> tilewright::findOrMakeImage(Compilation::Implementation &state, CacheKey key,
                                                DiskCache::Make make) {
  Result<std::string> problem = canonicalText(state);
  if (!problem)
    return problem.error();
  key.compiler = buildId();
  key.stage = nameOf(state.from);
  key.problem = *std::move(problem);
  key.schedule = toString(state.schedule);
  state.passesWereSkipped = true;
  const auto makeHere = [&] {
    state.passesWereSkipped = false;
    return make();
  };
  Result<KernelImage> image =
      DiskCache(settingsFor(key.compiler)).getOrMake(key, makeHere, [&](std::string message) {
        state.remark({.pass = "disk-cache", .message = std::move(message)});
      });
  if (!image)
    return image;
  // It may have been made for another spelling of the same problem.
  image->source = *state.memoized(state.from);
  image->expressions = state.launchExpressions();
  return image;
}
