//===- PtxText.cpp - The syntax of PTX ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/PtxText.h"

#include "lib/Support/MakeError.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

using namespace tilewright;
using namespace tilewright::emulator;

bool Statement::has(std::string_view modifier) const {
  return std::find(parts.begin() + 1, parts.end(), modifier) != parts.end();
}

namespace {

constexpr size_t maxTextBytes = size_t(16) << 20;
constexpr size_t maxStatements = 2'000'000;
constexpr size_t maxListed = 512; // operands in one list
constexpr size_t maxScopes = 64;
constexpr unsigned maxOperandNesting = 4;
constexpr uint32_t maxParameterBytes = 32764; // the limit of the PTX manual for kernel parameters
constexpr uint32_t maxVariableBytes = 1 << 20;

bool isNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

/// Bytes of ".u32", ".b64", ...; 0 for a type that no scalar has.
uint32_t scalarBytes(std::string_view type) {
  for (auto [width, bytes] : {std::pair<std::string_view, uint32_t>{"128", 16},
                              {"64", 8},
                              {"32", 4},
                              {"16", 2},
                              {"8", 1}})
    if (type.ends_with(width))
      return bytes;
  return 0;
}

uint32_t alignUp(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// A recursive-descent reader. After the first failure every function returns at once; the error
/// is taken at the end.
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  Result<Program> run() {
    while (!failure && !atEnd())
      moduleStatement();
    if (failure)
      return *failure;
    return std::move(program);
  }

private:
  std::string_view text;
  size_t position = 0;
  uint32_t line = 1;
  Program program;
  std::optional<Error> failure;

  template <typename... Args> void fail(fmt::format_string<Args...> format, Args &&...args) {
    if (!failure)
      failure = invalidArgument("PTX line {}: {}", line,
                                fmt::format(format, std::forward<Args>(args)...));
  }

  std::string near() const {
    std::string_view rest = text.substr(std::min(position, text.size()), 24);
    rest = rest.substr(0, rest.find('\n'));
    return rest.empty() ? "the end of the text" : fmt::format("'{}'", rest);
  }

  char peek(size_t ahead = 0) const {
    return position + ahead < text.size() ? text[position + ahead] : '\0';
  }

  void skipBlanks() {
    while (position < text.size()) {
      if (text[position] == '\n')
        ++line, ++position;
      else if (std::isspace(static_cast<unsigned char>(text[position])))
        ++position;
      else if (text.substr(position, 2) == "//")
        position = std::min(text.find('\n', position), text.size());
      else if (text.substr(position, 2) == "/*") {
        const size_t end = text.find("*/", position + 2);
        if (end == text.npos) {
          fail("a comment is not closed");
          position = text.size();
          return;
        }
        line +=
            static_cast<uint32_t>(std::count(text.begin() + position, text.begin() + end, '\n'));
        position = end + 2;
      } else
        return;
    }
  }

  bool atEnd() {
    skipBlanks();
    return position >= text.size();
  }

  bool accept(char c) {
    skipBlanks();
    if (peek() != c || position >= text.size())
      return false;
    ++position;
    return true;
  }

  void expect(char c) {
    if (!failure && !accept(c))
      fail("expected '{}' before {}", c, near());
  }

  std::string_view word() {
    skipBlanks();
    const size_t begin = position;
    while (isNameCharacter(peek()))
      ++position;
    return text.substr(begin, position - begin);
  }

  std::string_view name() {
    const std::string_view result = word();
    if (result.empty())
      fail("expected a name before {}", near());
    return result;
  }

  /// An opcode: a word that may hold "::".
  std::string_view opcode() {
    skipBlanks();
    const size_t begin = position;
    while (isNameCharacter(peek()) || (peek() == ':' && peek(1) == ':'))
      position += peek() == ':' ? 2 : 1;
    return text.substr(begin, position - begin);
  }

  std::string_view restOfLine() {
    const size_t begin = position;
    position = std::min(text.find('\n', position), text.size());
    return text.substr(begin, position - begin);
  }

  uint32_t unsignedNumber(uint32_t limit) {
    Operand number = operand(0);
    if (failure)
      return 0;
    if (!number.is(Operand::Kind::Integer) || number.bits > limit) {
      fail("expected a number of at most {} before {}", limit, near());
      return 0;
    }
    return static_cast<uint32_t>(number.bits);
  }

  uint32_t alignmentNumber() {
    const uint32_t value = unsignedNumber(1024);
    if (!failure && (value == 0 || (value & (value - 1)) != 0))
      fail("alignment {} is not a power of two", value);
    return std::max(value, 1u);
  }

  //===--------------------------------------------------------------------===//
  // Operands

  Operand literal(bool minus) {
    Operand result;
    const size_t begin = position;
    while (std::isalnum(static_cast<unsigned char>(peek())))
      ++position;
    std::string_view digits = text.substr(begin, position - begin);
    int base = 10;
    result.kind = Operand::Kind::Integer;
    const char tag = digits.size() > 1 && digits[0] == '0' ? digits[1] : '\0';
    if ((tag == 'f' || tag == 'F') && digits.size() == 10) {
      result.kind = Operand::Kind::Float;
      base = 16;
      digits.remove_prefix(2);
    } else if ((tag == 'd' || tag == 'D') && digits.size() == 18) {
      result.kind = Operand::Kind::Double;
      base = 16;
      digits.remove_prefix(2);
    } else {
      while (!digits.empty() && (digits.back() == 'U' || digits.back() == 'L'))
        digits.remove_suffix(1);
      if (tag == 'x' || tag == 'X') {
        base = 16;
        digits.remove_prefix(2);
      } else if (tag == 'b' || tag == 'B') {
        base = 2;
        digits.remove_prefix(2);
      } else if (digits.size() > 1 && digits[0] == '0')
        base = 8;
    }
    const auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), result.bits, base);
    if (code != std::errc() || end != digits.data() + digits.size())
      fail("'{}' is not a number of 64 bits", text.substr(begin, position - begin));
    if (minus)
      result.bits = result.kind == Operand::Kind::Float    ? result.bits ^ (uint64_t(1) << 31)
                    : result.kind == Operand::Kind::Double ? result.bits ^ (uint64_t(1) << 63)
                                                           : 0 - result.bits;
    return result;
  }

  std::vector<Operand> list(unsigned nesting, char close) {
    std::vector<Operand> result;
    if (accept(close))
      return result;
    do
      result.push_back(operand(nesting));
    while (!failure && result.size() <= maxListed && accept(','));
    if (result.size() > maxListed)
      fail("more than {} operands in one list", maxListed);
    expect(close);
    return result;
  }

  Operand operand(unsigned nesting) {
    Operand result;
    if (nesting > maxOperandNesting) {
      fail("operands are nested deeper than {}", maxOperandNesting);
      return result;
    }
    if (accept('{')) {
      result.kind = Operand::Kind::Vector;
      result.parts = list(nesting + 1, '}');
      return result;
    }
    if (accept('[')) {
      result.kind = Operand::Kind::Address;
      result.parts.push_back(operand(nesting + 1));
      if (!failure && accept('+'))
        result.offset = static_cast<int64_t>(operand(nesting + 1).bits);
      while (!failure && accept(','))
        result.parts.push_back(operand(nesting + 1));
      expect(']');
      return result;
    }
    if (accept('(')) {
      result = operand(nesting + 1);
      expect(')');
      return result;
    }
    if (accept('!')) {
      result = operand(nesting + 1);
      result.negated = true;
      return result;
    }
    const bool minus = accept('-');
    skipBlanks();
    if (std::isdigit(static_cast<unsigned char>(peek())))
      return literal(minus);
    result.name = word();
    if (result.name.empty() || minus) {
      fail("expected an operand before {}", near());
      return result;
    }
    result.kind = result.name == "_" ? Operand::Kind::Sink : Operand::Kind::Name;
    if (accept('|')) {
      Operand pair;
      pair.kind = Operand::Kind::Pair;
      pair.parts = {result, operand(nesting + 1)};
      return pair;
    }
    if (peek() == '+' && nesting <= 1) {
      ++position;
      const Operand offset = operand(nesting + 1);
      if (!offset.is(Operand::Kind::Integer))
        fail("expected a number behind '+'");
      result.offset = static_cast<int64_t>(offset.bits);
    }
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Declarations

  void registers(std::vector<Statement> &body) {
    Statement statement;
    statement.kind = Statement::Kind::Register;
    statement.line = line;
    statement.type = name();
    do {
      statement.name = name();
      statement.count = 0;
      if (accept('<')) {
        statement.count = unsignedNumber(UINT32_MAX);
        expect('>');
      }
      body.push_back(statement);
    } while (!failure && accept(','));
    expect(';');
  }

  void variable(VariableSpace space, std::vector<Statement> &body) {
    Statement statement;
    statement.kind = Statement::Kind::Variable;
    statement.line = line;
    statement.space = space;
    uint32_t elementBytes = 0;
    skipBlanks();
    while (!failure && peek() == '.') {
      const std::string_view modifier = word();
      if (modifier == ".align")
        statement.alignment = alignmentNumber();
      else if ((elementBytes = scalarBytes(modifier)) == 0)
        fail("variable of type '{}'", modifier);
      skipBlanks();
    }
    statement.name = name();
    uint64_t count = 1;
    if (accept('[')) {
      if (accept(']'))
        count = 0;
      else {
        count = unsignedNumber(maxVariableBytes);
        expect(']');
      }
    }
    const uint64_t bytes = count * elementBytes;
    if (bytes > maxVariableBytes)
      fail("variable '{}' of {} bytes; the limit is {}", statement.name, bytes, maxVariableBytes);
    statement.bytes = static_cast<uint32_t>(bytes);
    statement.alignment = std::max(statement.alignment, elementBytes);
    if (accept('='))
      fail("variable '{}' has an initial value", statement.name);
    expect(';');
    body.push_back(statement);
  }

  void parameter(Kernel &kernel) {
    if (word() != ".param") {
      fail("expected '.param' before {}", near());
      return;
    }
    KernelParameter result;
    uint32_t alignment = 1, elementBytes = 4;
    skipBlanks();
    while (!failure && peek() == '.') {
      const std::string_view modifier = word();
      if (modifier == ".align")
        alignment = std::max(alignment, alignmentNumber());
      else if (const uint32_t bytes = scalarBytes(modifier)) {
        elementBytes = bytes;
        alignment = std::max(alignment, bytes);
      }
      skipBlanks();
    }
    result.name = name();
    result.bytes = elementBytes;
    if (accept('[')) {
      result.bytes = elementBytes * unsignedNumber(maxParameterBytes);
      expect(']');
    }
    result.offset = alignUp(kernel.parameterBytes, alignment);
    if (result.bytes > maxParameterBytes || result.offset > maxParameterBytes - result.bytes) {
      fail("the parameters of '{}' take more than {} bytes", kernel.name, maxParameterBytes);
      return;
    }
    kernel.parameterBytes = result.offset + result.bytes;
    kernel.parameters.push_back(result);
  }

  void location(std::vector<Statement> &body) {
    Statement statement;
    statement.kind = Statement::Kind::Location;
    statement.line = line;
    const std::string_view rest = restOfLine();
    const char *end = rest.data() + rest.size(), *at = rest.data();
    for (uint32_t *field : {&statement.file, &statement.sourceLine}) {
      while (at != end && *at == ' ')
        ++at;
      while (at != end && *at == '\t')
        ++at;
      const auto [next, code] = std::from_chars(at, end, *field);
      if (code != std::errc())
        return; // debug information that we do not understand is not worth an error
      at = next;
    }
    body.push_back(statement);
  }

  void file() {
    const std::string_view rest = restOfLine();
    const size_t open = rest.find('"'), close = rest.rfind('"');
    const size_t digit = rest.find_first_of("0123456789");
    uint32_t number = 0;
    if (open == rest.npos || close == open || digit == rest.npos)
      return;
    std::from_chars(rest.data() + digit, rest.data() + rest.size(), number);
    program.files[number] = rest.substr(open + 1, close - open - 1);
  }

  //===--------------------------------------------------------------------===//
  // Statements

  void moduleStatement() {
    if (accept(';'))
      return;
    const uint32_t start = line;
    const std::string_view directive = word();
    if (directive == ".version" || directive == ".address_size")
      restOfLine();
    else if (directive == ".target") {
      program.target = name();
      restOfLine();
    } else if (directive == ".file")
      file();
    else if (directive == ".loc" || directive == ".section" || directive == ".pragma")
      restOfLine();
    else if (directive == "{" || peek() == '{')
      skipSection();
    else if (directive == ".extern" || directive == ".visible" || directive == ".weak")
      return;
    else if (directive == ".shared")
      variable(VariableSpace::Shared, program.variables);
    else if (directive == ".entry")
      entry();
    else if (directive == ".func")
      fail("device functions are not supported: inline everything");
    else {
      line = start;
      fail("unsupported at module scope: '{}'",
           directive.empty() ? near() : std::string(directive));
    }
  }

  /// Debug sections hold data in braces: nothing in them is executed.
  void skipSection() {
    const size_t end = text.find('}', position);
    if (end == text.npos) {
      fail("a section is not closed");
      return;
    }
    line += static_cast<uint32_t>(std::count(text.begin() + position, text.begin() + end, '\n'));
    position = end + 1;
  }

  void entry() {
    Kernel kernel;
    kernel.name = name();
    if (accept('(') && !accept(')')) {
      do
        parameter(kernel);
      while (!failure && accept(','));
      expect(')');
    }
    while (!failure && !accept('{')) {
      const std::string_view directive = word();
      if (directive == ".maxntid" || directive == ".reqntid") {
        uint64_t threads = 1;
        do
          threads = std::min<uint64_t>(threads * unsignedNumber(UINT32_MAX), UINT32_MAX);
        while (!failure && accept(','));
        kernel.maxThreads = static_cast<uint32_t>(threads);
      } else if (directive == ".minnctapersm" || directive == ".maxnreg" ||
                 directive == ".maxclusterrank")
        unsignedNumber(UINT32_MAX);
      else if (directive == ".reqnctapercluster") {
        do
          if (unsignedNumber(UINT32_MAX) != 1)
            fail("clusters of more than one block are not supported");
        while (!failure && accept(','));
      } else if (directive != ".blocksareclusters" && directive != ".explicitcluster")
        fail("unsupported before the body of '{}': {}", kernel.name,
             directive.empty() ? near() : std::string(directive));
    }
    size_t depth = 1;
    while (!failure && depth) {
      if (atEnd()) {
        fail("the body of '{}' is not closed", kernel.name);
        return;
      }
      bodyStatement(kernel.body, depth);
      if (kernel.body.size() > maxStatements)
        fail("kernel '{}' has more than {} statements", kernel.name, maxStatements);
    }
    program.kernels.push_back(std::move(kernel));
  }

  void bodyStatement(std::vector<Statement> &body, size_t &depth) {
    Statement statement;
    statement.line = line;
    if (accept('{')) {
      statement.kind = Statement::Kind::OpenScope;
      if (++depth > maxScopes)
        fail("scopes are nested deeper than {}", maxScopes);
      body.push_back(std::move(statement));
    } else if (accept('}')) {
      statement.kind = Statement::Kind::CloseScope;
      if (--depth)
        body.push_back(std::move(statement));
    } else if (peek() == '.')
      bodyDirective(body);
    else if (!accept(';'))
      instruction(std::move(statement), body);
  }

  void bodyDirective(std::vector<Statement> &body) {
    const std::string_view directive = word();
    if (directive == ".reg")
      registers(body);
    else if (directive == ".shared")
      variable(VariableSpace::Shared, body);
    else if (directive == ".local")
      variable(VariableSpace::Local, body);
    else if (directive == ".loc")
      location(body);
    else if (directive == ".pragma")
      restOfLine();
    else
      fail("unsupported in a body: '{}'", directive);
  }

  void instruction(Statement statement, std::vector<Statement> &body) {
    if (accept('@')) {
      statement.guardNegated = accept('!');
      statement.guard = name();
    }
    skipBlanks();
    statement.line = line;
    const size_t begin = position;
    if (const std::string_view label = word(); !label.empty() && statement.guard.empty()) {
      skipBlanks();
      if (peek() == ':' && peek(1) != ':') {
        ++position;
        statement.kind = Statement::Kind::Label;
        statement.name = label;
        body.push_back(std::move(statement));
        return;
      }
    }
    position = begin;
    line = statement.line;
    statement.name = opcode();
    if (statement.name.empty()) {
      fail("expected an instruction before {}", near());
      return;
    }
    for (size_t at = 0; at <= statement.name.size();) {
      const size_t dot = std::min(statement.name.find('.', at), statement.name.size());
      statement.parts.push_back(statement.name.substr(at, dot - at));
      at = dot + 1;
    }
    if (!accept(';'))
      statement.operands = list(0, ';');
    body.push_back(std::move(statement));
  }
};

} // namespace

Result<Program> emulator::parsePtx(std::string_view text) {
  if (text.size() > maxTextBytes)
    return invalidArgument("PTX text of {} bytes; the limit is {}", text.size(), maxTextBytes);
  if (text.find('\0') != text.npos)
    return invalidArgument("PTX text holds a zero byte");
  return Reader(text).run();
}
