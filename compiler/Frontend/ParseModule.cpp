//===- ParseModule.cpp - MLIR from text that nobody vouches for -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser recurses on brackets and on the operators of affine expressions,
// and attributes nest through aliases as well, which whoever walks or prints them
// follows by recursion. So one linear scan measures all three before it is let loose.
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/ParseModule.h"

#include "compiler/Frontend/CollectDiagnostics.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBufferRef.h"

using namespace mlir;
using namespace tilewright;

namespace {
/// Measures how deep a text nests and how long it is without aliases, roughly as MLIR's lexer reads
/// it.
class NestingScan {
public:
  explicit NestingScan(StringRef text) : text(text) {}

  Status run() {
    while (at < text.size()) {
      const char c = text[at];
      if (text.substr(at).starts_with("//")) {
        at = std::min(text.find('\n', at), text.size());
      } else if (c == '"') {
        skipString();
      } else if (text.substr(at).starts_with("->")) {
        at += 2;
      } else if (c == '(' || c == '[' || c == '{' || (c == '<' && next() != '=')) {
        levels.push_back({c, 0});
        ++at;
        noteDepth(levels.size());
      } else if (c == ')' || c == ']' || c == '}' || c == '>') {
        close(c);
        ++at;
      } else if (c == ',' || c == '=') {
        levels.back().operators = 0;
        ++at;
      } else if (c == '+' || c == '-' || c == '*') {
        noteOperator();
        ++at;
      } else if (c == '%') { // ops, so no definition goes on
        endDefinition();
        ++at;
      } else if (c == '#' || c == '!') {
        ++at;
        alias(takeWord());
      } else if (isWordCharacter(c)) {
        const StringRef word = takeWord();
        if (word == "mod" || word == "floordiv" || word == "ceildiv")
          noteOperator();
      } else {
        ++at;
      }
      if (!status)
        return status;
    }
    return {};
  }

private:
  struct Level {
    char opening;
    size_t operators; // since the last comma or equals sign
  };

  struct Alias {
    size_t depth = 0;
    size_t bytes = 0; // with the aliases in it written out
  };

  static bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; }

  char next() const { return at + 1 < text.size() ? text[at + 1] : '\0'; }

  StringRef takeWord() {
    const StringRef word = text.substr(at).take_while(isWordCharacter);
    at += word.size();
    return word;
  }

  /// A string ends at its line: the lexer refuses it there otherwise.
  void skipString() {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      if (text[at] == '\\')
        ++at;
    ++at;
  }

  /// Closes the innermost bracket of this kind and what was left open within it: a '<' that turned
  /// out to be a comparison. A '>' that closes no '<' is one too.
  void close(char closing) {
    const char opening = closing == ')' ? '(' : closing == ']' ? '[' : closing == '}' ? '{' : '<';
    if (closing == '>' && levels.back().opening != '<')
      return;
    for (size_t i = levels.size(); i-- > 1;)
      if (levels[i].opening == opening) {
        levels.resize(i);
        return;
      }
  }

  /// `#name` or `!name`: a definition at the top level if an equals sign follows, otherwise a use.
  void alias(StringRef name) {
    if (name.empty())
      return;
    const StringRef rest = text.substr(at).ltrim(" \t\r\n");
    if (levels.size() == 1 && rest.starts_with("=") && !rest.starts_with("==")) {
      endDefinition();
      defined = &aliases[name];
      definedAt = at;
      return;
    }
    const auto found = aliases.find(name);
    if (found == aliases.end())
      return;
    if (defined == &found->second) // nothing is defined by itself, so its definition is over
      endDefinition();
    noteDepth(levels.size() + found->second.depth);
    noteExpansion(found->second.bytes);
  }

  void endDefinition() {
    if (defined)
      defined->bytes += at - definedAt;
    defined = nullptr;
  }

  /// MLIR keeps an attribute once, but prints it wherever it is used: 40 aliases that each name the
  /// one before twice are a text of 2^40 bytes.
  void noteExpansion(size_t bytes) {
    expanded += bytes;
    if (expanded > maxModuleBytes)
      refuse(fmt::format("the aliases written out take more than {} bytes", maxModuleBytes));
    if (defined)
      defined->bytes += bytes;
  }

  /// Depths count the outermost level, so that a chain of aliases grows by one a link.
  void noteDepth(size_t depth) {
    if (depth > maxModuleNesting + 1)
      refuse(fmt::format("brackets nest deeper than {} levels", maxModuleNesting));
    if (defined)
      defined->depth = std::max(defined->depth, depth);
  }

  void noteOperator() {
    if (++levels.back().operators > maxModuleNesting)
      refuse(fmt::format("an expression has more than {} operators", maxModuleNesting));
  }

  void refuse(std::string_view what) {
    status = invalidArgument("line {}: {}", 1 + text.take_front(at).count('\n'), what);
  }

  const StringRef text;
  size_t at = 0;
  Status status;
  std::vector<Level> levels = {{'\0', 0}}; // the text itself, then each open bracket
  llvm::StringMap<Alias> aliases;
  Alias *defined = nullptr; // the one that is being defined
  size_t definedAt = 0;
  size_t expanded = 0; // bytes that the aliases used so far stand for
};
} // namespace

/// MLIR does not name an op of an unknown dialect that is written in the generic form. Such an op
/// stands in quotes before the place of the message.
static std::string nameUnknownOp(std::string message, StringRef text) {
  StringRef rest = message;
  size_t line = 0, column = 0;
  if (rest.consumeInteger(10, line) || !rest.consume_front(":") ||
      rest.consumeInteger(10, column) ||
      !rest.starts_with(": operation being parsed with an unregistered dialect"))
    return message;
  for (size_t i = 1; i < line; ++i)
    text = text.split('\n').second;
  const StringRef before = text.take_front(column - 1).rtrim("\" ");
  return fmt::format("{}:{}: '{}' is an op of a dialect that is not known here", line, column,
                     before.rsplit('"').second.str());
}

/// What follows looks for functions, makes symbols of an object file of their names, and takes what
/// else there is to be in one.
static Status checkTopLevel(Operation &op) {
  auto symbol = dyn_cast<SymbolOpInterface>(op);
  if (!symbol || !symbol.getNameAttr())
    return invalidArgument("the module holds '{}' outside of any function",
                           op.getName().getStringRef().str());
  const StringRef name = symbol.getName();
  if (!llvm::all_of(name, [](char c) { return llvm::isPrint(c) && c != ' ' && c != '"'; }))
    return invalidArgument("'{}' is no name for a function: it may have no spaces, quotes or "
                           "control characters",
                           expression::printable(name.str(), 40));
  return {};
}

Result<OwningOpRef<ModuleOp>> tilewright::parseModule(std::string_view text, MLIRContext &context,
                                                      std::string_view name) {
  if (text.size() > maxModuleBytes)
    return invalidArgument("the module has {} bytes; at most {} are accepted", text.size(),
                           maxModuleBytes);
  const llvm::MemoryBufferRef buffer(text, "module");
  if (isBytecode(buffer))
    return invalidArgument("the module is MLIR bytecode; only text is accepted");
  if (Status status = NestingScan(text).run(); !status)
    return status.error();

  const std::string terminated(text); // the lexer reads the byte after the last one
  CollectDiagnostics diagnostics(context);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(terminated, ParserConfig(&context), name);
  if (!module)
    return invalidArgument("{}",
                           nameUnknownOp(diagnostics.message("the module cannot be parsed"), text));
  for (Operation &op : *module->getBody())
    if (Status status = checkTopLevel(op); !status)
      return status.error();
  return module;
}
