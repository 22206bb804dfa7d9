//===- CollectDiagnostics.cpp - MLIR's diagnostics as an Error ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/CollectDiagnostics.h"

#include "mlir/IR/Location.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;
using namespace tilewright;

/// A diagnostic may print a whole type or attribute that the file states.
static constexpr size_t maxDiagnosticLength = 400;

CollectDiagnostics::CollectDiagnostics(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        if (errors.size() == limit) {
          ++dropped;
          return success();
        }
        std::string text = diagnostic.str();
        if (text.size() > maxDiagnosticLength)
          text.replace(maxDiagnosticLength, std::string::npos, "...");
        if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
          text = fmt::format("{}:{}: {}", place.getLine(), place.getColumn(), text);
        errors.push_back(std::move(text));
        return success();
      }) {}

std::string CollectDiagnostics::message(std::string_view otherwise) const {
  if (errors.empty())
    return std::string(otherwise);
  std::string text = fmt::format("{}", fmt::join(errors, "\n"));
  if (dropped > 0)
    text += fmt::format("\n({} more)", dropped);
  return text;
}
