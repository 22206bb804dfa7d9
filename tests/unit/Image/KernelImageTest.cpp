//===- KernelImageTest.cpp - Images as bytes and back ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Image/Format.h"
#include "tests/unit/Image/Testing.h"

#include <bit>

using namespace tilewright;
using namespace tilewright::expression;
using testing::HasSubstr;

static Result<KernelImage> decode(std::string_view bytes) {
  return decodeImage(std::as_bytes(std::span(bytes)));
}

static std::string whyRefused(std::string_view bytes) {
  Result<KernelImage> image = decode(bytes);
  EXPECT_FALSE(image);
  return image ? "" : image.error().message();
}

/// The same payload after a change, under a right checksum.
static std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - image::checksumBytes);
  const uint64_t length = bytes.size() - image::headerBytes;
  for (size_t i = 0; i < 8; ++i)
    bytes[image::magic.size() + 4 + i] = static_cast<char>(length >> (8 * i));
  const uint64_t checksum = image::checksum(std::as_bytes(std::span(bytes)));
  for (size_t i = 0; i < 8; ++i)
    bytes += static_cast<char>(checksum >> (8 * i));
  return bytes;
}

static void expectEqual(const Expression &a, const Expression &b) {
  EXPECT_EQ(a.role(), b.role());
  EXPECT_EQ(a.text(), b.text());
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (NodeId id = 0; id < a.nodes().size(); ++id) {
    EXPECT_EQ(a[id].kind, b[id].kind);
    EXPECT_EQ(a[id].type, b[id].type);
    EXPECT_EQ(a[id].variable, b[id].variable);
    EXPECT_EQ(a[id].index, b[id].index);
    EXPECT_EQ(std::bit_cast<uint64_t>(a[id].number), std::bit_cast<uint64_t>(b[id].number));
    EXPECT_EQ(a[id].span.begin, b[id].span.begin);
    EXPECT_EQ(a[id].span.end, b[id].span.end);
    EXPECT_TRUE(std::ranges::equal(a.operands(a[id]), b.operands(b[id])));
  }
}

TEST(KernelImage, ComesBackAsItWas) {
  const KernelImage image = smallImage();
  Result<KernelImage> back = decode(encode(image));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->target, image.target);
  EXPECT_EQ(back->compiler, image.compiler);
  EXPECT_EQ(back->assembler, image.assembler);
  EXPECT_EQ(back->schedule, image.schedule);
  EXPECT_EQ(back->stage, image.stage);
  EXPECT_EQ(back->source, image.source);
  EXPECT_EQ(back->arguments, image.arguments);
  EXPECT_EQ(back->launches, image.launches);
  EXPECT_EQ(back->ptx, image.ptx);
  EXPECT_EQ(back->cubin, image.cubin);
  ASSERT_EQ(back->expressions.masks.size(), 1u);
  expectEqual(back->expressions.masks[0], image.expressions.masks[0]);
  expectEqual(back->expressions.scores[0], image.expressions.scores[0]);
  EXPECT_EQ(encode(*back), encode(image));
}

TEST(KernelImage, KeepsEveryKindOfExpression) {
  KernelImage image = smallImage();
  Declarations &names = image.expressions.declarations;
  const auto tensor = [&](const char *name, DType dtype, DType asArgument, size_t rank) {
    ASSERT_TRUE(names.addTensor(name, dtype, rank));
    const std::vector<int64_t> open(rank, KernelArgument::dynamic);
    image.arguments.push_back({.name = name, .dtype = asArgument, .shape = open, .strides = open});
  };
  tensor("bytes", DType::U8, DType::U8, 1);
  tensor("visible", DType::Bool, DType::U8, 4);
  tensor("document", DType::I32, DType::I32, 2);
  tensor("stamp", DType::I64, DType::I64, 1);
  ASSERT_TRUE(names.addScalar("slope", Type::Real));
  image.arguments.push_back({.name = "slope", .kind = KernelArgument::Kind::F32});
  for (const char *text :
       {"true", "bytes[k]", "!bytes[k] || visible[b, h, q, k]", "stamp[k] <= stamp[q]",
        "stamp[k] == 3", "document[b, q] == document[b, k]", "k // 3 % 2 == abs(q - k) % 2",
        "(bytes[q] ? visible[b, h, q, k] : bytes[k]) != bytes[0]",
        "min(q, k) < max(q_len, kv_len)"})
    image.expressions.masks.push_back(parsed(text, names, Role::Mask));
  for (const char *text :
       {"s", "k", "-s / 2.5", "tanh(s / slope) * slope", "s + exp2(log2(sqrt(real(k + 1))))",
        "k == q ? -inf : s + inf - inf", "floor(s) + log(exp(s)) - hkv"})
    image.expressions.scores.push_back(parsed(text, names, Role::Score));
  Result<KernelImage> back = decode(encode(image));
  ASSERT_TRUE(back) << back.error().message();
  ASSERT_EQ(back->expressions.masks.size(), image.expressions.masks.size());
  for (size_t i = 0; i < image.expressions.masks.size(); ++i)
    expectEqual(back->expressions.masks[i], image.expressions.masks[i]);
  for (size_t i = 0; i < image.expressions.scores.size(); ++i)
    expectEqual(back->expressions.scores[i], image.expressions.scores[i]);
}

TEST(KernelImage, KeepsExpressionsThatWereBuilt) {
  KernelImage image = smallImage();
  Builder builder(image.expressions.declarations);
  const NodeId k = builder.variable(Variable::K);
  // One value, used twice.
  Result<NodeId> square = builder.apply(Kind::Multiply, {k, k});
  Result<NodeId> root = builder.apply(Kind::Less, {*square, builder.integer(-7)});
  Result<Expression> built = std::move(builder).finish(*root, Role::Mask);
  ASSERT_TRUE(built);
  image.expressions.masks = {*built};
  Result<KernelImage> back = decode(encode(image));
  ASSERT_TRUE(back) << back.error().message();
  expectEqual(back->expressions.masks[0], *built);
}

TEST(KernelImage, IsRefusedWithAnyByteFlipped) {
  const std::string bytes = encode(smallImage());
  for (size_t i = 0; i < bytes.size(); ++i)
    for (unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string altered = bytes;
      altered[i] = static_cast<char>(static_cast<unsigned char>(altered[i]) ^ flip);
      const std::string reason = whyRefused(altered);
      const char *expected = i < 8    ? "it is none"
                             : i < 12 ? "its format has version"
                             : i < 20 ? "it"
                                      : "it was altered: its checksum is";
      EXPECT_THAT(reason, HasSubstr(expected)) << "byte " << i;
    }
}

TEST(KernelImage, IsRefusedTruncatedAnywhere) {
  const std::string bytes = encode(smallImage());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THAT(whyRefused(std::string_view(bytes).substr(0, length)), HasSubstr("it is truncated"))
        << length;
  EXPECT_THAT(whyRefused(bytes + "x"), HasSubstr("1 bytes follow its end"));
}

TEST(KernelImage, IsRefusedWhenNewer) {
  std::string bytes = encode(smallImage());
  bytes[8] = 3;
  EXPECT_THAT(whyRefused(bytes),
              HasSubstr("version 3, which is newer than what this build reads (2)"));
  bytes[8] = 1;
  EXPECT_THAT(whyRefused(bytes), HasSubstr("version 1, and this build reads 2"));
  EXPECT_THAT(
      whyRefused("#!/bin/sh\necho hello\n"),
      HasSubstr("kernel image: it is none: one begins with the bytes 89 54 57 4b 0d 0a 1a 0a, "
                "and this with 23 21 2f 62 69 6e 2f 73"));
}

TEST(KernelImage, IsReadOrRefusedWhateverItsPayload) {
  const std::string bytes = encode(smallImage());
  size_t refused = 0;
  for (size_t i = image::headerBytes; i + image::checksumBytes < bytes.size(); ++i)
    for (unsigned char flip : {0x01, 0x08, 0x80, 0xff}) {
      std::string altered = bytes;
      altered[i] = static_cast<char>(static_cast<unsigned char>(altered[i]) ^ flip);
      Result<KernelImage> image = decode(resealed(altered));
      if (image)
        // Whatever is accepted means the same when it is written again.
        EXPECT_EQ(encode(*image), resealed(altered)) << "byte " << i;
      else
        ++refused;
    }
  EXPECT_GT(refused, bytes.size());
  for (size_t length = image::headerBytes; length + 8 < bytes.size(); ++length)
    EXPECT_NE(whyRefused(resealed(bytes.substr(0, length) + "checksum")), "");
}

/// The error of an image that is encoded after a change.
template <typename Change> static std::string refusalAfter(const Change &change) {
  KernelImage image = smallImage();
  change(image);
  return whyRefused(encode(image));
}

TEST(KernelImage, IsRefusedWhereALaunchWouldTrip) {
  using Op = SizeFormula::Op;
  using ParameterKind = KernelParameter::Kind;
  const auto grid = [](std::vector<SizeFormula::Step> steps) {
    return refusalAfter([&](KernelImage &image) { image.launches[0].grid = {{steps}}; });
  };
  EXPECT_THAT(grid({}), HasSubstr("leaves 0 numbers"));
  EXPECT_THAT(grid({{Op::Constant, 1}, {Op::Add}}), HasSubstr("keeps less than 1"));
  EXPECT_THAT(grid(std::vector<SizeFormula::Step>(17, {Op::Constant, 1})),
              HasSubstr("more than 16 numbers"));
  EXPECT_THAT(grid({{.op = Op::Extent, .argument = 0, .dimension = 4}}),
              HasSubstr("reads dimension 4 of argument 0"));
  EXPECT_THAT(grid({{.op = Op::Extent, .argument = 9, .dimension = 0}}),
              HasSubstr("reads dimension 0 of argument 9"));

  const auto parameter = [](KernelParameter parameter) {
    return refusalAfter(
        [&](KernelImage &image) { image.launches[0].parameters.push_back(parameter); });
  };
  EXPECT_THAT(parameter({ParameterKind::Address, 8, 0}), HasSubstr("from argument 8 of 8"));
  EXPECT_THAT(parameter({ParameterKind::Address, 5, 0}), HasSubstr("'scale' takes a tensor"));
  EXPECT_THAT(parameter({ParameterKind::Scalar, 0, 0}), HasSubstr("'query' takes a tensor"));
  EXPECT_THAT(parameter({ParameterKind::Stride, 4, 3}), HasSubstr("dimension 3 of 'lse'"));
  EXPECT_THAT(parameter({ParameterKind::TensorMap, 4, 64}), HasSubstr("'lse' (f32"));
  EXPECT_THAT(parameter({ParameterKind::TensorMap, 0, 257}), HasSubstr("boxes of 257 rows"));
  EXPECT_THAT(refusalAfter([](KernelImage &image) {
                image.launches[0].parameters.assign(40, {ParameterKind::TensorMap, 0, 64});
              }),
              HasSubstr("more than 4096 bytes of parameters"));

  EXPECT_THAT(refusalAfter([](KernelImage &image) { image.launches[0].threads = 1025; }),
              HasSubstr("1025 threads"));
  EXPECT_THAT(refusalAfter([](KernelImage &image) { image.launches[0].sharedMemory = 232449; }),
              HasSubstr("the limit is 232448"));
  EXPECT_THAT(refusalAfter([](KernelImage &image) {
                image.launches[0].kernel = std::string("attention\0x", 11);
              }),
              HasSubstr("kernel 'attention?x' is no name"));
  EXPECT_THAT(refusalAfter([](KernelImage &image) { image.launches.clear(); }),
              HasSubstr("0 launches"));
  EXPECT_THAT(refusalAfter([](KernelImage &image) { image.arguments[1].name = "query"; }),
              HasSubstr("two arguments are named 'query'"));
  EXPECT_THAT(refusalAfter([](KernelImage &image) { image.arguments[1].shape[0] = -5; }),
              HasSubstr("'key' has an extent of -5"));
  EXPECT_THAT(refusalAfter([](KernelImage &image) { image.arguments[1].strides.pop_back(); }),
              HasSubstr("4 extents and 3 strides"));
  EXPECT_THAT(refusalAfter([](KernelImage &image) { image.arguments[6].name = "span"; }),
              HasSubstr("declare a scalar 'window', which the kernel does not take"));
  EXPECT_THAT(refusalAfter([](KernelImage &image) { image.arguments[7].dtype = DType::F16; }),
              HasSubstr("declare a tensor 'bias' (f32, 1 dimensions)"));
}

TEST(KernelImage, IsRefusedWithRingsOutsideOfItsSharedMemory) {
  const auto ring = [](const auto &change) {
    return refusalAfter([&](KernelImage &image) { change(image.launches[0].rings[1]); });
  };
  EXPECT_THAT(ring([](SharedRing &values) { values.name = "a\nb"; }),
              HasSubstr("ring 'a b' is no name"));
  EXPECT_THAT(ring([](SharedRing &values) { values.stages = 0; }),
              HasSubstr("ring 'values' has 0 stages of 16384 bytes"));
  EXPECT_THAT(ring([](SharedRing &values) { values.stageBytes = 16; }),
              HasSubstr("ring 'values' has 3 stages of 16 bytes"));
  EXPECT_THAT(ring([](SharedRing &values) { values.stages = 4; }),
              HasSubstr("ring 'values' ends at byte 114688 of the 99328"));
  EXPECT_THAT(ring([](SharedRing &values) { values.offset = UINT32_MAX; }),
              HasSubstr("ring 'values' ends at byte 4295016447 of"));
  EXPECT_THAT(ring([](SharedRing &values) { values.barriers = 99281; }),
              HasSubstr("ring 'values' ends at byte 99329 of"));
  EXPECT_THAT(refusalAfter([](KernelImage &image) {
                image.launches[0].rings.resize(65, image.launches[0].rings[0]);
              }),
              HasSubstr("there are 65 rings; the limit is 64"));
}

TEST(CheckImage, LimitsTheNumberOfArguments) {
  KernelImage image = smallImage();
  EXPECT_TRUE(checkImage(image));
  while (image.arguments.size() <= maxArguments)
    image.arguments.push_back({.name = "extra" + std::to_string(image.arguments.size()),
                               .kind = KernelArgument::Kind::I32});
  Status checked = checkImage(image);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(), HasSubstr("65 arguments, 'extra64' beyond the limit"));
}
