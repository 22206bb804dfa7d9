//===- ParseTest.cpp - The grammar, typing and errors of expressions ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Expression/Testing.h"

#include <random>

using namespace tilewright;
using namespace tilewright::expression;
using testing::HasSubstr;

static std::string repeat(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i)
    result += text;
  return result;
}

static Declarations someNames() {
  Declarations names;
  EXPECT_TRUE(names.addScalar("window", Type::I32));
  EXPECT_TRUE(names.addScalar("cap", Type::Real));
  EXPECT_TRUE(names.addTensor("keep", DType::Bool, 2));
  EXPECT_TRUE(names.addTensor("byte", DType::U8, 1));
  EXPECT_TRUE(names.addTensor("ids", DType::I32, 1));
  EXPECT_TRUE(names.addTensor("wide", DType::I64, 1));
  EXPECT_TRUE(names.addTensor("bias", DType::BF16, 2));
  return names;
}

/// The printed form, which shows grouping and conversions.
static std::string printed(std::string_view text, Role role = Role::Score) {
  const Declarations names = someNames();
  return toString(parsed(text, names, role), names);
}

TEST(Parse, OperandsComeBeforeTheirUsesAndTheRootIsLast) {
  const Expression e = parsed("k <= q && q - k < window", someNames(), Role::Mask);
  ASSERT_EQ(e.nodes().size(), 9u);
  EXPECT_EQ(e[e.root()].kind, Kind::And);
  for (NodeId id = 0; id < e.nodes().size(); ++id)
    for (NodeId operand : e.operands(e[id]))
      EXPECT_LT(operand, id);
}

TEST(Parse, PrecedenceIsThatOfC) {
  EXPECT_EQ(printed("1 + 2 * 3"), "real(1 + 2 * 3)");
  EXPECT_EQ(printed("(1 + 2) * 3"), "real((1 + 2) * 3)");
  EXPECT_EQ(printed("7 - 2 - 1"), "real(7 - 2 - 1)");
  EXPECT_EQ(printed("7 - (2 - 1)"), "real(7 - (2 - 1))");
  EXPECT_EQ(printed("q // 2 * 3 % 5"), "real(q // 2 * 3 % 5)");
  EXPECT_EQ(printed("-q * k"), "real(-q * k)");
  EXPECT_EQ(printed("-(q * k)"), "real(-(q * k))");
  EXPECT_EQ(printed("k<q||k<1&&q<2", Role::Mask), "k < q || k < 1 && q < 2");
  EXPECT_EQ(printed("(k<q||k<1)&&q<2", Role::Mask), "(k < q || k < 1) && q < 2");
  EXPECT_EQ(printed("!(k < q) && true", Role::Mask), "!(k < q) && true");
  EXPECT_EQ(score("1 - 2 - 3"), -4);
  EXPECT_EQ(score("2 + 3 * 4"), 14);
}

TEST(Parse, TernaryIsRightAssociative) {
  EXPECT_EQ(printed("k < 1 ? 1.0 : k < 2 ? 2.0 : 3.0"), "k < 1 ? 1.0 : k < 2 ? 2.0 : 3.0");
  EXPECT_EQ(printed("(k < 1 ? true : false) ? 1.0 : 2.0"), "(k < 1 ? true : false) ? 1.0 : 2.0");
  EXPECT_EQ(score("k < 1 ? 1 : k < 2 ? 2 : 3", {.k = 1}), 2);
}

TEST(Parse, AnI32BesideARealConverts) {
  EXPECT_EQ(printed("s + q"), "s + real(q)");
  EXPECT_EQ(printed("s * (q - k)"), "s * real(q - k)");
  EXPECT_EQ(printed("true ? s : 0"), "true ? s : real(0)");
  EXPECT_EQ(printed("exp(q)"), "exp(real(q))");
  EXPECT_EQ(printed("q < 1.5", Role::Mask), "real(q) < 1.5");
  EXPECT_EQ(printed("5"), "real(5)");
}

TEST(Parse, ElementsHaveTheTypeOfTheirUse) {
  EXPECT_EQ(printed("keep[q, k]", Role::Mask), "keep[q, k]");
  EXPECT_EQ(printed("byte[k]", Role::Mask), "byte[k] != 0");
  EXPECT_EQ(printed("byte[k] && keep[q, k]", Role::Mask), "byte[k] != 0 && keep[q, k]");
  EXPECT_EQ(printed("keep[q, k] == byte[k]", Role::Mask), "keep[q, k] == (byte[k] != 0)");
  EXPECT_EQ(printed("byte[k] + 1"), "real(byte[k] + 1)");
  EXPECT_EQ(printed("ids[byte[k]] == ids[q]", Role::Mask), "ids[byte[k]] == ids[q]");
  EXPECT_EQ(printed("s + bias[q, k]"), "s + bias[q, k]");
}

TEST(Parse, AnI64ElementIsOnlyCompared) {
  const Expression e = parsed("wide[q] == ids[k]", someNames(), Role::Mask);
  EXPECT_EQ(e[e.operands(e[e.root()])[1]].kind, Kind::ToI64);
  EXPECT_THAT(refusal("ids[wide[q]] == 1", Role::Mask, someNames()), HasSubstr("is i64"));
  EXPECT_THAT(refusal("wide[q] + 1 == 2", Role::Mask, someNames()),
              HasSubstr("an i64 element can only be compared"));
  EXPECT_THAT(refusal("wide[q] < 1.0", Role::Mask, someNames()), HasSubstr("not with real"));
  EXPECT_THAT(refusal("wide[q]", Role::Score, someNames()), HasSubstr("not i64"));
}

TEST(Parse, ClampIsMaxThenMin) {
  EXPECT_EQ(printed("clamp(q - k, -5, 5)"), "real(min(max(q - k, -5), 5))");
  EXPECT_EQ(score("clamp(q, 3, 5)", {.q = 9}), 5);
  EXPECT_EQ(score("clamp(q, 3, 5)", {.q = 1}), 3);
}

TEST(Parse, Numbers) {
  EXPECT_EQ(printed("2147483647"), "real(2147483647)");
  EXPECT_EQ(printed("-2147483648"), "real(-2147483648)");
  EXPECT_EQ(printed(".5"), "0.5");
  EXPECT_EQ(printed("5."), "5.0");
  EXPECT_EQ(printed("1e-3"), "0.001");
  EXPECT_EQ(printed("-inf"), "-inf");
  EXPECT_EQ(printed("-0.0"), "-0.0");
  EXPECT_EQ(score("3-2"), 1);
  EXPECT_THAT(refusal("2147483648", Role::Score), HasSubstr("out of range"));
  EXPECT_THAT(refusal("-2147483649", Role::Score), HasSubstr("out of range"));
  EXPECT_THAT(refusal(repeat("9", 5000), Role::Score), HasSubstr("out of range"));
  EXPECT_THAT(refusal("1e999", Role::Score), HasSubstr("out of range"));
  EXPECT_THAT(refusal("5x", Role::Score), HasSubstr("'5x' is not a number"));
  EXPECT_THAT(refusal("1.2.3", Role::Score), HasSubstr("not a number"));
  EXPECT_THAT(refusal("0x10", Role::Score), HasSubstr("not a number"));
  EXPECT_THAT(refusal("2e", Role::Score), HasSubstr("not a number"));
}

TEST(Parse, ErrorsPointAtTheColumn) {
  EXPECT_EQ(refusal("q - k < widow"),
            "unknown name 'widow'; known are b, h, hkv, q, k, q_len, kv_len at column 9\n"
            "  q - k < widow\n"
            "          ^");
}

TEST(Parse, AMaskDoesNotKnowTheScore) {
  EXPECT_THAT(refusal("s > 0.0"), HasSubstr("unknown name 's' in a mask: masks do not see the "
                                            "score at column 1"));
}

TEST(Parse, TheRoleDecidesTheResult) {
  EXPECT_THAT(refusal("q - k", Role::Mask), HasSubstr("a mask is a condition"));
  EXPECT_THAT(refusal("q < k", Role::Score), HasSubstr("a score is a number, not i1"));
}

TEST(Parse, DivisionOfIntegersIsSpelledOut) {
  EXPECT_THAT(refusal("q / k < 1"), HasSubstr("use `//` for integers"));
  EXPECT_THAT(refusal("s // 2", Role::Score), HasSubstr("'//' wants integers (i32), not real"));
  EXPECT_EQ(printed("real(q) / k"), "real(q) / real(k)");
}

TEST(Parse, ConditionsAreNotNumbers) {
  EXPECT_THAT(refusal("q && true"), HasSubstr("'&&' wants a condition (i1), not i32; compare it"));
  EXPECT_THAT(refusal("!q"), HasSubstr("'!' wants a condition"));
  EXPECT_THAT(refusal("(q < k) + 1 < 2"), HasSubstr("`x ? 1 : 0`"));
  EXPECT_THAT(refusal("true < false"), HasSubstr("'<' wants numbers"));
  EXPECT_THAT(refusal("q ? 1 : 2", Role::Score), HasSubstr("wants a condition"));
  EXPECT_THAT(refusal("true ? q : q < k", Role::Score), HasSubstr("wants a condition"));
}

TEST(Parse, ComparisonsDoNotChain) {
  EXPECT_THAT(refusal("0 < k < q"), HasSubstr("write `a < b && b < c` at column 7"));
  EXPECT_THAT(refusal("q == k == h"), HasSubstr("do not chain"));
  EXPECT_THAT(refusal("b < h == q < k"), HasSubstr("do not chain"));
  EXPECT_TRUE(visible("(0 < 1) == (2 < 3)"));
}

TEST(Parse, NearMissesHaveHints) {
  EXPECT_THAT(refusal("k < q & k > 1"), HasSubstr("(a logical and is `&&`)"));
  EXPECT_THAT(refusal("k < q | k > 1"), HasSubstr("(a logical or is `||`)"));
  EXPECT_THAT(refusal("k = q"), HasSubstr("(equality is `==`)"));
  EXPECT_THAT(refusal("floor < 1"), HasSubstr("'floor' is a function"));
  EXPECT_THAT(refusal("window[q] < 1", Role::Mask, someNames()), HasSubstr("has no elements"));
  EXPECT_THAT(refusal("keep", Role::Mask, someNames()), HasSubstr("wants '[' and indices"));
}

TEST(Parse, WrongCountsAreNamed) {
  EXPECT_THAT(refusal("min(q) < 1"), HasSubstr("'min' takes 2 arguments, not 1"));
  EXPECT_THAT(refusal("abs(q, k) < 1"), HasSubstr("'abs' takes 1 argument, not 2"));
  EXPECT_THAT(refusal("clamp(q, k) < 1"), HasSubstr("'clamp' takes 3 arguments, not 2"));
  EXPECT_THAT(refusal("keep[q]", Role::Mask, someNames()),
              HasSubstr("tensor 'keep' has rank 2 and is given 1 indices"));
  EXPECT_THAT(refusal("keep[s, k] ? s : 0", Role::Score, someNames()),
              HasSubstr("index 0 of tensor 'keep' is real"));
}

TEST(Parse, UnclosedBracketsAreRefused) {
  for (std::string_view text :
       {"(", "(q", "(q < k", "keep[", "keep[q", "keep[q,", "keep[q, k", "min(", "min(q", "min(q,",
        "min(q, k", "q < k ?", "q < k ? true", "q < k ? true :", "((((q)", "q <", "!", "-"})
    EXPECT_THAT(refusal(text, Role::Mask, someNames()), HasSubstr("the text ends")) << text;
  for (std::string_view text : {")", "q)", "q < k)", "]", "(q]", "keep[q)", "min()", "keep[]",
                                "q k", "q <> k", "< q", "q, k", "@", "q < k;", "\xff", "q < \x01"})
    EXPECT_THAT(refusal(text, Role::Mask, someNames()), HasSubstr("expected, not")) << text;
}

TEST(Parse, EmptyTextIsRefused) {
  EXPECT_EQ(refusal(""), "the mask is empty");
  EXPECT_EQ(refusal(" \t\n", Role::Score), "the score is empty");
}

TEST(Parse, NestingIsLimited) {
  constexpr size_t deep = 10000;
  for (const std::string &text :
       {repeat("(", deep), repeat("(", deep) + "q" + repeat(")", deep), repeat("-", deep) + "q",
        repeat("!", deep) + "true", repeat("min(q,", deep), repeat("ids[", deep),
        repeat("true?", deep), repeat("b<1?q:", deep) + "q"})
    EXPECT_THAT(refusal(text, Role::Score, someNames()),
                HasSubstr("nested deeper than 256 levels at column"));
  EXPECT_EQ(score(repeat("(", 255) + "q" + repeat(")", 255), {.q = 3}), 3);
}

TEST(Parse, LongChainsAreNotNesting) {
  EXPECT_EQ(score("0" + repeat(" + 1", 10000)), 10000);
}

TEST(Parse, LengthIsLimited) {
  EXPECT_THAT(refusal(std::string(maxTextLength + 1, ' ')),
              HasSubstr("65537 characters; at most 65536"));
  EXPECT_TRUE(parse("true" + std::string(maxTextLength - 4, ' '), {}, Role::Mask));
}

TEST(Parse, MessagesQuoteLittleOfALongText) {
  const std::string padding = repeat("q + ", 5000);
  for (const std::string &text :
       {padding + "oops" + repeat(" + q", 5000), "oops + " + padding + "q", padding + "oops",
        padding + std::string(3000, 'x'), padding + "q +", repeat("\t", 500) + "oops"}) {
    const std::string message = refusal(text, Role::Score);
    const size_t first = message.find('\n'), second = message.find('\n', first + 1);
    ASSERT_NE(second, std::string::npos);
    const std::string source = message.substr(first + 3, second - first - 3);
    EXPECT_LE(source.size(), maxQuotedLength);
    EXPECT_LT(first, 300u);
    // The caret stands below the place.
    const size_t caret = message.size() - 1 - (second + 3);
    if (message.find("'oops'") != std::string::npos) {
      EXPECT_EQ(source.substr(caret, 4), "oops") << message;
    }
  }
}

/// Random text of the grammar, typed right by construction.
class RandomText {
public:
  explicit RandomText(uint32_t seed) : random(seed) {}

  std::string real(int depth) {
    if (depth == 0)
      return pick({"s", "cap", "0.5", "-1e-3", "bias[q, k]", "inf", "7", "q", "-3"});
    switch (random() % 6) {
    case 0:
      return binary(real(depth - 1), {"+", "-", "*"}, real(depth - 1));
    case 1:
      return "(" + real(depth - 1) + ") / (s + " + real(depth - 1) + ")";
    case 2:
      return pick({"exp", "exp2", "log", "log2", "tanh", "sqrt", "floor", "abs", "real"}) + "(" +
             real(depth - 1) + ")";
    case 3:
      return "(" + condition(depth - 1) + " ? " + real(depth - 1) + " : " + real(depth - 1) + ")";
    case 4:
      return pick({"min", "max"}) + "(" + real(depth - 1) + ", " + real(depth - 1) + ")";
    default:
      return "-(" + real(depth - 1) + ")";
    }
  }

  std::string integer(int depth) {
    if (depth == 0)
      return pick({"q", "k", "b", "h", "hkv", "q_len", "kv_len", "window", "5", "-7", "ids[q]",
                   "byte[k]", "ids[k // 2]"});
    switch (random() % 4) {
    case 0:
      return binary(integer(depth - 1), {"+", "-", "*", "//", "%"}, integer(depth - 1));
    case 1:
      return "clamp(" + integer(depth - 1) + ", 0, " + integer(depth - 1) + ")";
    case 2:
      return "-" + pick({"q", "(-q)", "(5)", "abs(k)"});
    default:
      return "(" + condition(depth - 1) + " ? " + integer(depth - 1) + " : " + integer(depth - 1) +
             ")";
    }
  }

  std::string condition(int depth) {
    if (depth == 0)
      return pick({"true", "false", "keep[q, k]", "byte[q]", "wide[q] == ids[k]"});
    switch (random() % 5) {
    case 0:
      return binary(integer(depth - 1), {"==", "!=", "<", "<=", ">", ">="}, integer(depth - 1));
    case 1:
      return binary(condition(depth - 1), {"&&", "||"}, condition(depth - 1));
    case 2:
      return "!(" + condition(depth - 1) + ")";
    case 3:
      return "wide[" + integer(depth - 1) + "] < wide[k]";
    default:
      return "real(" + integer(depth - 1) + ") < 2.5";
    }
  }

private:
  std::string pick(std::vector<std::string> choices) { return choices[random() % choices.size()]; }

  /// Brackets on neither side, either or both.
  std::string binary(std::string left, std::vector<std::string> operators, std::string right) {
    const bool comparison = operators.front() == "==";
    const auto maybe = [&](std::string side) {
      return comparison || random() % 2 ? "(" + side + ")" : side;
    };
    return maybe(left) + " " + pick(std::move(operators)) + " " + maybe(right);
  }

  std::mt19937 random;
};

/// Equal but for the order of nodes: a conversion that is spelled out comes directly after its
/// operand, one that the parser inserts after both operands of the operator.
static bool sameTree(const Expression &x, NodeId xNode, const Expression &y, NodeId yNode) {
  const Node &a = x[xNode], &b = y[yNode];
  if (a.kind != b.kind || a.type != b.type || a.variable != b.variable || a.index != b.index ||
      a.number != b.number || a.operandCount != b.operandCount)
    return false;
  for (size_t i = 0; i < a.operandCount; ++i)
    if (!sameTree(x, x.operands(a)[i], y, y.operands(b)[i]))
      return false;
  return true;
}

TEST(Print, TextParsesToTheSameTree) {
  const Declarations names = someNames();
  int accepted = 0;
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const Role role = seed % 2 ? Role::Mask : Role::Score;
    RandomText random(seed);
    const int depth = static_cast<int>(seed % 5);
    const std::string text = role == Role::Mask ? random.condition(depth) : random.real(depth);
    // A comparison may meet a comparison, or an i64 element stand alone.
    Result<Expression> first = parse(text, names, role);
    if (!first)
      continue;
    ++accepted;
    const std::string again = toString(*first, names);
    const Expression second = parsed(again, names, role);
    EXPECT_EQ(first->nodes().size(), second.nodes().size()) << text << "\n" << again;
    EXPECT_TRUE(sameTree(*first, first->root(), second, second.root())) << text << "\n" << again;
    EXPECT_EQ(toString(second, names), again);
  }
  EXPECT_GT(accepted, 400);
}

TEST(Print, SharedValuesDoNotExplode) {
  Declarations names;
  Builder builder(names);
  NodeId x = builder.variable(Variable::S);
  for (int i = 0; i < 100; ++i)
    x = *builder.apply(Kind::Multiply, {x, x});
  const Expression e = *std::move(builder).finish(x, Role::Score);
  EXPECT_EQ(e.nodes().size(), 101u);
  EXPECT_EQ(toString(e, names).size(), maxTextLength);
  EXPECT_EQ(quote(e, names, e.root()).size(), maxQuotedLength);
  EXPECT_EQ(quote(e, names, 2), "s * s * (s * s)");
}

TEST(Print, QuotesTheSourceWhereThereIsOne) {
  const Expression e = parsed("((q)-k)  <window", someNames(), Role::Mask);
  EXPECT_EQ(quote(e, someNames(), e.operands(e[e.root()])[0]), "(q)-k");
  EXPECT_EQ(quote(e, someNames(), e.root()), "((q)-k)  <window");
}
