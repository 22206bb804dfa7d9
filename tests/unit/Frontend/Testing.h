//===- Testing.h - What the tests of the front end share --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_FRONTEND_TESTING_H
#define TILEWRIGHT_TESTS_UNIT_FRONTEND_TESTING_H

#include "compiler/Frontend/BuildProblem.h"
#include "compiler/Frontend/ParseModule.h"
#include "compiler/Frontend/PrintModule.h"
#include "compiler/Frontend/ReadProblem.h"
#include "compiler/Pipelines/Register.h"

#include "mlir/IR/DialectRegistry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {

/// A context with all dialects.
class FrontendTest : public testing::Test {
protected:
  FrontendTest() : context(registry(), mlir::MLIRContext::Threading::DISABLED) {}

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  /// The problem as IR text; the problem must be good.
  std::string build(const Problem &problem) {
    const Result<ParsedProblem> parsed = parseProblem(problem);
    EXPECT_TRUE(parsed) << parsed.error().message();
    return parsed ? printModule(*buildProblem(*parsed, context)) : "";
  }

  /// The message with which a text is refused; empty if it is accepted.
  std::string parseError(std::string_view text) {
    const auto module = parseModule(text, context);
    return module ? "" : module.error().message();
  }

  mlir::MLIRContext context;
};

} // namespace tilewright

#endif // TILEWRIGHT_TESTS_UNIT_FRONTEND_TESTING_H
