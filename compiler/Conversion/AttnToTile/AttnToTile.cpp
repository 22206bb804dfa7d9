#include "compiler/Conversion/Passes.h"
#include "dialect/Attn/Attn.h"
#include "dialect/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
namespace tilewright {
#define GEN_PASS_DEF_CONVERTATTNTOTILE
#include "compiler/Conversion/Passes.h.inc"
} // namespace tilewright
namespace {
struct AttnToTile : tilewright::impl::ConvertAttnToTileBase<AttnToTile> {
  void runOnOperation() override {}
};
} // namespace
