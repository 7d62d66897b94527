// Messages and arrays of more than 4 GiB, where sizes and positions no longer fit in 32 bits. The
// arrays are one piece of memory that lies behind itself again and again, so they take addresses
// and hardly any memory. The piece is no power of two: bytes that come from, or go to, a place that
// is 2 or 4 GiB away are other bytes.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/fd.h"
#include "core/host/memory_left.h"
#include "tests/support/collective_case.h"
#include "tests/support/opened_world.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

constexpr size_t kPiece = 257 * 4096;
constexpr uint64_t kHuge = (uint64_t{4} << 30) + 100'003;
constexpr int64_t kHugePatienceMs = 120'000;
constexpr const char* kHugeCost = "gigabytes, and no step that smaller arrays do not take";

class RepeatedMemory {
 public:
  // `repeated` false: memory of its own everywhere.
  explicit RepeatedMemory(uint64_t bytes, bool repeated = true)
      : bytes_((bytes + kPiece - 1) / kPiece * kPiece) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const int access = repeated ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* const place = ::mmap(nullptr, bytes_, access, flags, -1, 0);
    if (place == MAP_FAILED) return;
    data_ = static_cast<uint8_t*>(place);
    if (!repeated) return;
    const Fd piece(::memfd_create("repeated", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(piece.get(), kPiece), 0);
    for (uint64_t at = 0; at < bytes_; at += kPiece) {
      EXPECT_EQ(::mmap(data_ + at, kPiece, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED | MAP_POPULATE, piece.get(), 0),
                data_ + at);
    }
  }
  ~RepeatedMemory() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  RepeatedMemory(const RepeatedMemory&) = delete;
  RepeatedMemory& operator=(const RepeatedMemory&) = delete;

  uint8_t* data() const { return data_; }
  // Different bytes at every place of the piece and of its neighbourhood.
  void fill() {
    uint64_t state = 20261125;
    for (size_t at = 0; at < kPiece; at += sizeof state) {
      state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX
      std::memcpy(data_ + at, &state, sizeof state);
    }
  }

 private:
  uint64_t bytes_;
  uint8_t* data_ = nullptr;
};

// Holds what comes against what was sent, and keeps nothing. Every second part is looked at where
// it lies.
class CompareSink : public RecvSink {
 public:
  explicit CompareSink(const uint8_t* sent) : sent_(sent), window_(64 * 1024) {}
  std::span<std::byte> window() override {
    return std::span(window_).first(std::min<uint64_t>(window_.size(), kHuge - got_));
  }
  void advance(size_t bytes) override { compare({window_.data(), bytes}); }
  size_t usable(std::span<const std::byte> bytes) override {
    return ++parts_ % 2 == 0 ? bytes.size() : 0;
  }
  void use(std::span<const std::byte> bytes) override { compare(bytes); }

  uint64_t got() const { return got_; }
  bool wrong() const { return wrong_; }

 private:
  void compare(std::span<const std::byte> bytes) {
    wrong_ = wrong_ || std::memcmp(bytes.data(), sent_ + got_, bytes.size()) != 0;
    got_ += bytes.size();
  }

  const uint8_t* const sent_;
  std::vector<std::byte> window_;
  uint64_t got_ = 0, parts_ = 0;
  bool wrong_ = false;
};

class GoneObserver : public SendObserver {
 public:
  void sent(uint64_t) override { gone = true; }
  bool gone = false;
};

TEST(Huge, AMessageOfMoreThan4GiBArrivesOverEveryTransport) {
  if (test::kSanitized) GTEST_SKIP() << kHugeCost;
  RepeatedMemory array(kHuge);
  array.fill();
  for (const TransportRow& row : transport_table()) {
    OpenedWorld opened;
    std::string wrong;
    World world = open_all(row, 2, opened, wrong);
    ASSERT_EQ(wrong, "") << row.name;
    const MessageTag name{1, 1, 0, 7};
    const std::string said =
        first_of(on_every_rank(world, [&](int rank, Group& group) -> std::string {
          const Deadline deadline = Deadline::after_ms(kHugePatienceMs);
          const Expected<Channel*> channel = group.channel(1 - rank, deadline);
          if (!channel) return channel.error().message();
          GoneObserver observer;
          CompareSink sink(array.data());
          if (rank == 0) {
            (*channel)->post_send(name, array.data(), kHuge, kHuge, &observer, 0);
          } else {
            (*channel)->post_recv(name, kHuge, &sink);
          }
          const Status done =
              group.wait([&] { return rank == 0 ? observer.gone : sink.got() == kHuge; }, deadline);
          if (!done) return done.error().message();
          return sink.wrong() ? "other bytes than were sent" : "";
        }));
    EXPECT_EQ(said, "") << row.name;
  }
}

// Sums over two ranks; `real`: the result of rank 0 has memory of its own and is looked at whole.
void sum_huge_arrays(const TransportRow& row, bool real) {
  RepeatedMemory in(kHuge), first(kHuge, !real), second(kHuge);
  ASSERT_TRUE(in.data() != nullptr && first.data() != nullptr && second.data() != nullptr);
  in.fill();
  std::vector<uint8_t> sums(kPiece);
  for (size_t i = 0; i < kPiece; ++i) sums[i] = static_cast<uint8_t>(2 * in.data()[i]);
  OperationSpec spec;
  spec.dtype = DType::kU8;
  spec.count = kHuge;
  OpenedWorld opened;
  std::string wrong;
  World world = open_all(row, 2, opened, wrong);
  ASSERT_EQ(wrong, "") << row.name;
  EXPECT_EQ(first_of(on_every_rank(world,
                                   [&](int rank, Group& group) {
                                     Executor executor(group, test_kernels());
                                     auto plan = executor.prepare(spec);
                                     if (!plan) return plan.error().message();
                                     const Status done = executor.run(
                                         **plan, in.data(), (rank == 0 ? first : second).data(),
                                         Deadline::after_ms(kHugePatienceMs));
                                     return done ? std::string() : done.error().message();
                                   })),
            "")
      << row.name;
  for (const RepeatedMemory* out : {&first, &second}) {
    const uint64_t looked_at = real && out == &first ? kHuge : kPiece;
    for (uint64_t at = 0; at < looked_at; at += kPiece) {
      const size_t bytes = std::min<uint64_t>(kPiece, looked_at - at);
      ASSERT_EQ(std::memcmp(out->data() + at, sums.data(), bytes), 0) << row.name << " at " << at;
    }
  }
}

TEST(Huge, ArraysOfMoreThan4GiBAreReduced) {
  if (test::kSanitized) GTEST_SKIP() << kHugeCost;
  sum_huge_arrays(**find_transport("memory", true), false);
}

TEST(Huge, EveryByteOfAResultOfMoreThan4GiBIsRightOverEveryTransport) {
  if (std::getenv("TEST_EXHAUSTIVE") == nullptr) {
    GTEST_SKIP() << "runs with ctest -L exhaustive (cmake -DPLUMBLINE_EXHAUSTIVE=ON)";
  }
  if (memory_left() < kHuge * 5 / 4) GTEST_SKIP() << "needs 5 GiB of memory that nobody uses";
  for (const TransportRow& row : transport_table()) sum_huge_arrays(row, true);
}

}  // namespace
}  // namespace plumbline
