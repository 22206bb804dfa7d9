//===- LaunchFacts.cpp - What a launch takes of a GPU ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/LaunchFacts.h"

#include "compiler/tools/tilewright/Output.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <span>

using namespace tilewright;
using namespace tilewright::tool;

/// A multiprocessor of compute capability 9.0, after the CUDA C++ Programming Guide's table of
/// technical specifications; a block takes 1 KiB of shared memory more than it asks for, and
/// registers come in units of 256 a warp.
static constexpr int64_t maxThreads = 2048;
static constexpr int64_t maxBlocks = 32;
static constexpr int64_t sharedMemory = int64_t{228} << 10;
static constexpr int64_t sharedMemoryOfSystem = 1024;
static constexpr int64_t registers = 65536;
static constexpr int64_t registerUnit = 256;

Occupancy tool::occupancyOf(const KernelLaunch &launch) {
  const int64_t warps = launch.threads / 32;
  const int64_t ofWarp =
      (int64_t{launch.registers} * 32 + registerUnit - 1) / registerUnit * registerUnit;
  const Occupancy limits[] = {
      {registers / std::max<int64_t>(1, ofWarp * warps), "registers"},
      {sharedMemory / (launch.sharedMemory + sharedMemoryOfSystem), "shared memory"},
      {maxThreads / std::max<int64_t>(1, launch.threads), "threads"},
      {maxBlocks, "the number of blocks"}};
  Occupancy least = limits[0];
  for (const Occupancy &limit : std::span(limits).subspan(1)) {
    if (limit.blocks < least.blocks)
      least = limit;
    else if (limit.blocks == least.blocks)
      least.limit += " and " + limit.limit;
  }
  return least;
}

/// The extents of the kernel's tensors; nothing for those of the caller's own tensors, which the
/// sizes do not tell.
static std::vector<std::vector<int64_t>> extentsOf(const KernelImage &image,
                                                   const ProblemSizes &sizes) {
  std::vector<std::vector<int64_t>> all;
  for (const KernelArgument &argument : image.arguments) {
    std::vector<int64_t> extents = argument.shape;
    const bool isKey = argument.name == "key" || argument.name == "value";
    const int64_t known[] = {sizes.batch, isKey ? sizes.kvHeads : sizes.heads,
                             isKey ? sizes.keyLength : sizes.queryLength};
    for (size_t i = 0; i < extents.size() && i < std::size(known); ++i)
      if (extents[i] == KernelArgument::dynamic)
        extents[i] = known[i];
    all.push_back(std::move(extents));
  }
  return all;
}

static Result<std::string> describeGrid(const KernelImage &image, const ProblemSizes &sizes) {
  const std::vector<std::vector<int64_t>> extents = extentsOf(image, sizes);
  const std::vector<std::span<const int64_t>> views(extents.begin(), extents.end());
  std::vector<int64_t> bounds;
  double blocks = 1;
  for (const SizeFormula &formula : image.launches.front().grid) {
    Result<int64_t> bound = evaluate(formula, views);
    if (!bound)
      return bound.error().within("the grid");
    bounds.push_back(*bound);
    blocks *= double(*bound);
  }
  return fmt::format("{} = {:.0f} blocks", fmt::join(bounds, " x "), blocks);
}

Result<std::string> tool::describeLaunch(const CompiledProgram &program,
                                         const ProblemSizes &sizes) {
  Result<KernelImage> image = program.image(/*assembled=*/true);
  std::string unknown;
  if (!image) {
    unknown = image.error().message();
    image = program.image(/*assembled=*/false);
  }
  if (!image)
    return image.error();
  const KernelLaunch &launch = image->launches.front();
  Result<std::string> grid = describeGrid(*image, sizes);
  if (!grid)
    return grid.error();
  std::string text = fmt::format("\ngrid        {} of {} threads\nshared      {} of each block\n",
                                 *grid, launch.threads, formatBytes(double(launch.sharedMemory)));
  if (!unknown.empty())
    return text + fmt::format("registers   not known: {}\n", unknown);
  const Occupancy occupancy = occupancyOf(launch);
  text += fmt::format(
      "registers   {} of each thread at launch\n"
      "occupancy   {} {} on a multiprocessor, {} of {} warps, limited by {}\n"
      "assembler   {}\n",
      launch.registers, occupancy.blocks, occupancy.blocks == 1 ? "block" : "blocks",
      occupancy.blocks * launch.threads / 32, maxThreads / 32, occupancy.limit, image->assembler);
  return text;
}
