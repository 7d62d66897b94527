// Whether the kernels of a set compute what the scalar reference computes: each of them is a trial
// beside its reference.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>

#include "kernels/kernels.h"
#include "kernels/sets.h"

namespace plumbline {
namespace {

// Around the number of lanes of every vector there is, and a few blocks of the checksum.
constexpr std::array<size_t, 20> kCounts = {0,  1,  2,  3,  7,   8,   9,   15,  16,   17,
                                            31, 33, 63, 65, 127, 129, 255, 257, 1000, 4099};
constexpr size_t kMaxCount = 4099;
constexpr size_t kOffsets = 3;  // 0, 1, 2 elements from an aligned address
using Bytes = std::vector<std::byte>;

// A small generator (xorshift64*), the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }

 private:
  uint64_t state_;
};

// Exponent and significand of each floating type as bits: every pattern with extreme exponents and
// some significands is a special value (zero, subnormal, infinity, NaN of both kinds, limits).
struct FloatShape {
  int significand;  // bits
  int exponent;
};
std::optional<FloatShape> float_shape(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return FloatShape{23, 8};
    case DType::kF64:
      return FloatShape{52, 11};
    case DType::kF16:
      return FloatShape{10, 5};
    case DType::kBf16:
      return FloatShape{7, 8};
    default:
      return std::nullopt;
  }
}

uint64_t special_float(const FloatShape& shape, uint64_t random) {
  const uint64_t ones = (uint64_t{1} << shape.significand) - 1;
  const uint64_t top = (uint64_t{1} << shape.exponent) - 1;
  const std::array<uint64_t, 6> significands = {
      0, 1, ones, ones >> 1, (ones >> 1) + 1, (random >> 20) & ones};
  const std::array<uint64_t, 6> exponents = {0, 1, top, top - 1, top / 2, top / 2 + 1};
  const uint64_t sign = random & 1;
  return (sign << (shape.significand + shape.exponent)) |
         (exponents[(random >> 1) % 6] << shape.significand) | significands[(random >> 8) % 6];
}

// Numbers between 1 and 4: no NaN, no zero, and none arises from them.
uint64_t plain_float(const FloatShape& shape, uint64_t random) {
  const uint64_t bias = (uint64_t{1} << (shape.exponent - 1)) - 1;
  return ((bias + (random & 1)) << shape.significand) |
         ((random >> 8) & ((uint64_t{1} << shape.significand) - 1));
}

// Elements of `dtype`: special values and arbitrary bits in turns, or plain numbers only.
Bytes make_input(DType dtype, uint64_t seed, bool plain) {
  Random random(seed);
  const size_t size = size_of(dtype);
  const std::optional<FloatShape> shape = float_shape(dtype);
  Bytes bytes((kMaxCount + kOffsets) * size);  // one more than is used
  for (size_t at = 0; at < bytes.size(); at += size) {
    uint64_t bits = random.next();
    if (shape && plain) {
      bits = plain_float(*shape, bits);
    } else if (shape && (bits >> 60) < 8) {
      bits = special_float(*shape, bits);
    } else {
      bits >>= 8;
    }
    std::memcpy(bytes.data() + at, &bits, size);  // little-endian: the low bytes
  }
  return bytes;
}

// One kernel beside its reference, both as (out, a, b, count); a unary one looks at `a` only.
using Call = std::function<void(std::byte*, const std::byte*, const std::byte*, size_t)>;
struct Trial {
  std::string name;
  size_t in_size;
  size_t out_size;
  bool in_place;  // may the output be an input?
  Call kernel;
  Call reference;
};

// The first of `count` elements that differs, in words. The element behind them has to stay as it
// was and is looked at, too.
std::optional<std::string> difference(const std::byte* got, const std::byte* want, size_t count,
                                      size_t size) {
  for (size_t i = 0; i <= count; ++i) {
    uint64_t g = 0, w = 0;
    std::memcpy(&g, got + i * size, size);
    std::memcpy(&w, want + i * size, size);
    if (g == w) continue;
    if (i == count) return fmt::format("wrote beyond {} elements", count);
    return fmt::format("element {} of {} is {:#x} instead of {:#x}", i, count, g, w);
  }
  return std::nullopt;
}

// One run with `count` elements, `offset` elements from the start of the buffers. The element
// behind the output has to stay as it was.
enum class Place { kSeparate, kOntoFirst, kOntoSecond };
std::optional<std::string> run_once(const Trial& trial, const Bytes& a, const Bytes& b,
                                    size_t count, size_t offset, Place place) {
  const size_t in_skip = offset * trial.in_size;
  const size_t out_skip = offset * trial.out_size;
  const auto in_end = static_cast<std::ptrdiff_t>(in_skip + (count + 1) * trial.in_size);
  Bytes x(a.begin(), a.begin() + in_end);
  Bytes y(b.begin(), b.begin() + in_end);
  Bytes separate(out_skip + (count + 1) * trial.out_size, std::byte{0xa5});
  Bytes& out = place == Place::kSeparate ? separate : place == Place::kOntoFirst ? x : y;
  Bytes want(out.begin() + static_cast<std::ptrdiff_t>(out_skip), out.end());
  trial.reference(want.data(), a.data() + in_skip, b.data() + in_skip, count);
  trial.kernel(out.data() + out_skip, x.data() + in_skip, y.data() + in_skip, count);
  return difference(out.data() + out_skip, want.data(), count, trial.out_size);
}

std::optional<std::string> run(const Trial& trial, const Bytes& a, const Bytes& b) {
  constexpr std::array<const char*, 3> kPlaces = {"out of place", "onto the first input",
                                                  "onto the second input"};
  for (const size_t count : kCounts) {
    for (size_t offset = 0; offset < kOffsets; ++offset) {
      for (size_t place = 0; place < (trial.in_place ? kPlaces.size() : 1); ++place) {
        if (auto text = run_once(trial, a, b, count, offset, static_cast<Place>(place))) {
          return fmt::format("{}: {} (offset {}, {})", trial.name, *text, offset, kPlaces[place]);
        }
      }
    }
  }
  return std::nullopt;
}

// ---- one builder of trials per kind of kernel ----

Trial reduce_trial(const KernelSet& set, DType dtype, RedOp redop, bool fast) {
  const auto call = [](ReduceFn fn) {
    return [fn](std::byte* out, const std::byte* a, const std::byte* b, size_t n) {
      fn(out, a, b, n);
    };
  };
  return {fmt::format("{} {} {}{}", set.target, to_string(redop), to_string(dtype),
                      fast ? " fast_math" : ""),
          size_of(dtype),
          size_of(dtype),
          true,
          call(set.reduce(dtype, redop, fast)),
          call(scalar_kernel_set().reduce(dtype, redop, fast))};
}

// Of the sources the second, fifth and so on are `b`.
Trial many_trial(const KernelSet& set, DType dtype, RedOp redop, bool fast, size_t sources,
                 Stores stores) {
  const auto call = [=](ReduceManyFn fn) {
    return [=](std::byte* out, const std::byte* a, const std::byte* b, size_t n) {
      std::vector<const void*> all;
      while (all.size() < sources) all.push_back(all.size() % 3 == 1 ? b : a);
      fn(out, all.data(), sources, n, stores);
    };
  };
  return {fmt::format("{} {} {}{} of {}{}", set.target, to_string(redop), to_string(dtype),
                      fast ? " fast_math" : "", sources, stores == Stores::kFar ? ", far" : ""),
          size_of(dtype),
          size_of(dtype),
          true,
          call(set.reducer(dtype, redop, fast).many),
          call(scalar_kernel_set().reducer(dtype, redop, fast).many)};
}

Trial copy_trial(const KernelSet& set) {
  const auto call = [](CopyFn fn) {
    return [fn](std::byte* out, const std::byte* a, const std::byte*, size_t n) { fn(out, a, n); };
  };
  return {fmt::format("{} copy_far", set.target), 1, 1, false, call(set.copy_far),
          call(scalar_kernel_set().copy_far)};
}

Trial scale_trial(const KernelSet& set, DType dtype, int divisor) {
  const auto call = [divisor](ScaleFn fn) {
    return [fn, divisor](std::byte* out, const std::byte* a, const std::byte*, size_t n) {
      fn(out, a, n, divisor);
    };
  };
  return {fmt::format("{} {} divided by {}", set.target, to_string(dtype), divisor),
          size_of(dtype),
          size_of(dtype),
          true,
          call(set.scale_fn(dtype)),
          call(scalar_kernel_set().scale_fn(dtype))};
}

template <typename Out, typename In>
Trial convert_trial(const KernelSet& set, const char* what,
                    void (*KernelSet::*member)(Out* dst, const In* src, size_t count)) {
  const auto call = [](void (*fn)(Out*, const In*, size_t)) {
    return [fn](std::byte* out, const std::byte* a, const std::byte*, size_t n) {
      fn(reinterpret_cast<Out*>(out), reinterpret_cast<const In*>(a), n);
    };
  };
  return {fmt::format("{} {}", set.target, what), sizeof(In), sizeof(Out), false, call(set.*member),
          call(scalar_kernel_set().*member)};
}

// The checksum of `data`, and of `data` in two parts, against the reference.
std::optional<std::string> check_crc32c(const KernelSet& set, const Bytes& data) {
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t bytes = 0; begin + bytes <= data.size(); bytes += 1 + bytes / 3) {
      const std::byte* p = data.data() + begin;
      const uint32_t want = scalar_kernel_set().crc32c(0, p, bytes);
      const size_t cut = bytes / 3;
      const uint32_t parts = set.crc32c(set.crc32c(0, p, cut), p + cut, bytes - cut);
      if (set.crc32c(0, p, bytes) != want || parts != want) {
        return fmt::format("{} crc32c: {} bytes at offset {}: not {:#010x}", set.target, bytes,
                           begin, want);
      }
    }
  }
  return std::nullopt;
}

void add(std::vector<std::string>* lines, std::optional<std::string> line) {
  if (line) lines->push_back(std::move(*line));
}

// What differs in a trial; or takes note of it.
using Visit = std::function<void(const Trial&, const Bytes& a, const Bytes& b)>;

void visit_reductions(const KernelSet& set, DType dtype, bool fast, const Visit& visit) {
  const Bytes a = make_input(dtype, fast ? 3 : 1, fast), b = make_input(dtype, fast ? 4 : 2, fast);
  for (const RedOpRow& op : redop_table()) {
    visit(reduce_trial(set, dtype, op.redop, fast), a, b);
    visit(many_trial(set, dtype, op.redop, fast, 3, Stores::kNear), a, b);
    visit(many_trial(set, dtype, op.redop, fast, 5, Stores::kFar), a, b);
  }
}

// Every kernel but the checksum.
void visit_all(const KernelSet& set, const Visit& visit) {
  for (const DTypeRow& d : dtype_table()) {
    visit_reductions(set, d.dtype, false, visit);
    visit_reductions(set, d.dtype, true, visit);
    const Bytes a = make_input(d.dtype, 1, false);
    for (const int divisor : {1, 2, 3, 7, 255, 256, 1000}) {
      visit(scale_trial(set, d.dtype, divisor), a, a);
    }
  }
  const Bytes f32 = make_input(DType::kF32, 5, false);
  const Bytes f16 = make_input(DType::kF16, 6, false), bf16 = make_input(DType::kBf16, 7, false);
  visit(convert_trial(set, "f32 to f16", &KernelSet::f32_to_f16), f32, f32);
  visit(convert_trial(set, "f32 to bf16", &KernelSet::f32_to_bf16), f32, f32);
  visit(convert_trial(set, "f16 to f32", &KernelSet::f16_to_f32), f16, f16);
  visit(convert_trial(set, "bf16 to f32", &KernelSet::bf16_to_f32), bf16, bf16);
  visit(copy_trial(set), f32, f32);
}

}  // namespace

std::vector<std::string> check_kernels(const KernelSet& set) {
  std::vector<std::string> lines;
  visit_all(set, [&](const Trial& trial, const Bytes& a, const Bytes& b) {
    add(&lines, run(trial, a, b));
  });
  add(&lines, check_crc32c(set, make_input(DType::kF64, 8, false)));
  return lines;
}

uint64_t digest_kernels(const KernelSet& set) {
  uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a
  const auto take = [&digest](const void* data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
      digest = (digest ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3u;
    }
  };
  visit_all(set, [&](const Trial& trial, const Bytes& a, const Bytes& b) {
    // One element less than there is room for: what goes too far is seen and does no harm.
    Bytes out(kMaxCount * trial.out_size);
    trial.kernel(out.data(), a.data(), b.data(), kMaxCount - 1);
    take(out.data(), out.size());
  });
  const Bytes data = make_input(DType::kF64, 8, false);
  const uint32_t crc = set.crc32c(0, data.data(), data.size());
  take(&crc, sizeof(crc));
  return digest;
}

}  // namespace plumbline
