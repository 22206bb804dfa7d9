//===- LaunchFile.cpp - A launch written down as JSON ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Emulate/LaunchFile.h"

#include "compiler/TensorFile/TensorFile.h"
#include "compiler/TensorFile/WriteTensors.h"
#include "lib/Support/Half.h"
#include "lib/Support/JsonNesting.h"
#include "lib/Support/MakeError.h"

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

using namespace tilewright;
using namespace tilewright::emulator;
namespace json = llvm::json;

namespace {

constexpr size_t maxNesting = 8;
constexpr size_t maxListed = 4096; // tensors, maps, arguments
constexpr uint64_t maxBytes = uint64_t(4) << 30;

bool isNpy(const std::string &path) {
  return path.ends_with(".npy");
}

/// Reads values out of JSON; after the first failure the rest is ignored.
class LaunchReader {
public:
  explicit LaunchReader(std::string folder) : folder(std::move(folder)) {}

  Result<LaunchFile> read(const json::Object &root) {
    onlyKeys(root, "the launch",
             {"kernel", "grid", "block", "shared_bytes", "tensors", "tensor_maps", "arguments"});
    if (const json::Value *kernel = root.get("kernel"))
      result.kernel = string(*kernel, "kernel");
    extents(root, "grid", result.launch.grid);
    extents(root, "block", result.launch.block);
    if (const json::Value *bytes = root.get("shared_bytes"))
      result.launch.dynamicSharedBytes = number<uint32_t>(*bytes, "shared_bytes");
    each(root, "tensors", [&](const json::Object &o, const std::string &at) { tensor(o, at); });
    each(root, "tensor_maps", [&](const json::Object &o, const std::string &at) { map(o, at); });
    each(root, "arguments", [&](const json::Object &o, const std::string &at) { argument(o, at); });
    if (failure)
      return failure->within("launch file");
    return std::move(result);
  }

private:
  std::string folder;
  LaunchFile result;
  std::optional<Error> failure;
  uint64_t bytesUsed = 0;

  template <typename... Args> void fail(fmt::format_string<Args...> format, Args &&...args) {
    if (!failure)
      failure = invalidArgument("{}", fmt::format(format, std::forward<Args>(args)...));
  }

  void onlyKeys(const json::Object &object, const std::string &at,
                std::initializer_list<std::string_view> known) {
    for (const auto &entry : object) {
      const std::string key = entry.first.str();
      if (std::find(known.begin(), known.end(), key) == known.end())
        fail("{}: unknown key '{}'", at, key);
    }
  }

  template <typename T> T number(const json::Value &value, const std::string &at) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (auto found = value.getAsUINT64())
        return *found;
    } else if (auto found = value.getAsInteger();
               found && *found >= int64_t(std::numeric_limits<T>::min()) &&
               *found <= int64_t(std::numeric_limits<T>::max()))
      return static_cast<T>(*found);
    fail("{} is not a whole number from {} to {}", at, std::numeric_limits<T>::min(),
         std::numeric_limits<T>::max());
    return 0;
  }

  std::string string(const json::Value &value, const std::string &at) {
    if (auto found = value.getAsString())
      return found->str();
    fail("{} is not a string", at);
    return "";
  }

  void extents(const json::Object &root, const std::string &key, std::array<uint32_t, 3> &target) {
    const std::vector<uint64_t> numbers = list(root, key, key);
    if (numbers.empty() || numbers.size() > 3)
      fail("{} has {} numbers; it has 1 to 3", key, numbers.size());
    for (size_t i = 0; i < std::min<size_t>(numbers.size(), 3); ++i) {
      if (numbers[i] > UINT32_MAX)
        fail("{}[{}] is {}; the limit is {}", key, i, numbers[i], UINT32_MAX);
      target[i] = static_cast<uint32_t>(numbers[i]);
    }
  }

  /// A list of whole numbers; a missing key gives an empty one.
  std::vector<uint64_t> list(const json::Object &object, const std::string &key,
                             const std::string &at) {
    std::vector<uint64_t> numbers;
    const json::Array *array = object.getArray(key);
    if (!array && object.get(key))
      fail("{} is not a list", at);
    for (size_t i = 0; array && i < array->size() && !failure; ++i)
      numbers.push_back(number<uint64_t>((*array)[i], fmt::format("{}[{}]", at, i)));
    return numbers;
  }

  template <typename Body> void each(const json::Object &root, const std::string &key, Body body) {
    const json::Array *array = root.getArray(key);
    if (!array) {
      if (root.get(key))
        fail("{} is not a list", key);
      return;
    }
    if (array->size() > maxListed)
      return fail("{} has {} entries; the limit is {}", key, array->size(), maxListed);
    for (size_t i = 0; i < array->size() && !failure; ++i) {
      const std::string at = fmt::format("{}[{}]", key, i);
      if (const json::Object *object = (*array)[i].getAsObject())
        body(*object, at);
      else
        fail("{} is not an object", at);
    }
  }

  std::string resolve(const std::string &path) const {
    return folder.empty() || path.starts_with('/') ? path : folder + "/" + path;
  }

  void tensor(const json::Object &object, const std::string &at) {
    onlyKeys(object, at, {"name", "file", "dtype", "shape", "fill", "output", "writable"});
    const json::Value *name = object.get("name");
    if (!name)
      return fail("{} has no name", at);
    Buffer buffer;
    buffer.name = string(*name, at + ".name");
    if (findTensor(buffer.name))
      return fail("{}: a second tensor '{}'", at, buffer.name);
    std::optional<OwnedTensor> owned;
    if (const json::Value *file = object.get("file")) {
      Result<OwnedTensor> loaded = loadTensor(resolve(string(*file, at + ".file")));
      if (!loaded)
        return fail("{}: {}", at, loaded.error().message());
      owned = std::move(*loaded);
    } else
      owned = allocate(object, at, buffer);
    if (failure || !owned)
      return;
    bytesUsed += owned->sizeInBytes();
    if (bytesUsed > maxBytes)
      return fail("{}: the tensors take more than {} bytes", at, maxBytes);
    buffer.data = owned->view().data;
    buffer.bytes = owned->sizeInBytes();
    buffer.writable = object.get("output") || object.getBoolean("writable").value_or(false);
    if (const json::Value *path = object.get("output"))
      output(resolve(string(*path, at + ".output")), owned->view().dtype, at + ".output");
    result.launch.buffers.push_back(std::move(buffer));
    result.tensors.push_back(std::move(*owned));
  }

  /// The tensor to come is written to `path`.
  void output(const std::string &path, DType dtype, const std::string &at) {
    const std::string place = std::filesystem::path(path).lexically_normal().string();
    auto known = std::find_if(result.outputs.begin(), result.outputs.end(),
                              [&](const LaunchFile::Output &other) { return other.path == place; });
    if (isNpy(place) && dtype == DType::BF16)
      return fail("{}: an .npy file cannot hold bf16; name a .safetensors file", at);
    if (isNpy(place) && known != result.outputs.end())
      return fail("{}: '{}' is written twice; an .npy file holds one tensor, a .safetensors file "
                  "many",
                  at, path);
    if (known == result.outputs.end())
      known = result.outputs.insert(known, {place, {}});
    known->tensors.push_back(result.launch.buffers.size());
  }

  std::optional<OwnedTensor> allocate(const json::Object &object, const std::string &at,
                                      Buffer &buffer) {
    const json::Value *type = object.get("dtype");
    const std::optional<DType> dtype =
        type ? parseDType(string(*type, at + ".dtype")) : std::nullopt;
    const std::vector<uint64_t> extents = list(object, "shape", at + ".shape");
    if (!dtype || extents.empty() || extents.size() > TensorView::maxRank) {
      fail("{} needs a file, or a dtype and a shape of 1 to {} numbers", at, TensorView::maxRank);
      return std::nullopt;
    }
    std::vector<int64_t> shape;
    uint64_t bytes = sizeOf(*dtype);
    for (uint64_t extent : extents) {
      if (extent == 0 || __builtin_mul_overflow(bytes, extent, &bytes) || bytes > maxBytes) {
        fail("{}.shape: the tensor has 1 to {} bytes", at, maxBytes);
        return std::nullopt;
      }
      shape.push_back(static_cast<int64_t>(extent));
    }
    Result<OwnedTensor> owned = OwnedTensor::allocate(TensorView(nullptr, *dtype, shape));
    if (!owned) {
      fail("{}: {}", at, owned.error().message());
      return std::nullopt;
    }
    std::memset(owned->view().data, 0xff, owned->sizeInBytes());
    buffer.initialized = false;
    if (const json::Value *fill = object.get("fill")) {
      const std::optional<double> value = fill->getAsNumber();
      if (!value || (!isFloat(*dtype) && *value != 0)) {
        fail("{}.fill is not a number, or not 0 for {}", at, nameOf(*dtype));
        return std::nullopt;
      }
      std::memset(owned->view().data, 0, owned->sizeInBytes());
      if (isFloat(*dtype))
        for (uint64_t i = 0; i < bytes / sizeOf(*dtype); ++i)
          storeFromDouble(owned->view().data, *dtype, static_cast<int64_t>(i), *value);
      buffer.initialized = true;
    }
    return std::move(*owned);
  }

  std::optional<size_t> findTensor(const std::string &name) const {
    for (size_t i = 0; i < result.launch.buffers.size(); ++i)
      if (result.launch.buffers[i].name == name)
        return i;
    return std::nullopt;
  }

  size_t tensorNamed(const json::Value &value, const std::string &at) {
    const std::string name = string(value, at);
    if (const std::optional<size_t> index = findTensor(name))
      return *index;
    fail("{}: no tensor '{}'", at, name);
    return 0;
  }

  void map(const json::Object &object, const std::string &at) {
    onlyKeys(object, at, {"tensor", "dtype", "dims", "strides", "box", "swizzle", "offset"});
    const json::Value *tensor = object.get("tensor");
    if (!tensor)
      return fail("{} has no tensor", at);
    TensorMap result;
    result.buffer = tensorNamed(*tensor, at + ".tensor");
    if (failure)
      return;
    result.dtype = this->result.tensors[result.buffer].view().dtype;
    if (const json::Value *type = object.get("dtype")) {
      const std::optional<DType> dtype = parseDType(string(*type, at + ".dtype"));
      if (!dtype)
        return fail("{}.dtype is unknown", at);
      result.dtype = *dtype;
    }
    const std::vector<uint64_t> dims = list(object, "dims", at + ".dims");
    const std::vector<uint64_t> strides = list(object, "strides", at + ".strides");
    const std::vector<uint64_t> box = list(object, "box", at + ".box");
    if (dims.empty() || dims.size() > 5 || strides.size() != dims.size() ||
        box.size() != dims.size())
      return fail("{}: dims, strides and box are lists of the same 1 to 5 numbers", at);
    result.rank = static_cast<uint32_t>(dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      result.dims[i] = dims[i];
      result.strides[i] = strides[i];
      result.box[i] = static_cast<uint32_t>(std::min<uint64_t>(box[i], UINT32_MAX));
    }
    const json::Value *swizzle = object.get("swizzle");
    switch (const uint32_t bytes = swizzle ? number<uint32_t>(*swizzle, at + ".swizzle") : 0) {
    case 0:
      break;
    case 32:
      result.swizzle = Swizzle::Bytes32;
      break;
    case 64:
      result.swizzle = Swizzle::Bytes64;
      break;
    case 128:
      result.swizzle = Swizzle::Bytes128;
      break;
    default:
      return fail("{}.swizzle is {}; it is 0, 32, 64 or 128", at, bytes);
    }
    if (const json::Value *offset = object.get("offset"))
      result.offset = number<uint64_t>(*offset, at + ".offset");
    this->result.launch.maps.push_back(result);
  }

  void argument(const json::Object &object, const std::string &at) {
    onlyKeys(object, at, {"i32", "u32", "i64", "u64", "f32", "tensor", "map", "offset"});
    const size_t expected = object.get("tensor") && object.get("offset") ? 2 : 1;
    if (object.size() != expected)
      return fail("{} has {} keys; an argument is one value", at, object.size());
    Argument argument;
    if (const json::Value *v = object.get("i32"))
      argument = Argument::of(number<int32_t>(*v, at + ".i32"));
    else if (const json::Value *v = object.get("u32"))
      argument = Argument::of(number<uint32_t>(*v, at + ".u32"));
    else if (const json::Value *v = object.get("i64"))
      argument = Argument::of(number<int64_t>(*v, at + ".i64"));
    else if (const json::Value *v = object.get("u64"))
      argument = Argument::of(number<uint64_t>(*v, at + ".u64"));
    else if (const json::Value *v = object.get("f32")) {
      if (!v->getAsNumber())
        return fail("{}.f32 is not a number", at);
      argument = Argument::of(static_cast<float>(*v->getAsNumber()));
    } else if (const json::Value *v = object.get("map"))
      argument = Argument::map(number<uint32_t>(*v, at + ".map"));
    else if (const json::Value *v = object.get("tensor")) {
      argument = Argument::tensor(tensorNamed(*v, at + ".tensor"));
      if (const json::Value *offset = object.get("offset"))
        argument.offset = number<uint64_t>(*offset, at + ".offset");
    } else
      return fail("{}: an offset without a tensor", at);
    result.launch.arguments.push_back(std::move(argument));
  }
};

} // namespace

Result<LaunchFile> tilewright::parseLaunchFile(std::string_view text, const std::string &folder) {
  if (const size_t nesting = jsonNesting(text); nesting > maxNesting)
    return invalidArgument("launch file: brackets are nested {} deep; the limit is {}", nesting,
                           maxNesting);
  llvm::Expected<json::Value> value = json::parse(llvm::StringRef(text.data(), text.size()));
  if (!value)
    return invalidArgument("launch file: {}", llvm::toString(value.takeError()));
  const json::Object *root = value->getAsObject();
  if (!root)
    return invalidArgument("launch file: the outermost value is not an object");
  return LaunchReader(folder).read(*root);
}

Status tilewright::writeOutputs(const LaunchFile &file) {
  for (const LaunchFile::Output &output : file.outputs) {
    std::vector<NamedTensor> named;
    for (size_t tensor : output.tensors)
      named.push_back({file.launch.buffers[tensor].name, file.tensors[tensor].view()});
    Status status = isNpy(output.path) ? writeNpy(output.path, named.front().view)
                                       : writeSafetensors(output.path, named);
    if (!status)
      return status;
  }
  return {};
}
