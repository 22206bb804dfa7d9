//===- RandomExpression.cpp - Masks and scores from a grammar -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/random/RandomExpression.h"

#include <array>
#include <span>

using namespace tilewright::random_test;

namespace {

/// A production: the text, with one letter for each child's sort (c, i or r) behind a `$`.
using Production = const char *;

constexpr Production conditionLeaves[] = {"k <= q",
                                          "q - k < n",
                                          "k < n",
                                          "keep[q, k]",
                                          "true",
                                          "k >= q - n",
                                          "k <= q + (kv_len - q_len)",
                                          "slope[h] < 5.0"};
constexpr Production conditions[] = {
    "($c && $c)", "($c && $c)", "($c || $c)",     "!($c)",
    "($i <= $i)", "($i < $i)",  "($i == $i)",     "($i != $i)",
    "($i > $i)",  "($i >= $i)", "($c ? $c : $c)", "(ids[k] == ids[min(q, kv_len - 1)])"};
constexpr Production integerLeaves[] = {"q", "k", "h",     "hkv",    "b",      "n",  "1",
                                        "3", "0", "q_len", "kv_len", "ids[k]", "-2", "(q - k)"};
constexpr Production integers[] = {"($i + $i)",
                                   "($i - $i)",
                                   "(3 * clamp($i, -500, 500))",
                                   "($i // 3)",
                                   "($i % 4)",
                                   "($i // ($i % 5))",
                                   "($i % n)",
                                   "min($i, $i)",
                                   "max($i, $i)",
                                   "abs($i)",
                                   "clamp($i, 0, 9)",
                                   "($c ? $i : $i)",
                                   "-clamp($i, -90, 90)"};
constexpr Production realLeaves[] = {"s",
                                     "x",
                                     "0.5",
                                     "slope[h]",
                                     "slope[h] * real(k - q) * 0.01",
                                     "1.0",
                                     "table[clamp(q - k, 0, 63)]",
                                     "table[k % 64]"};
constexpr Production reals[] = {"(0.5 * ($r + $r))",
                                "(0.5 * ($r - $r))",
                                "(tanh($r) * $r)",
                                "(6.0 * tanh($r / 6.0))",
                                "min($r, $r)",
                                "max($r, $r)",
                                "abs($r)",
                                "clamp($r, -3.0, 3.0)",
                                "-($r)",
                                "($c ? $r : $r)",
                                "exp(clamp($r, -4.0, 1.0))",
                                "exp2(clamp($r, -4.0, 1.0))",
                                "log(1.5 + abs($r))",
                                "log2(1.5 + abs($r))",
                                "sqrt(0.25 + abs($r))",
                                "($r / (2.0 + abs($r)))",
                                "(0.01 * real(clamp($i, -900, 900)))"};

RandomExpression make(std::mt19937_64 &random, Sort sort, int depth) {
  auto pick = [&](std::span<const Production> productions) {
    return std::string(productions[random() % productions.size()]);
  };
  std::string production;
  const bool isLeaf = depth <= 0 || random() % 5 == 0;
  switch (sort) {
  case Sort::Condition:
    production = isLeaf ? pick(conditionLeaves) : pick(conditions);
    break;
  case Sort::Integer:
    production = isLeaf ? pick(integerLeaves) : pick(integers);
    break;
  case Sort::Real:
    production = isLeaf ? pick(realLeaves) : pick(reals);
    break;
  }
  RandomExpression result{sort, {}, {}};
  for (size_t i = 0; i < production.size(); ++i) {
    result.pattern += production[i];
    if (production[i] != '$')
      continue;
    const char letter = production[++i];
    const Sort child = letter == 'c' ? Sort::Condition : letter == 'i' ? Sort::Integer : Sort::Real;
    result.children.push_back(make(random, child, depth - 1));
  }
  return result;
}

void collect(const RandomExpression &from, Sort sort, std::vector<RandomExpression> &found) {
  for (const RandomExpression &child : from.children) {
    if (child.sort == sort)
      found.push_back(child);
    collect(child, sort, found);
  }
}

} // namespace

std::string RandomExpression::text() const {
  std::string result;
  size_t next = 0;
  for (char c : pattern) {
    if (c == '$')
      result += children[next++].text();
    else
      result += c;
  }
  return result;
}

std::vector<RandomExpression> RandomExpression::simpler() const {
  std::vector<RandomExpression> result;
  collect(*this, sort, result);
  for (size_t i = 0; i < children.size(); ++i)
    for (RandomExpression &child : children[i].simpler()) {
      result.push_back(*this);
      result.back().children[i] = std::move(child);
    }
  return result;
}

RandomExpression tilewright::random_test::randomMask(std::mt19937_64 &random, int depth) {
  return make(random, Sort::Condition, depth);
}

RandomExpression tilewright::random_test::randomScore(std::mt19937_64 &random, int depth) {
  return make(random, Sort::Real, depth);
}
