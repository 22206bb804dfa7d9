//===- OptionTable.cpp - The table made from Options.td -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/OptionTable.h"

#include "llvm/Option/Option.h"

using namespace tilewright::tool;
using namespace llvm::opt;

#define OPTTABLE_STR_TABLE_CODE
#include "compiler/tools/tilewright/Options.inc"
#undef OPTTABLE_STR_TABLE_CODE

#define OPTTABLE_PREFIXES_TABLE_CODE
#include "compiler/tools/tilewright/Options.inc"
#undef OPTTABLE_PREFIXES_TABLE_CODE

static constexpr OptTable::Info infos[] = {
#define OPTION(...) LLVM_CONSTRUCT_OPT_INFO(__VA_ARGS__),
#include "compiler/tools/tilewright/Options.inc"
#undef OPTION
};

namespace {
struct Table : GenericOptTable {
  Table() : GenericOptTable(OptionStrTable, OptionPrefixesTable, infos) {}
};
} // namespace

const OptTable &tilewright::tool::optionTable() {
  static const Table table;
  return table;
}
