//===- IoModel.cpp - How much memory attention needs and moves ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/IoModel.h"

using namespace tilewright;

double IoModel::inputBytes() const {
  const double queries = double(sizes.heads) * double(sizes.queryLength) * double(headDim);
  const double keys = double(sizes.kvHeads) * double(sizes.keyLength) * double(headDim);
  const double values = double(sizes.kvHeads) * double(sizes.keyLength) * double(valueDim);
  return double(sizes.batch) * (queries + keys + values) * double(sizeOf(dtype));
}

double IoModel::scoreTableBytes() const {
  return double(sizes.batch) * double(sizes.heads) * double(sizes.queryLength) *
         double(sizes.keyLength) * double(sizeOf(dtype));
}

double IoModel::tableAccesses() const {
  return double(sizes.queryLength) * double(sizes.keyLength) + length() * width();
}

double IoModel::tiledAccesses(double memory) const {
  return double(sizes.queryLength) * double(sizes.keyLength) * width() * width() / memory +
         length() * width();
}

double IoModel::accessRatioLimit(double memory) const {
  return memory / (width() * width());
}

IoModel::Range IoModel::range(double memory) const {
  if (memory < width() * width())
    return Range::MemoryTooSmall;
  if (memory > length() * width())
    return Range::AllFits;
  return Range::Holds;
}
