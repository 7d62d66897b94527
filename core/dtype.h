// Element types and reduction operators: the two small enums (plumbline/types.h) that kernels,
// collectives, scenarios and reports share, each with one table of names. The nccl names ("float",
// "half") are what `coll -d` accepts and prints. Pure, thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "plumbline/types.h"

namespace plumbline {

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
