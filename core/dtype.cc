#include "core/dtype.h"

#include <array>

namespace plumbline {
namespace {

constexpr std::array kDTypes = {
    DTypeRow{DType::kF32, "f32", "float", 4, true},
    DTypeRow{DType::kF64, "f64", "double", 8, true},
    DTypeRow{DType::kF16, "f16", "half", 2, true},
    DTypeRow{DType::kBf16, "bf16", "bfloat16", 2, true},
    DTypeRow{DType::kI32, "i32", "int32", 4, false},
    DTypeRow{DType::kI64, "i64", "int64", 8, false},
    DTypeRow{DType::kU8, "u8", "uint8", 1, false},
};
constexpr std::array kRedOps = {
    RedOpRow{RedOp::kSum, "sum", "sum"},          RedOpRow{RedOp::kAvg, "avg", "avg"},
    RedOpRow{RedOp::kMin, "min", "min"},          RedOpRow{RedOp::kMax, "max", "max"},
    RedOpRow{RedOp::kProduct, "product", "prod"},
};

}  // namespace

std::span<const DTypeRow> dtype_table() { return kDTypes; }
std::span<const RedOpRow> redop_table() { return kRedOps; }

// The tables stand in the order of their enums; tests/core/dtype_test.cc checks it.
const DTypeRow& row(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }
const RedOpRow& row(RedOp redop) { return kRedOps[static_cast<size_t>(redop)]; }

std::optional<DType> dtype_from(std::string_view name) {
  for (const DTypeRow& r : kDTypes) {
    if (name == r.name || name == r.nccl_name) return r.dtype;
  }
  return std::nullopt;
}

std::optional<RedOp> redop_from(std::string_view name) {
  for (const RedOpRow& r : kRedOps) {
    if (name == r.name || name == r.nccl_name) return r.redop;
  }
  return std::nullopt;
}

}  // namespace plumbline
