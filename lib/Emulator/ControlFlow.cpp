//===- ControlFlow.cpp - Where divergent branches come together -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Immediate post-dominators by the iteration of Cooper, Harvey and Kennedy ("A
// Simple, Fast Dominance Algorithm", 2001) on the reversed control-flow graph.
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Decoder.h"

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

/// Basic blocks of a kernel; the last node is a virtual exit.
struct Graph {
  std::vector<uint32_t> firstOp; ///< Of every block.
  std::vector<uint32_t> blockOf; ///< Of every op.
  std::vector<std::vector<uint32_t>> successors, predecessors;

  explicit Graph(const std::vector<Op> &ops) : blockOf(ops.size()) {
    std::vector<bool> leader(ops.size() + 1);
    leader[0] = true;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind == OpKind::Plain)
        continue;
      leader[i + 1] = true;
      if (ops[i].kind == OpKind::Branch)
        leader[ops[i].target] = true;
    }
    for (uint32_t i = 0; i < ops.size(); ++i) {
      if (leader[i])
        firstOp.push_back(i);
      blockOf[i] = static_cast<uint32_t>(firstOp.size() - 1);
    }
    const uint32_t exit = this->exit();
    successors.resize(exit + 1);
    predecessors.resize(exit + 1);
    for (uint32_t block = 0; block < exit; ++block) {
      const size_t end = block + 1 < exit ? firstOp[block + 1] : ops.size();
      const Op &last = ops[end - 1];
      if (last.kind == OpKind::Branch)
        connect(block, blockOf[last.target]);
      if (last.kind == OpKind::Exit)
        connect(block, exit);
      if (last.kind == OpKind::Plain || last.guard >= 0)
        connect(block, block + 1);
    }
  }

  uint32_t exit() const { return static_cast<uint32_t>(firstOp.size()); }

  void connect(uint32_t from, uint32_t to) {
    successors[from].push_back(to);
    predecessors[to].push_back(from);
  }
};

constexpr uint32_t unknown = ~0u;

/// Walks the reversed graph from `root` over nodes that were not seen; appends them in postorder.
void walkBack(const Graph &graph, uint32_t root, std::vector<bool> &seen,
              std::vector<uint32_t> &order) {
  if (seen[root])
    return;
  seen[root] = true;
  std::vector<std::pair<uint32_t, size_t>> stack = {{root, 0}};
  while (!stack.empty()) {
    auto &[node, next] = stack.back();
    if (next < graph.predecessors[node].size()) {
      const uint32_t predecessor = graph.predecessors[node][next++];
      if (!seen[predecessor]) {
        seen[predecessor] = true;
        stack.push_back({predecessor, 0});
      }
    } else {
      order.push_back(node);
      stack.pop_back();
    }
  }
}

/// Post-dominators need a way to the exit from everywhere. A loop that never ends gets one from
/// its last block, so that lanes come together there as in any other loop.
void leaveEndlessLoops(Graph &graph) {
  std::vector<bool> seen(graph.exit() + 1);
  std::vector<uint32_t> order;
  walkBack(graph, graph.exit(), seen, order);
  // As in Kosaraju's algorithm: what a walk over the reversed graph finishes last lies in a
  // component that nothing leads out of. Starting from the last blocks makes it the last one.
  std::vector<bool> visited = seen;
  order.clear();
  for (uint32_t node = graph.exit(); node-- > 0;)
    walkBack(graph, node, visited, order);
  std::vector<uint32_t> ignored;
  for (size_t i = order.size(); i-- > 0;)
    if (!seen[order[i]]) {
      graph.connect(order[i], graph.exit());
      walkBack(graph, order[i], seen, ignored);
    }
}

std::vector<uint32_t> postDominators(const Graph &graph) {
  std::vector<uint32_t> number(graph.exit() + 1, 0), order;
  std::vector<bool> seen(graph.exit() + 1);
  walkBack(graph, graph.exit(), seen, order);
  for (uint32_t i = 0; i < order.size(); ++i)
    number[order[i]] = i;
  std::vector<uint32_t> dominator(graph.exit() + 1, unknown);
  dominator[graph.exit()] = graph.exit();
  auto common = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] < number[b])
        a = dominator[a];
      while (number[b] < number[a])
        b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size() - 1; i-- > 0;) {
      const uint32_t node = order[i];
      uint32_t result = unknown;
      for (uint32_t successor : graph.successors[node])
        if (dominator[successor] != unknown)
          result = result == unknown ? successor : common(result, successor);
      if (result != dominator[node]) {
        dominator[node] = result;
        changed = true;
      }
    }
  }
  return dominator;
}

} // namespace

void emulator::findReconvergence(Module &module) {
  Graph graph(module.ops);
  leaveEndlessLoops(graph);
  const std::vector<uint32_t> dominator = postDominators(graph);
  for (size_t i = 0; i < module.ops.size(); ++i) {
    Op &op = module.ops[i];
    if (op.kind != OpKind::Branch)
      continue;
    const uint32_t node = dominator[graph.blockOf[i]];
    op.reconvergence = node == graph.exit() ? noOp : graph.firstOp[node];
  }
}
