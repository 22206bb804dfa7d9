//===- ExpressionTest.cpp - Building expressions without text -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Expression/Testing.h"

using namespace tilewright;
using namespace tilewright::expression;
using testing::HasSubstr;

TEST(Builder, BuildsWhatTheParserReads) {
  Declarations names;
  Builder builder(names);
  const NodeId q = builder.variable(Variable::Q), k = builder.variable(Variable::K);
  Result<NodeId> visible = builder.apply(Kind::LessEqual, {k, q});
  ASSERT_TRUE(visible);
  Result<Expression> causal = std::move(builder).finish(*visible, Role::Mask);
  ASSERT_TRUE(causal);
  EXPECT_EQ(toString(*causal, names), "k <= q");
  EXPECT_EQ(causal->text(), "");
}

TEST(Builder, DropsWhatTheRootDoesNotUse) {
  Declarations names;
  Builder builder(names);
  builder.variable(Variable::S); // unused, so a mask may hold it
  const NodeId q = builder.variable(Variable::Q);
  const NodeId root = *builder.apply(Kind::Less, {q, builder.integer(7)});
  *builder.apply(Kind::Multiply, {q, q});
  Result<Expression> mask = std::move(builder).finish(root, Role::Mask);
  ASSERT_TRUE(mask);
  EXPECT_EQ(mask->nodes().size(), 3u);
  EXPECT_EQ((*mask)[mask->root()].kind, Kind::Less);
}

TEST(Builder, RefusesWrongTypesAndCounts) {
  Declarations names;
  const uint32_t ids = *names.addTensor("ids", DType::I32, 2);
  Builder builder(names);
  const NodeId q = builder.variable(Variable::Q), s = builder.variable(Variable::S);
  EXPECT_THAT(builder.apply(Kind::Add, {q}).error().message(),
              HasSubstr("takes 2 operands, not 1"));
  EXPECT_THAT(builder.apply(Kind::Element, {q}).error().message(), HasSubstr("takes 0 operands"));
  EXPECT_THAT(builder.apply(Kind::And, {q, q}).error().message(), HasSubstr("wants a condition"));
  EXPECT_THAT(builder.element(ids, {{q}}).error().message(), HasSubstr("rank 2"));
  EXPECT_THAT(builder.element(ids, {{q, s}}).error().message(), HasSubstr("index 1"));
}

TEST(Builder, RefusesTheScoreInAMask) {
  Declarations names;
  Builder builder(names);
  const NodeId root =
      *builder.apply(Kind::Greater, {builder.variable(Variable::S), builder.real(0)});
  Result<Expression> mask = std::move(builder).finish(root, Role::Mask);
  ASSERT_FALSE(mask);
  EXPECT_THAT(mask.error().message(), HasSubstr("masks do not see the score"));
}

TEST(Declarations, RefuseNamesThatAreTaken) {
  Declarations names;
  EXPECT_EQ(*names.addScalar("w", Type::I32), 0u);
  EXPECT_EQ(*names.addTensor("t", DType::F32, 1), 0u);
  EXPECT_THAT(names.addTensor("w", DType::F32, 1).error().message(), HasSubstr("declared twice"));
  EXPECT_THAT(names.addScalar("t", Type::Real).error().message(), HasSubstr("declared twice"));
  for (std::string_view reserved : {"s", "q", "kv_len", "exp", "clamp", "real", "inf", "true"})
    EXPECT_THAT(names.addScalar(reserved, Type::I32).error().message(), HasSubstr("built in"));
  for (const std::string &wrong : {std::string(), std::string("5x"), std::string("a b"),
                                   std::string("a\0b", 3), std::string(65, 'x')})
    EXPECT_THAT(names.addScalar(wrong, Type::I32).error().message(), HasSubstr("is not a name"));
  EXPECT_THAT(names.addTensor("u", DType::F32, 0).error().message(), HasSubstr("rank 0"));
  EXPECT_THAT(names.addTensor("u", DType::F32, 9).error().message(), HasSubstr("rank 9"));
  EXPECT_THAT(names.addScalar("c", Type::I1).error().message(), HasSubstr("i32 or real"));
}

TEST(Declarations, BindingsMustFit) {
  Declarations names;
  ASSERT_TRUE(names.addScalar("w", Type::I32));
  ASSERT_TRUE(names.addTensor("t", DType::F32, 2));
  const auto message = [&](Bindings bindings) {
    Status status = checkBindings(names, bindings);
    return status ? std::string() : status.error().message();
  };
  float data[6];
  const TensorView t(data, DType::F32, {2, 3});
  EXPECT_EQ(message({{5}, {t}}), "");
  EXPECT_EQ(message({{}, {t}}), "scalar 'w' has no value");
  EXPECT_EQ(message({{5}, {}}), "tensor 't' is not given");
  EXPECT_THAT(message({{5, 6}, {t}}), HasSubstr("2 scalars and 1 tensors are given"));
  EXPECT_THAT(message({{5.5}, {t}}), HasSubstr("'w' is 5.5, which is no i32"));
  EXPECT_THAT(message({{1e10}, {t}}), HasSubstr("no i32"));
  EXPECT_THAT(message({{NAN}, {t}}), HasSubstr("no i32"));
  EXPECT_EQ(message({{5}, {TensorView(data, DType::F32, {6})}}),
            "tensor 't' is f32[6]; f32 of rank 2 is declared");
  EXPECT_THAT(message({{5}, {TensorView(data, DType::I32, {2, 3})}}), HasSubstr("i32[2, 3]"));
}

TEST(Declarations, SizesHaveLimits) {
  EXPECT_TRUE(checkSizes({1, 8, 2, 1 << 30, 1 << 30}));
  EXPECT_TRUE(checkSizes({0, 0, 0, 0, 0}));
  EXPECT_THAT(checkSizes({1, 8, 2, (1 << 30) + 1, 1}).error().message(),
              HasSubstr("q_len is 1073741825; it must be from 0 to 1073741824"));
  EXPECT_THAT(checkSizes({-1, 8, 2, 1, 1}).error().message(), HasSubstr("batch is -1"));
  EXPECT_THAT(checkSizes({1, 8, 3, 1, 1}).error().message(),
              HasSubstr("8 query heads are not a multiple of 3 kv heads"));
  EXPECT_THAT(checkSizes({1, 8, 0, 1, 1}).error().message(), HasSubstr("multiple of 0"));
}

TEST(Declarations, NumbersOfOptions) {
  EXPECT_EQ(parseNumber("5")->type, Type::I32);
  EXPECT_EQ(parseNumber("-5")->value, -5);
  EXPECT_EQ(parseNumber("5.0")->type, Type::Real);
  EXPECT_EQ(parseNumber("-1e-3")->value, -1e-3);
  EXPECT_EQ(parseNumber("-inf")->value, -INFINITY);
  EXPECT_EQ(parseNumber("-2147483648")->value, -2147483648.0);
  for (std::string_view wrong : {"", "-", "--5", "5 ", " 5", "+5", "nan", "infinity", "five", "1e",
                                 "-.", ".", "2147483648", "99999999999999999999", "1e999"})
    EXPECT_FALSE(parseNumber(wrong)) << wrong;
}
