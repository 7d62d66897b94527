// Element types and reduction operators: the two small enums that kernels, collectives, scenarios
// and reports share, each with one table of names. The nccl names ("float", "half") are what `coll
// -d` accepts and prints. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace plumbline {

enum class DType : uint8_t { kF32, kF64, kF16, kBf16, kI32, kI64, kU8 };
enum class RedOp : uint8_t { kSum, kAvg, kMin, kMax, kProduct };

struct DTypeRow {
  DType dtype;
  const char* name;       // "f32"
  const char* nccl_name;  // "float"
  size_t size;            // bytes per element
  bool floating;
};
struct RedOpRow {
  RedOp redop;
  const char* name;       // "sum", "avg", "min", "max", "product"
  const char* nccl_name;  // "prod" for product
};

std::span<const DTypeRow> dtype_table();
std::span<const RedOpRow> redop_table();

const DTypeRow& row(DType dtype);
const RedOpRow& row(RedOp redop);
inline size_t size_of(DType dtype) { return row(dtype).size; }
inline const char* to_string(DType dtype) { return row(dtype).name; }
inline const char* to_string(RedOp redop) { return row(redop).name; }
// Accept our name or nccl's; nullopt when neither.
std::optional<DType> dtype_from(std::string_view name);
std::optional<RedOp> redop_from(std::string_view name);

}  // namespace plumbline
