//===- SM.cpp - The sm dialect, its layouts and its types -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/SM/SM.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::sm;

#include "dialect/SM/SMDialect.cpp.inc"
#include "dialect/SM/SMEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/SM/SMAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/SM/SMTypes.cpp.inc"

void SMDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/SM/SMAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/SM/SMTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/SM/SMOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// A tile of a warpgroup: 64 rows, and as many columns as one product may have.
static LogicalResult verifyTile(ArrayRef<int64_t> shape, int64_t multiple,
                                function_ref<InFlightDiagnostic()> emitError) {
  if (shape.size() != 2 || shape[0] != productRows)
    return emitError() << "this layout is one of tiles with " << productRows << " rows";
  if (shape[1] < multiple || shape[1] > 256 || shape[1] % multiple != 0)
    return emitError() << "this layout takes columns in multiples of " << multiple
                       << " up to 256, not " << shape[1];
  return success();
}

static LogicalResult verifyRow(ArrayRef<int64_t> shape,
                               function_ref<InFlightDiagnostic()> emitError) {
  if (shape.size() != 1 || shape[0] != productRows)
    return emitError() << "this layout is one of row vectors with " << productRows << " elements";
  return success();
}

LogicalResult AccumulatorAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                              function_ref<InFlightDiagnostic()> emitError) const {
  return verifyTile(shape, 8, emitError);
}

LogicalResult OperandAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                          function_ref<InFlightDiagnostic()> emitError) const {
  return verifyTile(shape, 16, emitError);
}

LogicalResult RowAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                      function_ref<InFlightDiagnostic()> emitError) const {
  return verifyRow(shape, emitError);
}

LogicalResult PartialRowAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                             function_ref<InFlightDiagnostic()> emitError) const {
  return verifyRow(shape, emitError);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Whether a ring has a name and lies in `sharedMemory` bytes.
static bool isRingPlace(Attribute attribute, int64_t sharedMemory) {
  auto ring = dyn_cast<RingPlaceAttr>(attribute);
  if (!ring || ring.getName().empty())
    return false;
  for (int64_t number :
       {ring.getStages(), ring.getStageBytes(), ring.getOffset(), ring.getBarriers()})
    if (number < 0 || number > sharedMemory)
      return false;
  return ring.getStages() > 0 && ring.getStageBytes() > 0 &&
         ring.getStageBytes() % stageAlignment == 0 &&
         ring.getOffset() + ring.getStages() * ring.getStageBytes() <= sharedMemory &&
         ring.getBarriers() + ring.getStages() * 2 * barrierBytes <= sharedMemory;
}

LogicalResult LaunchAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 FunctionType function, ArrayAttr names, AffineMap grid,
                                 ArrayAttr extents, ArrayAttr parameters, int64_t threads,
                                 int64_t sharedMemory, ArrayAttr rings) {
  auto isName = [](Attribute name) { return isa<StringAttr>(name); };
  if (names.size() != function.getNumInputs() || !llvm::all_of(names, isName))
    return emitError() << "a launch names each of the " << function.getNumInputs()
                       << " arguments of the function";
  auto isParameter = [&](Attribute attribute) {
    auto parameter = dyn_cast<ParameterAttr>(attribute);
    if (!parameter || parameter.getArgument() < 0 ||
        parameter.getArgument() >= function.getNumInputs())
      return false;
    auto tensor =
        dyn_cast<MemRefType>(function.getInput(static_cast<unsigned>(parameter.getArgument())));
    const int64_t detail = parameter.getDetail();
    switch (parameter.getKind()) {
    case ParameterKind::Scalar:
      return !tensor;
    case ParameterKind::Address:
      return static_cast<bool>(tensor);
    case ParameterKind::Extent:
    case ParameterKind::Stride:
      return tensor && detail >= 0 && detail < tensor.getRank();
    case ParameterKind::TensorMap:
      return tensor && tensor.getRank() >= 2 && tensor.getRank() <= 5 && detail >= 1 &&
             detail <= 256;
    }
    return false;
  };
  if (!llvm::all_of(parameters, isParameter))
    return emitError() << "a launch's parameters are #sm.parameters of arguments of the function";
  auto isExtent = [&](Attribute attribute) {
    return isParameter(attribute) &&
           cast<ParameterAttr>(attribute).getKind() == ParameterKind::Extent;
  };
  if (!llvm::all_of(extents, isExtent))
    return emitError() << "a launch's extents are #sm.parameters of kind extent";
  if (grid.getNumDims() != 0 || grid.getNumSymbols() != extents.size() || grid.getNumResults() == 0)
    return emitError() << "a launch's grid is a map of the " << extents.size()
                       << " extents as symbols, without dimensions";
  if (threads < 1 || threads > maxThreads || sharedMemory < 0 || sharedMemory > maxSharedMemory)
    return emitError() << "a launch has 1 to " << maxThreads << " threads and up to "
                       << maxSharedMemory << " bytes of shared memory, not " << threads << " and "
                       << sharedMemory;
  if (rings &&
      !llvm::all_of(rings, [&](Attribute ring) { return isRingPlace(ring, sharedMemory); }))
    return emitError()
           << "a launch's rings are #sm.ring_places with names, of stages of a multiple "
              "of "
           << stageAlignment << " bytes, in its " << sharedMemory << " bytes of shared memory";
  return success();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult SharedType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                                 int64_t columns, Type elementType) {
  if (!elementType.isF16() && !elementType.isBF16())
    return emitError() << "a shared tile has elements of f16 or bf16, not " << elementType;
  if (rows < 8 || rows > maxSharedRows || rows % 8 != 0)
    return emitError() << "a shared tile has rows in multiples of 8 up to " << maxSharedRows
                       << ", not " << rows;
  if (columns < 8 || columns > maxWidth || columns % 8 != 0)
    return emitError() << "a shared tile has columns in multiples of 8 up to " << maxWidth
                       << ", not " << columns;
  return success();
}

/// ROWSxCOLUMNSxELEMENT
static FailureOr<SharedType> parseShared(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  SMLoc where = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element))
    return failure();
  if (shape.size() != 2)
    return parser.emitError(where, "a shared tile has rows and columns"), failure();
  auto type = SharedType::getChecked([&] { return parser.emitError(where); }, parser.getContext(),
                                     shape[0], shape[1], element);
  if (!type)
    return failure();
  return type;
}

static void printShared(AsmPrinter &printer, SharedType type) {
  printer << type.getRows() << 'x' << type.getColumns() << 'x' << type.getElementType();
}

Type SharedType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  FailureOr<SharedType> type = parseShared(parser);
  if (failed(type) || parser.parseGreater())
    return {};
  return *type;
}

void SharedType::print(AsmPrinter &printer) const {
  printer << '<';
  printShared(printer, *this);
  printer << '>';
}

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError, SharedType,
                               int64_t stages) {
  if (stages < 1 || stages > maxStages)
    return emitError() << "a ring has 1 to " << maxStages << " stages, not " << stages;
  return success();
}

Type RingType::parse(AsmParser &parser) {
  int64_t stages = 0;
  if (parser.parseLess())
    return {};
  FailureOr<SharedType> tile = parseShared(parser);
  SMLoc where = parser.getCurrentLocation();
  if (failed(tile) || parser.parseComma() || parser.parseKeyword("stages") || parser.parseEqual() ||
      parser.parseInteger(stages) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(where); }, parser.getContext(), *tile, stages);
}

void RingType::print(AsmPrinter &printer) const {
  printer << '<';
  printShared(printer, getTile());
  printer << ", stages = " << getStages() << '>';
}

LogicalResult InFlightType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   RankedTensorType tensor) {
  if (!isa_and_nonnull<AccumulatorAttr>(tensor.getEncoding()) || !tensor.getElementType().isF32())
    return emitError() << "a product in flight is an f32 tensor in #sm.accumulator, not " << tensor;
  return success();
}
