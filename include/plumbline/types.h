// What operations work on: the types of elements, how they are combined, and memory that somebody
// else owns. Sizes are always counted in elements, never in bytes. Plain values, thread-safe.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

namespace plumbline {

// kBool: truth values of one byte, 0 = false and anything else = true. Sum and maximum are logical
// or, product and minimum logical and; an average is refused. Where true goes in as 1 it comes out
// as 1; of other bytes (a C++ bool holds none) it comes out as any but 0.
enum class DType : uint8_t { kF32, kF64, kF16, kBf16, kI32, kI64, kU8, kBool };
// kAvg: the sum divided by the number of ranks (towards zero where elements are integers).
enum class RedOp : uint8_t { kSum, kAvg, kMin, kMax, kProduct };
enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError, kFatal, kOff };

// The element type that a C++ type stands for, where it stands for one.
template <typename T>
constexpr std::optional<DType> dtype_of() {
  constexpr bool whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  if (std::is_same_v<T, float>) return DType::kF32;
  if (std::is_same_v<T, double>) return DType::kF64;
  if (whole && std::is_signed_v<T> && sizeof(T) == 4) return DType::kI32;
  if (whole && std::is_signed_v<T> && sizeof(T) == 8) return DType::kI64;
  if (std::is_same_v<T, uint8_t> || std::is_same_v<T, std::byte>) return DType::kU8;
  if (std::is_same_v<T, bool> && sizeof(bool) == 1) return DType::kBool;
  return std::nullopt;
}

// Elements of one of these types, one behind the other: a vector, an array, a span.
template <typename R>
concept ElementRange = requires(R& range) {
  { std::size(range) } -> std::convertible_to<size_t>;
  requires dtype_of<std::remove_cv_t<std::remove_pointer_t<decltype(std::data(range))>>>()
  .has_value();
};

// `count` elements to be read. Of 16-bit floats, which C++20 has no types for: {pointer, count,
// DType::kF16}.
struct ConstBuffer {
  ConstBuffer() = default;
  ConstBuffer(const void* first, size_t elements, DType type)
      : data(first), count(elements), dtype(type) {}
  template <ElementRange R>
  ConstBuffer(const R& range)
      : ConstBuffer(
            std::data(range), std::size(range),
            *dtype_of<std::remove_cv_t<std::remove_pointer_t<decltype(std::data(range))>>>()) {}

  const void* data = nullptr;
  size_t count = 0;
  DType dtype = DType::kF32;
};

// The same, to be written too.
struct Buffer {
  Buffer() = default;
  Buffer(void* first, size_t elements, DType type) : data(first), count(elements), dtype(type) {}
  template <typename R>
  requires ElementRange<std::remove_reference_t<R>> &&
      std::convertible_to<decltype(std::data(std::declval<R&>())), void*>
      // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): a Buffer is no range
      Buffer(R&& range)
      : Buffer(std::data(range), std::size(range),
               *dtype_of<std::remove_pointer_t<decltype(std::data(range))>>()) {}

  operator ConstBuffer() const { return {data, count, dtype}; }

  void* data = nullptr;
  size_t count = 0;
  DType dtype = DType::kF32;
};

}  // namespace plumbline
