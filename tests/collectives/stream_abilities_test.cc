// The same collectives over streams that can do more and less (bytes usable where they lie, only
// copied, or now so and now so; memory of the peer that is mapped, read or written, at once or
// late) and rings of sizes that fit nothing: smaller than a header, one byte beside a header or a
// cache line, no power of two. Everything wraps again and again.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/collective_case.h"
#include "tests/support/direct_stream.h"
#include "tests/support/row_share.h"
#include "tests/support/sanitized.h"
#include "tests/transport/channel_pair.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

// Shows less of what lies there than there is, a number of bytes that changes, and at times
// nothing.
class GlimpseStream : public ByteStream {
 public:
  explicit GlimpseStream(std::unique_ptr<ByteStream> inner) : inner_(std::move(inner)) {}
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    return inner_->write_some(buffers);
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    seen_ = 0;
    return inner_->read_some(buffers);
  }
  std::span<const std::byte> readable() override {
    const std::span<const std::byte> all = inner_->readable();
    // What was shown once stays.
    if (seen_ == 0) seen_ = random_() % 3 == 0 ? 0 : 1 + random_() % 3000;
    return all.first(std::min<size_t>(all.size(), seen_));
  }
  void consumed(size_t bytes) override {
    seen_ -= std::min(seen_, bytes);
    inner_->consumed(bytes);
  }
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    return inner_->add_to(poll, reads, writes);
  }
  StreamStats stats() const override { return inner_->stats(); }
  void close() override { inner_->close(); }

 private:
  const std::unique_ptr<ByteStream> inner_;
  std::minstd_rand random_{20261125};
  size_t seen_ = 0;
};

template <typename Stream>
std::unique_ptr<ByteStream> wrapped(int, int, std::unique_ptr<ByteStream> stream) {
  return std::make_unique<Stream>(std::move(stream));
}

struct AbilityRow {
  const char* name;
  StreamWrapper wrap;
};

struct RingRow {
  size_t ring_bytes, chunk_bytes;
  uint64_t most_count;  // elements; small where a ring is so small that more would take long
};

std::vector<OperationSpec> every_algorithm(int ranks, uint64_t most_count) {
  std::vector<OperationSpec> specs;
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{13}, most_count}) {
      OperationSpec spec;
      spec.op = algorithm.op;
      spec.algorithm = algorithm.name;
      spec.count = spec.op == Op::kBarrier ? 0 : count;
      spec.dtype = dtype_table()[specs.size() % dtype_table().size()].dtype;
      if (row(spec.op).reduces) spec.redop = redop_table()[specs.size() % 5].redop;
      if (!reduction_unsupported(spec.dtype, spec.redop).empty()) spec.redop = RedOp::kProduct;
      spec.in_place = allows_in_place(spec.op) && specs.size() % 2 == 0;
      spec.root = static_cast<int>(specs.size() % static_cast<size_t>(ranks));
      ScheduleRequest request;
      request.op = spec.op;
      request.redop = spec.redop;
      request.size = ranks;
      request.root = spec.root;
      request.count = spec.count;
      const bool possible = ranks >= row(spec.op).min_ranks;
      if (possible && find_algorithm(spec.algorithm, request)) specs.push_back(spec);
    }
  }
  return specs;
}

TEST(StreamAbilities, EveryAlgorithmIsRightWithEachAndOverRingsOfOddSizes) {
  const AbilityRow abilities[] = {
      {"used where it lies", nullptr},
      {"copied", wrapped<test::PlainStream>},
      {"a glimpse", wrapped<GlimpseStream>},
      {"taken where it lies", make_direct<DirectBy::kMap>},
      {"read", make_direct<DirectBy::kRead>},
      {"read late", make_direct<DirectBy::kLateRead>},
      {"mapped and read", make_direct<DirectBy::kMapAndLateRead>},
      {"written", make_direct<DirectBy::kWrite>},
      {"written late", make_direct<DirectBy::kLateWrite>},
  };
  constexpr RingRow kRings[] = {
      {1, 300, 40},
      {kFrameHeaderBytes - 1, 57, 301},
      {kFrameHeaderBytes, 64, 301},
      {kFrameHeaderBytes + 1, 4096, 301},
      {63, 100, 301},
      {65, 4096, 301},
      {1000, 1023, 5003},
      {4097, 4096, 20'011},
      {65'537, 256 * 1024, 200'003},
  };
  test::RowShare worlds(3), share;  // no common divisor: each case meets each world in its turn
  for (size_t i = 0; i < std::size(kRings); i += test::kSanitized ? 3 : 1) {
    const RingRow& ring = kRings[i];
    for (const AbilityRow& ability : abilities) {
      for (const int ranks : {2, 3}) {
        if (!worlds.runs(ability.name)) continue;
        ChannelOptions options;
        options.chunk_bytes = ring.chunk_bytes;
        options.crc = ranks == 3;
        options.direct_bytes = 1;  // means something to the streams with memory only
        World world = make_memory_groups(ranks, options, {0, true}, ring.ring_bytes, ability.wrap);
        std::vector<OperationSpec> specs;
        for (const OperationSpec& spec : every_algorithm(ranks, ring.most_count)) {
          if (share.runs(ability.name)) specs.push_back(spec);
        }
        EXPECT_EQ(run_all_verified(world, specs, 20261125), "")
            << ability.name << ", rings of " << ring.ring_bytes << " bytes, " << ranks << " ranks";
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
