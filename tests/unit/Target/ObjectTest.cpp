//===- ObjectTest.cpp - Objects compiled ahead of time --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An object refuses what the kernel of the same compilation refuses, and computes
// what the reference does.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/ObjectFunctions.h"
#include "tests/unit/Target/Attention.h"
#include "tests/unit/Target/ObjectKernel.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace tilewright;
using namespace tilewright::test;
using reference::Case;
using reference::makeArray;
using reference::noise;
using testing::HasSubstr;
using testing::StartsWith;

namespace {
Result<Kernel> objectKernel(const Case &aCase, const test::Options &options = {}) {
  Result<Compilation> compilation =
      compile(describe(aCase.problem, options), {"cpu", options.cpu, options.schedule});
  if (!compilation)
    return compilation.error();
  return makeObjectKernel(*compilation);
}

Case makeCase(Case::Shape shape) {
  return Case(shape, noise(1), noise(2), noise(3));
}
} // namespace

TEST(Object, ComputesWhatTheReferenceDoes) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    SCOPED_TRACE(nameOf(dtype));
    Case plain = makeCase({.queries = 70, .keys = 70, .d = 24, .dv = 16, .dtype = dtype});
    expectRight(objectKernel(plain.preset("causal")), plain);
    // Groups of heads, lengths that no block divides, and everything captured.
    Case rich = makeCase({.queries = 37,
                          .keys = 53,
                          .d = 20,
                          .dv = 28,
                          .batch = 2,
                          .heads = 6,
                          .kvHeads = 2,
                          .dtype = dtype});
    rich.scalar("window", expression::Type::I32, 20)
        .scalar("cap", expression::Type::Real, 5)
        .tensor("slope", makeArray(DType::F32, {6}, noise(4)))
        .tensor("document", makeArray(DType::I32, {2, 53}, [](int64_t i) { return i / 9; }))
        .score("cap * tanh(s / cap) + slope[h] * real(k - q)")
        .mask("q - k < window && document[b, q] == document[b, k]");
    expectRight(objectKernel(rich), rich);
  }
}

TEST(Object, FewQueriesTakeAWorkspace) {
  Case decode = makeCase({.queries = 1, .keys = 5000, .d = 32, .dv = 32, .heads = 4, .kvHeads = 2});
  const Result<Kernel> kernel = objectKernel(decode);
  expectRight(kernel, decode);
  const Result<size_t> bytes = kernel->workspaceSize({1, 4, 2, 1, 5000});
  ASSERT_TRUE(bytes);
  EXPECT_GT(*bytes, 0U);
  // What a kernel asks for is what its object asks for.
  EXPECT_EQ(*bytes, *compileKernel(decode.problem)->workspaceSize({1, 4, 2, 1, 5000}));
  EXPECT_EQ(*kernel->workspaceSize({1, 4, 3, 1, 5000}), 0U) << "4 heads are no multiple of 3";
}

TEST(Object, OtherProcessorsAreRefusedBeforeTheyRunAnything) {
  // Code for it may use XOP and FMA4, which no other family of processors has had.
  const Result<CpuTarget> target = CpuTarget::named("bdver4");
  if (!target || target->isHost)
    GTEST_SKIP() << "this processor has all that bdver4 has";
  Case aCase = makeCase({.queries = 4, .keys = 4});
  const Result<Kernel> kernel = objectKernel(aCase, {.cpu = "bdver4"});
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_EQ(*kernel->workspaceSize({1, 1, 1, 4, 4}), 0U);
  Arguments arguments;
  std::vector<float> memory(64);
  arguments.query = arguments.key = TensorView(memory.data(), DType::F32, {1, 1, 4, 4});
  arguments.value = arguments.out = TensorView(memory.data(), DType::F32, {1, 1, 4, 1});
  arguments.lse = TensorView(memory.data(), DType::F32, {1, 1, 4});
  const Status status = kernel->run(arguments, {}, {.threads = 1});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message(), StartsWith("1: the code is for bdver4"));
}

namespace {
/// Arguments of one launch, right until something is changed.
class Launch {
public:
  Launch() {
    aCase.tensor("bias", makeArray(DType::F32, {6}, noise(4)));
    aCase.score("s + bias[k]");
    jit = compileKernel(aCase.problem, {.schedule = "block_q=4,block_kv=4"});
    object = objectKernel(aCase, {.schedule = "block_q=4,block_kv=4"});
    EXPECT_TRUE(jit && object);
  }

  Arguments arguments() {
    Arguments given = captured(aCase.problem);
    given.query = aCase.problem.q;
    given.key = aCase.problem.k;
    given.value = aCase.problem.v;
    given.out = TensorView(out.data(), DType::F32, {2, 4, 5, 8});
    given.lse = TensorView(lse.data(), DType::F32, {2, 4, 5});
    return given;
  }

  /// Both kernels refuse; returns the object's sentence.
  std::string refusal(const std::function<void(Arguments &)> &change) {
    Arguments given = arguments();
    change(given);
    std::vector<std::byte> workspace(1 << 16);
    EXPECT_FALSE(jit->run(given, workspace, {.threads = 1}));
    const Status status = object->run(given, workspace, {.threads = 1});
    EXPECT_FALSE(status);
    EXPECT_FALSE(object->run(given, workspace, {.threads = 2}));
    return status ? "accepted" : status.error().message();
  }

  Case aCase =
      makeCase({.queries = 5, .keys = 6, .d = 8, .dv = 8, .batch = 2, .heads = 4, .kvHeads = 2});
  std::vector<float> out = std::vector<float>(1024), lse = std::vector<float>(1024);
  Result<Kernel> jit = Error(ErrorKind::Internal, ""), object = Error(ErrorKind::Internal, "");
};
} // namespace

TEST(Object, WrongArgumentsAreToldByName) {
  Launch launch;
  EXPECT_TRUE(launch.object->run(launch.arguments(), {}, {.threads = 1}));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.query.data = nullptr; }),
              HasSubstr("query: the pointer is null"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.tensors["bias"].data = nullptr; }),
              HasSubstr("tensor 'bias': the pointer is null"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.query.shape[0] = -1; }), HasSubstr("batch"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.key.shape[2] = (1 << 30) + 1; }),
              HasSubstr("key_length must be from 0 to 1073741824"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.key.shape[1] = a.value.shape[1] = 3; }),
              HasSubstr("heads must be a multiple of kv_heads"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.key.shape[1] = a.value.shape[1] = 0; }),
              HasSubstr("heads must be a multiple of kv_heads"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.value.strides[3] = 2; }),
              HasSubstr("value: the stride of dimension 3 must be 1"));
  EXPECT_THAT(
      launch.refusal([](Arguments &a) { a.key.data = static_cast<std::byte *>(a.key.data) + 1; }),
      HasSubstr("key: the pointer is no multiple of its elements' 4 bytes"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.query.strides[1] = INT64_MAX; }),
              HasSubstr("query: extents and strides do not fit the address space"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.query.strides[0] = INT64_MIN; }),
              HasSubstr("query: extents and strides do not fit the address space"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.out.strides[2] = 7; }),
              HasSubstr("out: these strides let elements share memory"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.out.strides[0] = 0; }),
              HasSubstr("out: these strides let elements share memory"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.out.data = a.query.data; }),
              HasSubstr("out overlaps query"));
  EXPECT_THAT(launch.refusal([&](Arguments &a) { a.lse->data = launch.out.data() + 319; }),
              HasSubstr("out overlaps lse"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.scale = INFINITY; }),
              HasSubstr("scale must be finite"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.tensors["bias"].shape[0] = 5; }),
              HasSubstr("index 'k' of tensor 'bias' can leave dimension 0"));
  EXPECT_THAT(launch.refusal([](Arguments &a) { a.tensors["bias"].shape[0] = -1; }),
              HasSubstr("tensor 'bias': the extent of dimension 0 must be from 0"));
}

TEST(Object, EmptyLaunchesNeedNoMemory) {
  Launch launch;
  Arguments given = launch.arguments();
  given.query.shape[0] = given.key.shape[0] = given.value.shape[0] = given.out.shape[0] =
      given.lse->shape[0] = 0;
  given.query.data = given.key.data = given.value.data = given.out.data = given.lse->data = nullptr;
  EXPECT_TRUE(launch.object->run(given, {}, {.threads = 1}));
  // No keys: zeros are written.
  given = launch.arguments();
  given.key.shape[2] = given.value.shape[2] = 0;
  given.key.data = given.value.data = nullptr;
  launch.out.assign(launch.out.size(), 7);
  std::vector<std::byte> workspace(1 << 16);
  EXPECT_TRUE(launch.object->run(given, workspace, {.threads = 1}));
  EXPECT_EQ(launch.out[0], 0);
  EXPECT_EQ(launch.out[319], 0);
}

TEST(Object, AWorkspaceMustBeGiven) {
  Case decode = makeCase({.queries = 1, .keys = 3000, .d = 8, .dv = 8});
  const Result<Kernel> kernel = objectKernel(decode);
  ASSERT_TRUE(kernel) << kernel.error().message();
  std::vector<float> out(8), lse(1);
  Arguments given = captured(decode.problem);
  given.query = decode.problem.q;
  given.key = decode.problem.k;
  given.value = decode.problem.v;
  given.out = TensorView(out.data(), DType::F32, {1, 1, 1, 8});
  given.lse = TensorView(lse.data(), DType::F32, {1, 1, 1});
  const size_t needed = *kernel->workspaceSize({1, 1, 1, 1, 3000});
  std::vector<std::byte> workspace(needed + 1);
  for (const std::span<std::byte> given_ :
       {std::span<std::byte>(), std::span(workspace).first(needed - 1)}) {
    const Status status = kernel->run(given, given_, {.threads = 1});
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message(), StartsWith("3: the workspace is null or too small"));
  }
  EXPECT_TRUE(kernel->run(given, std::span(workspace).subspan(1), {.threads = 1}))
      << "at any address";
}

TEST(Object, NamesMustBeIdentifiersOfC) {
  EXPECT_TRUE(ObjectDescription::make("a_name_of_2", {}, {}));
  for (const char *name :
       {"", "1st", "a-b", "_a", "a__b", "a b", "a;", "é", "x\n",
        "this_name_is_longer_than_sixty_four_characters_and_so_it_is_refused_"}) {
    const Result<ObjectDescription> object = ObjectDescription::make(name, {}, {});
    ASSERT_FALSE(object) << name;
    EXPECT_THAT(object.error().message(), HasSubstr("cannot begin the names of C functions"));
  }
}

TEST(Object, NamesOfUsersAreNoNamesOfC) {
  tilewright::Problem problem;
  problem.headDim = 8;
  problem.scores = {"s + int[k] + real(register) + linux"};
  problem.scalars = {{"register", ScalarType::I32}, {"linux", ScalarType::Real}};
  problem.tensors = {{"int", DType::F32, 1}};
  const Result<Compilation> compilation =
      compile(problem, {.schedule = "block_q=8,block_kv=8", .name = "while"});
  ASSERT_TRUE(compilation);
  const Result<std::string> header = compilation->text(Stage::Header);
  ASSERT_TRUE(header) << header.error().message();
  EXPECT_THAT(*header, HasSubstr("int while_run(const struct while_arguments *"));
  EXPECT_THAT(*header, HasSubstr("int32_t scalar_register;"));
  EXPECT_THAT(*header, HasSubstr("float scalar_linux;"));
  EXPECT_THAT(*header, HasSubstr("} tensor_int;"));

  // Of a program, too, no other text is a name.
  const Result<Compilation> vector = compileText(R"(
    func.func @f_items(%x: memref<4xf32> {attn.name = "x; } */"}) -> index {
      %c1 = arith.constant 1 : index
      return %c1 : index
    })",
                                                 Stage::Vector);
  ASSERT_FALSE(vector);
  EXPECT_THAT(vector.error().message(), HasSubstr("letters, digits and '_'"));
}
