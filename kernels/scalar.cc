#include "kernels/scalar.h"

#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "kernels/sets.h"

namespace plumbline {
namespace {

// One element type: how it lies in memory, the type in which it is combined, and the way back.
template <typename T>
struct Plain {
  using Stored = T;
  using Wide = T;
  static Wide widen(T v) { return v; }
  static T narrow(Wide v) { return v; }
};
struct Half {
  using Stored = uint16_t;
  using Wide = float;
  static float widen(uint16_t v) { return widen_f16(v); }
  static uint16_t narrow(float v) { return narrow_f16(v); }
};
struct Brain {
  using Stored = uint16_t;
  using Wide = float;
  static float widen(uint16_t v) { return widen_bf16(v); }
  static uint16_t narrow(float v) { return narrow_bf16(v); }
};

float quiet_nan(float) { return std::bit_cast<float>(kQuietNanF32); }
double quiet_nan(double) { return std::bit_cast<double>(kQuietNanF64); }

// The one NaN for any NaN.
template <typename W>
W fix_nan(W v) {
  if constexpr (std::is_floating_point_v<W>) return std::isnan(v) ? quiet_nan(v) : v;
  return v;
}

// Integers wrap: signed ones are combined as unsigned ones, whose overflow is defined.
struct Sum {
  template <typename W>
  static W run(W a, W b) {
    if constexpr (std::is_floating_point_v<W>) {
      return fix_nan(a + b);
    } else {
      using U = std::make_unsigned_t<W>;
      return static_cast<W>(static_cast<U>(a) + static_cast<U>(b));
    }
  }
};
struct Product {
  template <typename W>
  static W run(W a, W b) {
    if constexpr (std::is_floating_point_v<W>) {
      return fix_nan(a * b);
    } else {
      using U = std::make_unsigned_t<W>;
      return static_cast<W>(static_cast<U>(a) * static_cast<U>(b));
    }
  }
};
// Least: the smaller of the two, otherwise the greater. -0 counts as smaller than +0.
template <bool Least>
struct Extreme {
  template <typename W>
  static W run(W a, W b) {
    if constexpr (std::is_floating_point_v<W>) {
      if (std::isnan(a) || std::isnan(b)) return quiet_nan(a);
      if (a == b) return std::signbit(a) == Least ? a : b;
    }
    return (a < b) == Least ? a : b;
  }
};

template <class Element, class Op>
void reduce(void* dst, const void* a, const void* b, size_t count) {
  using T = typename Element::Stored;
  auto* out = static_cast<T*>(dst);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (size_t i = 0; i < count; ++i) {
    out[i] = Element::narrow(Op::run(Element::widen(x[i]), Element::widen(y[i])));
  }
}

template <class Element, class Op>
void reduce_many(void* dst, const void* const* sources, size_t count, size_t elements, Stores) {
  using T = typename Element::Stored;
  auto* out = static_cast<T*>(dst);
  for (size_t i = 0; i < elements; ++i) {
    T value = static_cast<const T*>(sources[0])[i];
    for (size_t k = 1; k < count; ++k) {
      const T next = static_cast<const T*>(sources[k])[i];
      value = Element::narrow(Op::run(Element::widen(value), Element::widen(next)));
    }
    out[i] = value;
  }
}

void copy_plain(void* dst, const void* src, size_t bytes) {
  if (bytes > 0) std::memcpy(dst, src, bytes);
}

template <class Element>
void scale(void* dst, const void* src, size_t count, int divisor) {
  using T = typename Element::Stored;
  using W = typename Element::Wide;
  auto* out = static_cast<T*>(dst);
  const auto* x = static_cast<const T*>(src);
  for (size_t i = 0; i < count; ++i) {
    if constexpr (std::is_floating_point_v<W>) {
      out[i] = Element::narrow(fix_nan(Element::widen(x[i]) / static_cast<W>(divisor)));
    } else {
      out[i] = static_cast<T>(static_cast<int64_t>(x[i]) / divisor);
    }
  }
}

template <uint16_t (*Narrow)(float)>
void narrow_all(uint16_t* dst, const float* src, size_t count) {
  for (size_t i = 0; i < count; ++i) dst[i] = Narrow(src[i]);
}
template <float (*Widen)(uint16_t)>
void widen_all(float* dst, const uint16_t* src, size_t count) {
  for (size_t i = 0; i < count; ++i) dst[i] = Widen(src[i]);
}

template <class Element, class Op>
constexpr Reducer kReducer = {reduce<Element, Op>, reduce_many<Element, Op>};

template <class Element>
constexpr void set_element(KernelSet& set, DType dtype) {
  const auto d = static_cast<size_t>(dtype);
  const Reducer row[5] = {kReducer<Element, Sum>, kReducer<Element, Sum>,
                          kReducer<Element, Extreme<true>>, kReducer<Element, Extreme<false>>,
                          kReducer<Element, Product>};
  for (size_t op = 0; op < 5; ++op) set.exact[d][op] = set.fast[d][op] = row[op];
  set.scale[d] = scale<Element>;
}

constexpr KernelSet make_set() {
  KernelSet set{};
  set.target = "scalar";
  set_element<Plain<float>>(set, DType::kF32);
  set_element<Plain<double>>(set, DType::kF64);
  set_element<Half>(set, DType::kF16);
  set_element<Brain>(set, DType::kBf16);
  set_element<Plain<int32_t>>(set, DType::kI32);
  set_element<Plain<int64_t>>(set, DType::kI64);
  set_element<Plain<uint8_t>>(set, DType::kU8);
  set_bool(set);
  set.f32_to_f16 = narrow_all<narrow_f16>;
  set.f32_to_bf16 = narrow_all<narrow_bf16>;
  set.f16_to_f32 = widen_all<widen_f16>;
  set.bf16_to_f32 = widen_all<widen_bf16>;
  set.copy_far = copy_plain;
  set.crc32c = crc32c_by_table;
  return set;
}

constexpr KernelSet kScalar = make_set();

// [k][b]: the register after byte b and then k zero bytes.
using SliceTable = std::array<std::array<uint32_t, 256>, 8>;

constexpr SliceTable make_slices() {
  SliceTable table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t v = byte;
    for (int bit = 0; bit < 8; ++bit) v = crc32c_times_x(v);
    table[0][byte] = v;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = table[k - 1][byte];
      table[k][byte] = (before >> 8) ^ table[0][before & 255u];
    }
  }
  return table;
}

constexpr SliceTable kSlices = make_slices();

}  // namespace

const KernelSet& scalar_kernel_set() { return kScalar; }

uint32_t crc32c_by_table(uint32_t crc, const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    const uint32_t low =
        crc ^ (p[0] | static_cast<uint32_t>(p[1]) << 8 | static_cast<uint32_t>(p[2]) << 16 |
               static_cast<uint32_t>(p[3]) << 24);
    crc = kSlices[7][low & 255u] ^ kSlices[6][(low >> 8) & 255u] ^ kSlices[5][(low >> 16) & 255u] ^
          kSlices[4][low >> 24] ^ kSlices[3][p[4]] ^ kSlices[2][p[5]] ^ kSlices[1][p[6]] ^
          kSlices[0][p[7]];
  }
  for (; bytes != 0; --bytes, ++p) crc = (crc >> 8) ^ kSlices[0][(crc ^ *p) & 255u];
  return ~crc;
}

}  // namespace plumbline
