//===- Scheduler.cpp - Who runs next, chosen by the seed ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Device.h"
#include "lib/Emulator/Machine.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <thread>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {
constexpr uint32_t certain = 65536;
constexpr uint64_t maxBlocks = 1 << 24;
constexpr uint64_t maxRegisterFileBytes = uint64_t(1) << 30;
constexpr uint32_t tileCacheSize = 128;
/// A quarter of the warps run only when no other can, but for one turn in this many.
constexpr uint32_t slowWarpTurns = 64;
} // namespace

Temper::Temper(uint64_t seed) {
  Random random(seed, ~uint64_t(0));
  switch (seed % 4) {
  case 0: // Copies at once.
    copyChance = certain;
    matrixChance = certain * 3 / 10;
    break;
  case 1: // Nothing until no warp can go on; wgmma at its wait.
    break;
  case 2:
    copyChance = matrixChance = certain / 20;
    break;
  default:
    copyChance = random.below(2) ? certain / 100 : certain / 2;
    matrixChance = random.below(2) ? certain / 100 : certain / 2;
    break;
  }
  quantum = 1u << (1 + random.below(10));
  earlyGiveUp = random.below(2);
}

//===----------------------------------------------------------------------===//
// Blocks

namespace {
uint32_t threadsOf(const Launch &launch) {
  return launch.block[0] * launch.block[1] * launch.block[2];
}

uint32_t sharedBytesOf(const Machine &machine) {
  const uint32_t bytes = machine.module.architecture->reservedSharedBytes +
                         machine.module.staticSharedBytes + machine.launch.dynamicSharedBytes;
  return (bytes + Shadow::granuleBytes - 1) / Shadow::granuleBytes * Shadow::granuleBytes;
}

uint32_t valueOf(SpecialRegister which, const Machine &machine, const Block &block, uint32_t warp,
                 uint32_t lane) {
  const Launch &launch = machine.launch;
  const uint32_t thread = warp * warpSize + lane;
  switch (which) {
  case SpecialRegister::TidX:
    return thread % launch.block[0];
  case SpecialRegister::TidY:
    return thread / launch.block[0] % launch.block[1];
  case SpecialRegister::TidZ:
    return thread / launch.block[0] / launch.block[1];
  case SpecialRegister::NtidX:
  case SpecialRegister::NtidY:
  case SpecialRegister::NtidZ:
    return launch.block[static_cast<size_t>(which) - static_cast<size_t>(SpecialRegister::NtidX)];
  case SpecialRegister::CtaidX:
  case SpecialRegister::CtaidY:
  case SpecialRegister::CtaidZ:
    return block
        .position[static_cast<size_t>(which) - static_cast<size_t>(SpecialRegister::CtaidX)];
  case SpecialRegister::NctaidX:
  case SpecialRegister::NctaidY:
  case SpecialRegister::NctaidZ:
    return launch.grid[static_cast<size_t>(which) - static_cast<size_t>(SpecialRegister::NctaidX)];
  case SpecialRegister::LaneId:
    return lane;
  case SpecialRegister::WarpId:
    return warp;
  case SpecialRegister::SmId:
    return block.index;
  case SpecialRegister::DynamicSharedBytes:
    return launch.dynamicSharedBytes;
  case SpecialRegister::ClusterRank:
    return 0;
  case SpecialRegister::ClusterSize:
    return 1;
  case SpecialRegister::LaneMaskEq:
    return 1u << lane;
  case SpecialRegister::LaneMaskLt:
    return (1u << lane) - 1;
  case SpecialRegister::LaneMaskLe:
    return (2u << lane) - 1;
  case SpecialRegister::LaneMaskGt:
    return ~((2u << lane) - 1);
  case SpecialRegister::LaneMaskGe:
    return ~((1u << lane) - 1);
  }
  return 0;
}
} // namespace

Block::Block(Machine &machine, uint32_t index)
    : machine(machine), index(index), random(machine.options.seed, index),
      shared(sharedBytesOf(machine)),
      shadow(*this, static_cast<uint32_t>(shared.size()), (threadsOf(machine.launch) + 127) / 128,
             machine.options.checkRaces) {
  const std::array<uint32_t, 3> &grid = machine.launch.grid;
  position = {index % grid[0], index / grid[0] % grid[1], index / grid[0] / grid[1]};
  for (uint8_t &byte : shared)
    byte = static_cast<uint8_t>(random.next());
  mbarrierAt.assign(shared.size() / 8 + 2, -1);
  mbarriers.reserve(maxMbarriers);
  namedBarriers.resize(machine.module.architecture->namedBarriers);
  pageVersions.assign(shared.size() / 1024 + 1, 0);
  tiles.resize(tileCacheSize);
  executed.assign(machine.module.ops.size(), 0);
  const uint32_t count = threadsOf(machine.launch) / warpSize;
  matrixLog.resize((count + 3) / 4);
  for (uint32_t id = 0; id < count; ++id)
    makeWarp(id);
  aliveWarps = count;
  readyWarps = count == 32 ? fullMask : (1u << count) - 1;
}

void Block::makeWarp(uint32_t id) {
  const Module &module = machine.module;
  auto warp = std::make_unique<Warp>();
  warp->block = this;
  warp->id = id;
  const uint32_t perThread = module.architecture->registersPerBlock / threadsOf(machine.launch);
  warp->registersPerThread =
      std::min(perThread / 8 * 8, module.architecture->maxRegistersPerThread);
  // Registers that nobody wrote hold NaNs, the same in all of a warp.
  const uint32_t noise = static_cast<uint32_t>(random.next()) | 0x7fc00000;
  constexpr size_t alignment = 16; // in registers: 64 bytes
  warp->registerFile.assign((static_cast<size_t>(module.slots) + 1) * warpSize + alignment, noise);
  const auto misaligned =
      reinterpret_cast<uintptr_t>(warp->registerFile.data()) / sizeof(uint32_t) % alignment;
  warp->registers = warp->registerFile.data() + (alignment - misaligned) % alignment;
  warp->predicateFile.resize(module.predicates + 1);
  warp->predicates = warp->predicateFile.data();
  for (uint32_t &predicate : warp->predicateFile)
    predicate = static_cast<uint32_t>(random.next());
  for (const auto &[slot, value] : module.narrowConstants)
    std::fill_n(warp->lanes<uint32_t>(slot), warpSize, value);
  for (const auto &[slot, value] : module.wideConstants)
    std::fill_n(warp->lanes<uint64_t>(slot), warpSize, value);
  for (const SpecialSlot &special : module.specials)
    for (uint32_t lane = 0; lane < warpSize; ++lane) {
      const uint32_t value = valueOf(special.which, machine, *this, id, lane);
      if (special.registerClass == RegisterClass::Wide)
        warp->lanes<uint64_t>(special.slot)[lane] = value;
      else
        warp->lanes<uint32_t>(special.slot)[lane] = value;
    }
  warp->local.assign(static_cast<size_t>(module.localBytes) * warpSize, 0xff);
  warp->tracked.resize(module.trackedCount);
  warp->paths.push_back({});
  warp->clocks.plain[warpComponent(id)] = 1;
  warp->slow = random.below(4) == 0;
  warps.push_back(std::move(warp));
}

uint32_t Block::firstShared() const {
  return machine.module.architecture->reservedSharedBytes;
}

void Block::wake(uint32_t warp) {
  warps[warp]->state = WarpState::Ready;
  readyWarps |= 1u << warp;
}

void Block::sharedWritten(uint32_t address, uint32_t bytes) {
  if (!bytes)
    return;
  for (uint32_t page = address >> 10; page <= (address + bytes - 1) >> 10; ++page)
    ++pageVersions[page];
}

uint64_t Block::versionOf(uint32_t firstPage, uint32_t lastPage) const {
  uint64_t version = 0;
  for (uint32_t page = firstPage; page <= lastPage; ++page)
    version += pageVersions[page];
  return version;
}

CodeLine Block::codeLine(uint32_t line, const Op *op) const {
  const Module &module = machine.module;
  if (!op)
    for (const Op &candidate : module.ops)
      if (candidate.line == line) {
        op = &candidate;
        break;
      }
  return {line, module.lineText(line), op ? module.sourceOf(*op) : ""};
}

std::string Block::describe(Component component) const {
  const uint32_t warp = component % maxWarps;
  if (component < maxWarps)
    return fmt::format("warp {}", warp);
  if (component < 2 * maxWarps)
    return fmt::format("a wgmma of warp {}", warp);
  if (component < 3 * maxWarps)
    return fmt::format("a cp.async of warp {}", warp);
  if (component < 4 * maxWarps)
    return fmt::format("a bulk store of warp {}", warp);
  return "a bulk copy that signals " + describe(mbarriers[component - 4 * maxWarps]);
}

std::string Block::describe(const Mbarrier &barrier) const {
  const std::string place = placeOf(barrier.address);
  return fmt::format("the mbarrier at {}{}", barrier.address,
                     place.empty() ? "" : fmt::format(" ({})", place));
}

std::string Block::placeOf(uint64_t address) const {
  for (const SharedRegion &region : machine.launch.sharedRegions) {
    const uint64_t first = uint64_t{firstShared()} + region.offset;
    if (address < first || address - first >= region.bytes)
      continue;
    return address == first ? region.name
                            : fmt::format("byte {} of {}", address - first, region.name);
  }
  return "";
}

bool Block::step() {
  const auto pickTransfer = [&] {
    advanceTransfer(random.below(static_cast<uint32_t>(transfers.size())));
  };
  if (!transfers.empty() && random.chance(machine.temper.copyChance)) {
    pickTransfer();
    return true;
  }
  if (machine.temper.matrixChance && random.chance(machine.temper.matrixChance)) {
    Warp &warp = *warps[random.below(static_cast<uint32_t>(warps.size()))];
    if (!warp.matrixQueue.empty()) {
      executeMatrix(warp);
      return true;
    }
  }
  if (!readyWarps) {
    if (transfers.empty())
      return false;
    pickTransfer();
    return true;
  }
  uint32_t candidates = readyWarps;
  if (random.below(slowWarpTurns)) {
    uint32_t fast = 0;
    for (uint32_t rest = readyWarps; rest; rest &= rest - 1)
      if (!warps[static_cast<size_t>(std::countr_zero(rest))]->slow)
        fast |= rest & (0 - rest);
    candidates = fast ? fast : candidates;
  }
  for (uint32_t skip = random.below(static_cast<uint32_t>(std::popcount(candidates))); skip; --skip)
    candidates &= candidates - 1;
  Warp &warp = *warps[static_cast<size_t>(std::countr_zero(candidates))];
  if (!warp.run(1 + random.below(machine.temper.quantum)) && warp.state != WarpState::Ready)
    readyWarps &= ~(1u << warp.id);
  if (warp.state == WarpState::Done)
    --aliveWarps;
  return true;
}

void Block::end() {
  for (const Transfer &transfer : transfers) {
    const bool harmless = transfer.kind == Transfer::Kind::BulkStore && transfer.read;
    if (!harmless) {
      warps[transfer.warp]->record(*transfer.op, FindingKind::Unfinished, {},
                                   "the block ends while this copy is in flight");
      return;
    }
  }
  // A store whose shared memory was read is completed by the end of the kernel.
  while (!transfers.empty())
    advanceTransfer(transfers.size() - 1);
  for (size_t id = 0; id < namedBarriers.size(); ++id)
    if (const NamedBarrier &barrier = namedBarriers[id]; barrier.arrived)
      remarks.insert(fmt::format("a block ends with {} threads arrived at named barrier {}, which "
                                 "never completed; line {}: {}",
                                 barrier.arrived, id, barrier.line,
                                 machine.module.lineText(barrier.line)));
}

std::vector<WaitingWarp> Block::waitingWarps() const {
  std::vector<WaitingWarp> result;
  for (const std::unique_ptr<Warp> &warp : warps) {
    if (warp->state == WarpState::Done)
      continue;
    std::string reason;
    if (warp->state == WarpState::OnMbarrier) {
      const Mbarrier &barrier = mbarriers[warp->waitsFor];
      reason = fmt::format("{}, parity {} (its phase is {}, {} of {} arrivals "
                           "pending, transaction count {})",
                           describe(barrier), warp->waitParity, barrier.phase, barrier.pending,
                           barrier.count, barrier.transactions);
    } else if (warp->state == WarpState::OnNamedBarrier) {
      const NamedBarrier &barrier = namedBarriers[warp->waitsFor];
      reason = fmt::format("named barrier {} ({} of {} threads)", warp->waitsFor, barrier.arrived,
                           barrier.expected);
    } else
      reason = fmt::format("registers ({} in the pool)", registerPool);
    const Op &op = machine.module.ops[warp->pc()];
    result.push_back({position, warp->id, codeLine(op.line, &op), std::move(reason)});
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Grids

namespace {

Status checkMap(const TensorMap &map, size_t index, const std::vector<Buffer> &buffers) {
  auto wrong = [&](const std::string &what) {
    return invalidArgument("tensor map {}: {}", index, what);
  };
  const uint64_t element = sizeOf(map.dtype);
  if (map.rank < 1 || map.rank > 5)
    return wrong(fmt::format("rank {}; it is from 1 to 5", map.rank));
  if (map.buffer >= buffers.size())
    return wrong(fmt::format("buffer {} of {}", map.buffer, buffers.size()));
  const Buffer &buffer = buffers[map.buffer];
  if (map.offset % 16)
    return wrong(fmt::format("offset {}; it is a multiple of 16", map.offset));
  if (element > 4)
    return wrong(fmt::format("elements of {}", nameOf(map.dtype)));
  const uint64_t inner = map.box[0] * element;
  const uint64_t span =
      map.swizzle == Swizzle::None ? 256 * element : 16u << static_cast<unsigned>(map.swizzle);
  if (inner % 16)
    return wrong(fmt::format("an inner box of {} bytes; it is a multiple of 16", inner));
  if (inner > span)
    return wrong(fmt::format("an inner box of {} bytes; the swizzle allows {}", inner, span));
  // Bytes from the first element to the last, without overflow.
  uint64_t last = map.offset;
  for (uint32_t i = 0; i < map.rank; ++i) {
    if (!map.box[i] || map.box[i] > 256)
      return wrong(fmt::format("box[{}] is {}; it is from 1 to 256", i, map.box[i]));
    if (!map.dims[i] || map.dims[i] > uint64_t(1) << 32)
      return wrong(fmt::format("dims[{}] is {}; it is from 1 to 2^32", i, map.dims[i]));
    const uint64_t stride = i ? map.strides[i] : element;
    if (i && (stride % 16 || stride >= uint64_t(1) << 40))
      return wrong(fmt::format("strides[{}] is {}; it is a multiple of 16 below 2^40", i, stride));
    uint64_t reach;
    if (__builtin_mul_overflow(map.dims[i] - 1, stride, &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return wrong("dims and strides overflow");
  }
  if (buffer.bytes < element || last > buffer.bytes - element)
    return wrong(fmt::format("the tensor reaches to byte {} of '{}', which has {}", last + element,
                             buffer.name, buffer.bytes));
  return {};
}

Status checkLaunch(const Module &module, const Launch &launch, const RunOptions &options) {
  const Architecture &architecture = *module.architecture;
  uint64_t threads = 1, blocks = 1;
  for (uint32_t extent : launch.block)
    threads = std::min<uint64_t>(threads * extent, uint64_t(1) << 31);
  for (uint32_t extent : launch.grid)
    blocks = std::min<uint64_t>(blocks * extent, uint64_t(1) << 31);
  if (threads == 0 || threads > architecture.maxThreadsPerBlock || threads % warpSize)
    return invalidArgument("a block of {} threads; it has a multiple of {}, up to {}", threads,
                           warpSize, architecture.maxThreadsPerBlock);
  if (module.maxThreads && threads > module.maxThreads)
    return invalidArgument("a block of {} threads; the kernel says at most {}", threads,
                           module.maxThreads);
  if (blocks == 0 || blocks > maxBlocks)
    return invalidArgument("a grid of {} x {} x {} blocks; the emulator runs 1 to {}",
                           launch.grid[0], launch.grid[1], launch.grid[2], maxBlocks);
  const uint64_t shared = uint64_t(module.staticSharedBytes) + launch.dynamicSharedBytes;
  if (shared > architecture.maxSharedBytes)
    return invalidArgument("{} bytes of shared memory; {} has {}", shared, architecture.name,
                           architecture.maxSharedBytes);
  const uint64_t live = std::max(options.threads, options.residentBlocks);
  const uint64_t perThread = uint64_t(module.slots) * 4 + module.localBytes;
  if (live == 0 || live > 1024)
    return invalidArgument("{} blocks at a time; the emulator runs 1 to 1024", live);
  if (perThread * threads * live > maxRegisterFileBytes)
    return invalidArgument("the registers and local memory of {} blocks of {} threads take {} "
                           "bytes; the limit is {}",
                           live, threads, perThread * threads * live, maxRegisterFileBytes);
  if (launch.arguments.size() != module.parameters.size())
    return invalidArgument("{} arguments; kernel '{}' has {} parameters", launch.arguments.size(),
                           module.kernel, module.parameters.size());
  for (size_t i = 0; i < launch.maps.size(); ++i)
    if (Status status = checkMap(launch.maps[i], i, launch.buffers); !status)
      return status;
  return {};
}

Result<std::vector<uint8_t>> encodeArguments(const Module &module, const Launch &launch,
                                             const GlobalMemory &memory) {
  std::vector<uint8_t> result(module.parameterBytes);
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const Argument &argument = launch.arguments[i];
    const Parameter &parameter = module.parameters[i];
    std::vector<uint8_t> bytes = argument.bytes;
    auto append = [&](uint64_t word) {
      const auto *first = reinterpret_cast<const uint8_t *>(&word);
      bytes.insert(bytes.end(), first, first + sizeof word);
    };
    if (argument.kind == Argument::Kind::Tensor) {
      if (argument.index >= launch.buffers.size())
        return invalidArgument("argument {} ('{}'): buffer {} of {}", i, parameter.name,
                               argument.index, launch.buffers.size());
      append(memory.addressOf(argument.index) + argument.offset);
    } else if (argument.kind == Argument::Kind::Map) {
      if (argument.index >= launch.maps.size())
        return invalidArgument("argument {} ('{}'): tensor map {} of {}", i, parameter.name,
                               argument.index, launch.maps.size());
      append(mapTag);
      append(argument.index);
      bytes.resize(128);
    }
    if (bytes.size() != parameter.bytes)
      return invalidArgument("argument {} has {} bytes; parameter '{}' has {}", i, bytes.size(),
                             parameter.name, parameter.bytes);
    std::copy(bytes.begin(), bytes.end(), result.begin() + parameter.offset);
  }
  return result;
}

class GridRun {
public:
  GridRun(Machine &machine) : machine(machine) {
    const std::array<uint32_t, 3> &grid = machine.launch.grid;
    total = grid[0] * grid[1] * grid[2];
    outcome.executed.assign(machine.module.ops.size(), 0);
  }

  Outcome run() {
    const RunOptions &options = machine.options;
    if (machine.module.blocksInteract || options.observer)
      interleave();
    else if (options.threads <= 1 || total == 1)
      takeBlocks();
    else {
      std::vector<std::thread> workers;
      for (uint32_t i = 0; i < std::min(options.threads, total); ++i)
        workers.emplace_back([this] { takeBlocks(); });
      for (std::thread &worker : workers)
        worker.join();
    }
    return std::move(outcome);
  }

private:
  Machine &machine;
  uint32_t total = 0;
  Outcome outcome;
  std::mutex lock;
  std::atomic<uint32_t> nextBlock = 0;
  /// Blocks behind the first one with a finding need not run.
  std::atomic<uint32_t> firstFault = UINT32_MAX;
  std::atomic<uint64_t> instructions = 0;
  uint32_t findingBlock = UINT32_MAX;

  void takeBlocks() {
    for (uint32_t index; (index = nextBlock++) < total && index < firstFault;) {
      Block block(machine, index);
      while (!block.finished())
        turn(block, true);
      collect(block);
    }
  }

  /// One turn of a block. `alone`: nobody else can wake its warps.
  bool turn(Block &block, bool alone) {
    const uint64_t before = block.statistics.warpInstructions;
    const bool moved = block.step();
    if (!moved && alone)
      reportDeadlock({&block});
    const uint64_t spent = block.statistics.warpInstructions - before;
    if ((instructions += spent) > machine.options.budget && !block.finding)
      reportBudget(block);
    return moved;
  }

  void reportDeadlock(const std::vector<Block *> &blocks) {
    Finding finding;
    finding.kind = FindingKind::Deadlock;
    finding.message = "no warp can go on";
    finding.seed = machine.options.seed;
    finding.block = blocks.front()->position;
    for (const Block *block : blocks)
      for (WaitingWarp &warp : block->waitingWarps())
        finding.waiting.push_back(std::move(warp));
    if (!finding.waiting.empty()) {
      finding.at = finding.waiting.front().at;
      finding.warp = finding.waiting.front().warp;
    }
    blocks.front()->finding = std::move(finding);
  }

  void reportBudget(Block &block) {
    for (const std::unique_ptr<Warp> &warp : block.warps)
      if (warp->state != WarpState::Done) {
        warp->record(machine.module.ops[warp->pc()], FindingKind::Budget, {},
                     fmt::format("{} warp instructions were executed and the kernel goes on",
                                 machine.options.budget));
        return;
      }
  }

  void collect(Block &block) {
    if (!block.finding && !block.stopped)
      block.end();
    const std::lock_guard guard(lock);
    Statistics &sum = outcome.statistics;
    sum.warpInstructions += block.statistics.warpInstructions;
    sum.threadInstructions += block.statistics.threadInstructions;
    sum.matrixInstructions += block.statistics.matrixInstructions;
    sum.copies += block.statistics.copies;
    for (size_t i = 0; i < block.executed.size(); ++i)
      outcome.executed[i] |= block.executed[i];
    for (const std::string &remark : block.remarks)
      if (std::find(outcome.remarks.begin(), outcome.remarks.end(), remark) ==
          outcome.remarks.end())
        outcome.remarks.push_back(remark);
    std::sort(outcome.remarks.begin(), outcome.remarks.end());
    outcome.stopped |= block.stopped;
    if (block.finding && block.index < findingBlock) {
      findingBlock = block.index;
      outcome.finding = std::move(block.finding);
      firstFault = std::min(firstFault.load(), block.index);
    }
  }

  /// Several blocks at a time on this thread: one turn each, as the seed says.
  void interleave() {
    Random random(machine.options.seed, total);
    std::vector<std::unique_ptr<Block>> live;
    uint32_t next = 0;
    bool goOn = true;
    while (goOn && (next < total || !live.empty())) {
      while (live.size() < machine.options.residentBlocks && next < total)
        live.push_back(std::make_unique<Block>(machine, next++));
      const size_t first = random.below(static_cast<uint32_t>(live.size()));
      bool moved = false;
      for (size_t i = 0; i < live.size() && !moved; ++i) {
        const size_t at = (first + i) % live.size();
        moved = turn(*live[at], false);
        if (!live[at]->finished())
          continue;
        moved = true;
        collect(*live[at]);
        goOn = !outcome.finding && !outcome.stopped;
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
      if (!moved) {
        std::vector<Block *> blocks;
        for (const std::unique_ptr<Block> &block : live)
          blocks.push_back(block.get());
        reportDeadlock(blocks);
        collect(*live.front());
        goOn = false;
      }
    }
    for (const std::unique_ptr<Block> &block : live)
      for (size_t i = 0; i < block->executed.size(); ++i)
        outcome.executed[i] |= block->executed[i];
  }
};

} // namespace

Result<Outcome> emulator::run(const Module &module, const Launch &launch,
                              const RunOptions &options) {
#ifdef TILEWRIGHT_EMULATOR_NEEDS_AVX2
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return unsupported("this build of the emulator needs AVX2 and FMA; configure with "
                       "-DTILEWRIGHT_EMULATOR_CPU= for any x86-64");
#endif
  if (Status status = checkLaunch(module, launch, options); !status)
    return status.error();
  Machine machine = {module,  launch,
                     options, GlobalMemory(launch.buffers, options.checkRaces),
                     {},      Temper(options.seed)};
  Result<std::vector<uint8_t>> parameters = encodeArguments(module, launch, machine.memory);
  if (!parameters)
    return parameters.error();
  machine.parameters = std::move(*parameters);
  return GridRun(machine).run();
}
