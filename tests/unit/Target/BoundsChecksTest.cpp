//===- BoundsChecksTest.cpp -----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks as code refuse what lib/Expression/Bounds.h refuses, and nothing else.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/BoundsChecks.h"
#include "compiler/Target/CPU/CpuTarget.h"
#include "lib/Expression/Bounds.h"
#include "lib/Expression/Parse.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>

#include <gtest/gtest.h>

using namespace tilewright;
using namespace tilewright::expression;

namespace {
constexpr size_t firstScalar = 5, firstExtent = 16;

/// The checks of one expression, compiled.
class Checks {
public:
  Checks(const Expression &expression, const Declarations &declarations) {
    EXPECT_TRUE(CpuTarget::host());
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>("checks", *context);
    module->setDataLayout(jit->getDataLayout());
    auto *function = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getInt32Ty(*context),
                                {llvm::PointerType::getUnqual(*context)}, false),
        llvm::GlobalValue::ExternalLinkage, "check", *module);
    sentences = {"success"};
    CheckBuilder b(function, sentences);
    const auto value = [&](size_t i) {
      return b.CreateLoad(b.getInt64Ty(),
                          b.CreateConstGEP1_64(b.getInt64Ty(), function->getArg(0), i));
    };
    addBoundsChecks(
        b, expression, declarations,
        {.batch = value(0),
         .heads = value(1),
         .kvHeads = value(2),
         .queryLength = value(3),
         .keyLength = value(4),
         .scalar = [&](uint32_t scalar) { return value(firstScalar + scalar); },
         .extent = [&](uint32_t tensor,
                       size_t dimension) { return value(firstExtent + tensor + dimension); }});
    b.CreateRet(b.getInt32(0));
    llvm::cantFail(
        jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
    check = llvm::cantFail(jit->lookup("check")).toPtr<int (*)(const int64_t *)>();
  }

  /// Empty where nothing is refused.
  std::string refusal(const std::vector<int64_t> &values) const {
    const int status = check(values.data());
    return status == 0 ? "" : sentences.at(static_cast<size_t>(status));
  }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<std::string> sentences;
  int (*check)(const int64_t *) = nullptr;
};
} // namespace

TEST(BoundsChecks, RefuseWhatTheAnalysisRefuses) {
  const char *indices[] = {"k // n",
                           "(q - k) // n",
                           "(k - q) % n",
                           "(k + 3) % 5",
                           "q % max(n, 1)",
                           "clamp(k - n, 0, 3)",
                           "n < 2 ? k : q",
                           "q < m ? 0 : n",
                           "abs(q - k) + min(n, 0)",
                           "(q_len - 1 - q) * n",
                           "-n * k + kv_len",
                           "bytes[k] // 100",
                           "bytes[k] * n * 100000000 // 1000000000",
                           "k == 0 && q >= n || !(n <= 3) ? 1 : h + b + hkv",
                           "n != 2 ? max(n, k) : 0",
                           "n == 2 && q < 100 ? k : 0",
                           "s > 0.0 ? k : n",
                           "(k + 1) * 1000000000 // 1000000000",
                           "(k + n) * m * 300000000 % 4",
                           "keys[k] == n ? k : 0",
                           "hkv * 2 + h % 2 - b"};
  size_t refused = 0, accepted = 0;
  Declarations declarations;
  ASSERT_TRUE(declarations.addScalar("n", Type::I32));
  ASSERT_TRUE(declarations.addScalar("m", Type::I32));
  ASSERT_TRUE(declarations.addTensor("t", DType::F32, 1));
  ASSERT_TRUE(declarations.addTensor("bytes", DType::U8, 1));
  ASSERT_TRUE(declarations.addTensor("keys", DType::I64, 1));
  for (const char *index : indices) {
    SCOPED_TRACE(index);
    const Result<Expression> expression =
        parse(std::string("s + t[") + index + "]", declarations, Role::Score);
    ASSERT_TRUE(expression) << expression.error().message();
    const Checks checks(*expression, declarations);
    float memory[16] = {};
    for (const Sizes &sizes : {Sizes{1, 2, 1, 3, 4}, Sizes{2, 4, 2, 9, 2}, Sizes{1, 1, 1, 1, 1}})
      for (int n = -4; n <= 5; ++n)
        for (int m : {-3, 0, 2})
          for (int64_t extent : {0, 1, 4, 9}) {
            const Bindings bindings{{double(n), double(m)},
                                    {TensorView(memory, DType::F32, {extent}),
                                     TensorView(memory, DType::U8, {4}),
                                     TensorView(memory, DType::I64, {4})}};
            const Result<Bounds> right = checkBounds(*expression, declarations, sizes, bindings);
            std::vector<int64_t> values = {
                sizes.batch, sizes.heads, sizes.kvHeads, sizes.queryLength, sizes.keyLength, n, m};
            values.resize(firstExtent);
            values.insert(values.end(), {extent, 4, 4});
            const std::string refusal = checks.refusal(values);
            EXPECT_EQ(refusal.empty(), static_cast<bool>(right))
                << "n " << n << ", m " << m << ", extent " << extent << ": " << refusal
                << (right ? "" : right.error().message());
            ++(right ? accepted : refused);
          }
  }
  // Both happen, or nothing was tested.
  EXPECT_GT(refused, 1000U);
  EXPECT_GT(accepted, 1000U);
}
