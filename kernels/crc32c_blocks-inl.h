// Included by simd_crc32c-inl.h, for some targets twice with different instructions allowed, so it
// has no guard. It uses what stands before it: Blocks, CrcRegister, crc_word, crc_byte.
//
// CRC-32C of long data, block by block. The CRC instruction has a latency of three cycles and a
// throughput of one, so three lanes that lie side by side are computed at once (Gopal et al., "Fast
// CRC computation for iSCSI polynomial using CRC32 instruction", Intel, 2011). Beside them the
// other part of the block is folded with the multiplier, another unit: a vector times x^n, n being
// the distance to what comes next, is congruent to it there (Gopal et al., "Fast CRC computation
// for generic polynomials using PCLMULQDQ instruction", Intel, 2009). Doing both at once is from P.
// Cawley, "Faster CRC32-C on x86" (2022).
//
// The product of two bit-reflected words is x times that of their polynomials, and a factor below
// x^32 stands in the lower half of its word, which is another x^32: so the factor for a distance of
// n bits is x^(n - 33).

namespace blocks {
namespace hn = hwy::HWY_NAMESPACE;
using Pair = hn::FixedTag<uint64_t, 2>;

HWY_INLINE uint64_t load_word(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

// `crc` moved on by so many bytes of zeros, as a word that crc_word(0, word) brings down to 32
// bits.
template <size_t Bytes>
HWY_INLINE uint64_t move_on(CrcRegister crc) {
  constexpr uint64_t kFactor = crc32c_power(8 * Bytes - 33);
  const Pair d;
  return hn::GetLane(hn::CLMulLower(hn::Set(d, uint64_t{crc}), hn::Set(d, kFactor)));
}

// The factors of the two words of 16 bytes for a distance.
template <class D, size_t Bytes>
HWY_INLINE hn::Vec<D> factors() {
  alignas(16) static constexpr uint64_t kFactors[2] = {crc32c_power(8 * Bytes + 31),
                                                       crc32c_power(8 * Bytes - 33)};
  return hn::LoadDup128(D(), kFactors);
}

// All of `count` words, a multiple of two, as 16 bytes that are congruent to them.
HWY_INLINE void fold_to_pair(const uint64_t* words, size_t count, uint64_t* pair) {
  const Pair d;
  const auto k = factors<Pair, 16>();
  auto sum = hn::Load(d, words);
  for (size_t i = 2; i < count; i += 2) {
    const auto next = hn::Xor(hn::CLMulLower(sum, k), hn::Load(d, words + i));
    sum = hn::Xor(next, hn::CLMulUpper(sum, k));
  }
  hn::Store(sum, d, pair);
}

// Three lanes of Words words per round, and Vectors vectors that are folded onto those of the next
// round. kLane, kFolded: bytes.
template <size_t Vectors, size_t Words, size_t Rounds>
struct Block {
  using D = Blocks::D;
  using V = Blocks::V;
  static constexpr size_t kVector = Vectors == 0 ? 0 : hn::MaxLanes(D()) * sizeof(uint64_t);
  static constexpr size_t kLane = 8 * Words * Rounds;
  static constexpr size_t kFolded = Vectors * kVector * (Rounds + 1);
  static constexpr size_t kBytes = 3 * kLane + kFolded;

  static HWY_INLINE V load(const uint8_t* p) {
    return hn::LoadU(D(), reinterpret_cast<const uint64_t*>(p));
  }

  static HWY_INLINE CrcRegister run(CrcRegister crc, const uint8_t* p) {
    CrcRegister c0 = crc, c1 = 0, c2 = 0;
    const uint8_t* folded = p + 3 * kLane;
    if constexpr (Vectors == 0) {
      for (size_t round = 0; round < Rounds; ++round) lanes(p + 8 * Words * round, c0, c1, c2);
      return static_cast<CrcRegister>(crc_word(0, move_on<2 * kLane>(c0) ^ move_on<kLane>(c1)) ^
                                      c2);
    } else {
      const V k = factors<D, Vectors * kVector>();
      V sums[Vectors];
      for (V& sum : sums) sum = load(std::exchange(folded, folded + kVector));
      for (size_t round = 0; round < Rounds; ++round) {
        for (V& sum : sums) {
          const V next =
              hn::Xor(Blocks::low(sum, k), load(std::exchange(folded, folded + kVector)));
          sum = hn::Xor(next, Blocks::high(sum, k));
        }
        lanes(p + 8 * Words * round, c0, c1, c2);
      }
      HWY_ALIGN uint64_t words[Vectors * kVector / 8];
      for (size_t i = 0; i < Vectors; ++i) hn::Store(sums[i], D(), words + i * kVector / 8);
      alignas(16) uint64_t pair[2];
      fold_to_pair(words, Vectors * kVector / 8, pair);
      const uint64_t moved =
          move_on<2 * kLane + kFolded>(c0) ^ move_on<kLane + kFolded>(c1) ^ move_on<kFolded>(c2);
      return crc_word(crc_word(0, pair[0]), pair[1] ^ moved);
    }
  }

 private:
  static HWY_INLINE void lanes(const uint8_t* p, CrcRegister& c0, CrcRegister& c1,
                               CrcRegister& c2) {
    for (size_t i = 0; i < 8 * Words; i += 8) {
      c0 = crc_word(c0, load_word(p + i));
      c1 = crc_word(c1, load_word(p + kLane + i));
      c2 = crc_word(c2, load_word(p + 2 * kLane + i));
    }
  }
};

template <class Block>
HWY_INLINE CrcRegister run_all(CrcRegister crc, const uint8_t*& p, size_t& bytes) {
  for (; bytes >= Block::kBytes; bytes -= Block::kBytes, p += Block::kBytes) {
    crc = Block::run(crc, p);
  }
  return crc;
}
}  // namespace blocks

inline uint32_t crc32c_by_blocks(uint32_t crc, const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  CrcRegister wide = static_cast<uint32_t>(~crc);
  // Long blocks while there is plenty, shorter ones for the rest.
  wide = blocks::run_all<blocks::Block<Blocks::kVectors, Blocks::kWords, 64>>(wide, p, bytes);
  wide = blocks::run_all<blocks::Block<Blocks::kVectors, Blocks::kWords, 4>>(wide, p, bytes);
  wide = blocks::run_all<blocks::Block<0, 2, 8>>(wide, p, bytes);
  for (; bytes >= 8; bytes -= 8, p += 8) wide = crc_word(wide, blocks::load_word(p));
  crc = static_cast<uint32_t>(wide);
  for (; bytes != 0; --bytes, ++p) crc = crc_byte(crc, *p);
  return ~crc;
}
