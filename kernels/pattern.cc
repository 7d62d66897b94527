#include "kernels/pattern.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/scalar.h"
#include "kernels/sets.h"

namespace plumbline {
namespace {

// Every value is `unit` times a small integer. Sums of such integers up to `limit` are exact in the
// type; wide types get a unit with bits far apart, so that a lost upper or lower half shows.
struct Range {
  int64_t limit;
  int64_t unit;
};
constexpr std::array<Range, kDTypeCount> kRanges = {{
    {int64_t{1} << 24, 1},                       // f32: 24 significant bits
    {int64_t{1} << 39, (1 << 13) + 1},           // f64: 53
    {int64_t{1} << 11, 1},                       // f16: 11
    {int64_t{1} << 8, 1},                        // bf16: 8
    {int64_t{1} << 30, 1},                       // i32
    {int64_t{1} << 39, (int64_t{1} << 22) + 1},  // i64
    {255, 1},                                    // u8
    {1, 1},                                      // bool
}};

// Ranks that contribute a factor other than 1 and -1 to one position of a product: 2^8 is exact in
// every type, and so is every product on the way.
constexpr uint32_t kFactorRanks = 8;

// 64 well-mixed bits of (seed, who, position): the finaliser of SplitMix64.
uint64_t mix(uint32_t seed, uint32_t who, size_t position) {
  uint64_t z = (static_cast<uint64_t>(seed) << 32 | static_cast<uint32_t>(position)) +
               0x9e3779b97f4a7c15u * (who + 1u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
// `who` for what all ranks share at a position: the first chosen rank, and how many are chosen.
constexpr uint32_t kFirstChosen = 1000, kHowMany = 1001;

// 0 ... n - 1, n <= 2^32.
int64_t pick(uint64_t random, int64_t n) {
  return static_cast<int64_t>(((random & 0xffffffffu) * static_cast<uint64_t>(n)) >> 32);
}

struct Inputs {
  DType dtype;
  RedOp redop;
  uint32_t ranks;
  uint32_t seed;
};

// Is `rank` one of the `some` consecutive ranks that a position chooses?
bool chosen(const Inputs& s, uint32_t rank, size_t i, uint32_t some) {
  const auto start = static_cast<uint32_t>(pick(mix(s.seed, kFirstChosen, i), s.ranks));
  return (rank + s.ranks - start) % s.ranks < some;
}

int64_t sum_value(const Inputs& s, uint32_t rank, size_t i, int64_t limit) {
  const int64_t most = std::min(limit / s.ranks, int64_t{1} << 31);
  const uint64_t random = mix(s.seed, rank, i);
  return most >= 2 ? 1 + pick(random, most) : pick(random, 2);
}

// Integer division loses the remainder, so contributions are multiples of the divisor; where the
// type has no room for all ranks, a few at each position contribute.
int64_t integer_average_value(const Inputs& s, uint32_t rank, size_t i, int64_t limit) {
  const int64_t room = limit / s.ranks;  // for the quotient
  if (room >= s.ranks) return s.ranks * sum_value(s, rank, i, room);
  if (room == 0) return sum_value(s, rank, i, limit);  // u8 over 256 ranks: 0 whatever comes
  const uint64_t random = mix(s.seed, kHowMany, i);
  const int64_t some = room >= 2 ? 1 + pick(random, room) : pick(random, 2);
  return chosen(s, rank, i, static_cast<uint32_t>(some)) ? s.ranks : 0;
}

// One rank per position lies beyond all others.
int64_t extreme_value(const Inputs& s, uint32_t rank, size_t i, int64_t limit) {
  const int64_t half = std::min((limit + 1) / 2, int64_t{1} << 32);
  const int64_t value = pick(mix(s.seed, rank, i), half);
  const bool below = chosen(s, rank, i, 1) == (s.redop == RedOp::kMin);
  const int64_t offset = s.dtype == DType::kU8 ? half : 0;
  return offset + (below ? value - half : value);
}

int64_t product_value(const Inputs& s, uint32_t rank, size_t i) {
  const uint64_t random = mix(s.seed, rank, i);
  // Odd numbers have an inverse modulo 256: no product of them forgets a factor.
  if (s.dtype == DType::kU8) return 3 + 2 * pick(random, 127);
  if (!chosen(s, rank, i, kFactorRanks)) return (random & 1u) != 0 ? -1 : 1;
  constexpr std::array<int64_t, 3> kFactors = {-1, 2, -2};
  return kFactors[static_cast<size_t>(pick(random, 3))];
}

// Or shows a rank only where it alone says true, and to verify, results must be false elsewhere: at
// some positions nobody says true, at as many others one rank, and at the rest each of them may, so
// that ranks differ there however many there are. And is the same with true and false exchanged.
int64_t truth_value(const Inputs& s, uint32_t rank, size_t i) {
  constexpr int64_t kNobody = 3, kOne = 3, kAny = 2;
  const int64_t kind = pick(mix(s.seed, kHowMany, i), kNobody + kOne + kAny);
  bool speaks = false;
  if (kind >= kNobody + kOne) {
    speaks = (mix(s.seed, rank, i) & 1u) != 0;
  } else if (kind >= kNobody) {
    speaks = chosen(s, rank, i, 1);
  }
  return speaks == (redop_on_truth(s.redop) == RedOp::kMax) ? 1 : 0;
}

int64_t value_of(const Inputs& s, uint32_t rank, size_t i) {
  if (s.dtype == DType::kBool) return truth_value(s, rank, i);
  const auto [limit, unit] = kRanges[static_cast<size_t>(s.dtype)];
  switch (s.redop) {
    case RedOp::kMin:
    case RedOp::kMax:
      return unit * extreme_value(s, rank, i, limit);
    case RedOp::kProduct:
      return product_value(s, rank, i);
    case RedOp::kAvg:
      if (!row(s.dtype).floating) return unit * integer_average_value(s, rank, i, limit);
      break;
    case RedOp::kSum:
      break;
  }
  return unit * sum_value(s, rank, i, limit);
}

// A tile of integers that are exact in `dtype` (u8: modulo 256), as it lies in memory.
using Values = std::vector<int64_t>;
template <typename T>
void encode_as(std::byte* out, const Values& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const T element = static_cast<T>(values[i]);
    std::memcpy(out + i * sizeof(T), &element, sizeof(T));
  }
}
template <uint16_t (*Narrow)(float)>
void encode_narrow(std::byte* out, const Values& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t element = Narrow(static_cast<float>(values[i]));
    std::memcpy(out + i * sizeof(element), &element, sizeof(element));
  }
}
std::vector<std::byte> encode(DType dtype, const Values& values) {
  using Encode = void (*)(std::byte*, const Values&);
  constexpr std::array<Encode, kDTypeCount> kEncode = {
      encode_as<float>,   encode_as<double>,  encode_narrow<narrow_f16>, encode_narrow<narrow_bf16>,
      encode_as<int32_t>, encode_as<int64_t>, encode_as<uint8_t>,        encode_as<uint8_t>};
  std::vector<std::byte> tile(values.size() * size_of(dtype));
  kEncode[static_cast<size_t>(dtype)](tile.data(), values);
  return tile;
}

void combine(RedOp redop, int64_t* into, int64_t value) {
  switch (redop) {
    case RedOp::kSum:
    case RedOp::kAvg:
      *into += value;
      return;
    case RedOp::kMin:
      *into = std::min(*into, value);
      return;
    case RedOp::kMax:
      *into = std::max(*into, value);
      return;
    case RedOp::kProduct:  // u8 wraps: modulo 2^64 first, modulo 256 when encoded
      *into = static_cast<int64_t>(static_cast<uint64_t>(*into) * static_cast<uint64_t>(value));
      return;
  }
}

// Calls use(offset in bytes from the start of the range, piece of the tile, its bytes) for the
// elements [first, first + count), one piece per stretch that is contiguous in the tile.
template <class Use>
void for_each_piece(const std::vector<std::byte>& tile, size_t size, uint64_t first, size_t count,
                    Use use) {
  size_t at = static_cast<size_t>(first % kPatternPeriod);
  for (size_t done = 0; done < count;) {
    const size_t elements = std::min(count - done, kPatternPeriod - at);
    use(done * size, tile.data() + at * size, elements * size);
    done += elements;
    at = 0;
  }
}

void copy_tile(const std::vector<std::byte>& tile, size_t size, void* dst, uint64_t first,
               size_t count) {
  auto* out = static_cast<std::byte*>(dst);
  for_each_piece(tile, size, first, count,
                 [out](size_t offset, const std::byte* piece, size_t bytes) {
                   std::memcpy(out + offset, piece, bytes);
                 });
}

size_t count_wrong(const std::vector<std::byte>& tile, size_t size, const void* data,
                   uint64_t first, size_t count, std::optional<uint64_t>* first_wrong) {
  const auto* bytes = static_cast<const std::byte*>(data);
  size_t wrong = 0;
  std::optional<uint64_t> earliest;
  for_each_piece(tile, size, first, count, [&](size_t offset, const std::byte* want, size_t n) {
    const std::byte* got = bytes + offset;
    if (std::memcmp(got, want, n) == 0) return;
    for (size_t at = 0; at < n; at += size) {
      if (std::memcmp(got + at, want + at, size) == 0) continue;
      if (!earliest) earliest = first + (offset + at) / size;
      ++wrong;
    }
  });
  if (first_wrong != nullptr) *first_wrong = earliest;
  return wrong;
}

}  // namespace

Pattern::Pattern(DType dtype, RedOp redop, int ranks, uint32_t seed)
    : element_size_(size_of(dtype)) {
  const RedOp combined = dtype == DType::kBool ? redop_on_truth(redop) : redop;
  const Inputs inputs{dtype, redop, static_cast<uint32_t>(ranks), seed};
  Values reduced;
  Values values(kPatternPeriod);
  for (uint32_t rank = 0; rank < inputs.ranks; ++rank) {
    for (size_t i = 0; i < kPatternPeriod; ++i) values[i] = value_of(inputs, rank, i);
    if (rank == 0) {
      reduced = values;
    } else {
      for (size_t i = 0; i < kPatternPeriod; ++i) combine(combined, &reduced[i], values[i]);
    }
    tiles_.push_back(encode(dtype, values));
  }
  reduced_ = encode(dtype, reduced);
  if (redop == RedOp::kAvg) {
    scalar_kernel_set().scale_fn(dtype)(reduced_.data(), reduced_.data(), kPatternPeriod, ranks);
  }
}

void Pattern::fill(void* dst, int rank, uint64_t first, size_t count) const {
  copy_tile(tiles_[static_cast<size_t>(rank)], element_size_, dst, first, count);
}

void Pattern::reduced(void* dst, uint64_t first, size_t count) const {
  copy_tile(reduced_, element_size_, dst, first, count);
}

size_t Pattern::count_wrong_copy(const void* data, int rank, uint64_t first, size_t count,
                                 std::optional<uint64_t>* first_wrong) const {
  return count_wrong(tiles_[static_cast<size_t>(rank)], element_size_, data, first, count,
                     first_wrong);
}

size_t Pattern::count_wrong_reduced(const void* data, uint64_t first, size_t count,
                                    std::optional<uint64_t>* first_wrong) const {
  return count_wrong(reduced_, element_size_, data, first, count, first_wrong);
}

}  // namespace plumbline
