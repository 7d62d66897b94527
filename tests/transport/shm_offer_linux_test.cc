// What two ranks say when they come to terms about shared memory, cut and garbled at every byte,
// and offers of memory that is none (any more): every time an error at both ends, at once, and
// nothing but the memory that was offered is ever mapped.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "core/fd.h"
#include "tests/support/own_threads_linux.h"
#include "transport/control/wire.h"
#include "transport/memory/memory.h"
#include "transport/shm/shared_memory.h"
#include "transport/shm/shm.h"

namespace plumbline {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr size_t kOfferedRing = 4096;
using End = std::unique_ptr<ByteStream>;
using Said = std::vector<std::byte>;

// The pair's first connection, as far as it matters here: bytes in order, and an end.
std::pair<End, End> plain_connection() { return make_memory_streams(0, 1, 4096); }

// `stays`: the pair may go on over the connection.
End shared_over(End connection, int self, std::function<void(const std::string&)> stays = nullptr) {
  return make_shm_stream(std::move(connection), self, 1 - self, kOfferedRing, "here", nullptr,
                         std::move(stays));
}

Said heard(ByteStream& stream) {
  Said all(4096);
  const iovec room{all.data(), all.size()};
  all.resize(stream.read_some({&room, 1}).value_or(0));
  return all;
}

void say(ByteStream& stream, std::span<const std::byte> bytes) {
  const iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  EXPECT_EQ(stream.write_some({&part, 1}).value_or(0), bytes.size());
}

// What the higher rank makes of an offer, and what it says. `ends`: the connection ends behind it.
Expected<bool> answer_to(std::span<const std::byte> offer, bool ends = false,
                         Said* answer = nullptr) {
  auto [liar, honest] = plain_connection();
  const End higher = shared_over(std::move(honest), 1);
  say(*liar, offer);
  if (ends) liar->close();
  Expected<bool> ready = higher->ready();
  if (answer != nullptr) *answer = heard(*liar);
  return ready;
}

// A lower rank that offers memory, what it said, and what an honest higher one would answer.
struct Offering {
  Offering() {
    auto [mine, theirs] = plain_connection();
    lower = shared_over(std::move(mine), 0);
    EXPECT_FALSE(lower->ready().value_or(true));
    connection = std::move(theirs);
    offer = heard(*connection);
    EXPECT_TRUE(answer_to(offer, false, &consent).value_or(false));
    EXPECT_FALSE(consent.empty());
  }
  // Where in the offer the key stands, a process and a descriptor; the memory's size in bytes.
  size_t key_at() const {
    const auto own = key_bytes({static_cast<uint64_t>(::getpid()), 0});
    const auto at = std::search(offer.begin(), offer.end(), own.begin(), own.begin() + 8);
    EXPECT_NE(at, offer.end());
    return static_cast<size_t>(at - offer.begin());
  }
  size_t memory_bytes() const {
    WireReader in{std::span<const std::byte>(offer).subspan(key_at())};
    in.u64();
    struct stat info {};
    EXPECT_EQ(::fstat(static_cast<int>(in.u64()), &info), 0);
    return static_cast<size_t>(info.st_size);
  }
  static Said key_bytes(const SharedMemoryName& name) {
    WireWriter out;
    out.u64(name.a);
    out.u64(name.b);
    return out.take();
  }

  End lower, connection;
  Said offer, consent;
};

TEST(ShmOffer, TornAtEveryByteIsALostPeer) {
  const Offering offering;
  for (size_t bytes = 0; bytes < offering.offer.size(); ++bytes) {
    const std::span<const std::byte> torn = std::span(offering.offer).first(bytes);
    const Expected<bool> waits = answer_to(torn);
    EXPECT_TRUE(waits && !*waits) << bytes << " bytes";
    const Expected<bool> over = answer_to(torn, true);
    ASSERT_FALSE(over) << bytes << " bytes";
    EXPECT_EQ(over.error().code, ErrorCode::kPeerLost);
  }
}

TEST(ShmOffer, GarbledAtEveryByteIsRefused) {
  Offering offering;
  const size_t key_at = offering.key_at();
  for (size_t at = 0; at < offering.offer.size(); ++at) {
    for (const uint8_t change : {0x01, 0x10, 0x80, 0xff}) {
      Said garbled = offering.offer;
      garbled[at] ^= std::byte{change};
      const std::span<const std::byte> key = std::span(garbled).subspan(key_at);
      if (at - key_at < sizeof(uint64_t) && test::is_own_thread(WireReader(key).u64())) continue;
      const Expected<bool> ready = answer_to(garbled);
      ASSERT_FALSE(ready) << "byte " << at;
      EXPECT_THAT(ready.error().code, AnyOf(ErrorCode::kProtocol, ErrorCode::kUnsupported))
          << "byte " << at << ": " << ready.error().message();
    }
  }
  EXPECT_TRUE(answer_to(offering.offer).value_or(false)) << "and the true one still is not";
}

TEST(ShmAnswer, TornAtEveryByteIsALostPeer) {
  const size_t length = Offering().consent.size();
  for (size_t bytes = 0; bytes < length; ++bytes) {
    const Offering offering;
    say(*offering.connection, std::span(offering.consent).first(bytes));
    const Expected<bool> waits = offering.lower->ready();
    EXPECT_TRUE(waits && !*waits) << bytes << " bytes";
    offering.connection->close();
    const Expected<bool> over = offering.lower->ready();
    ASSERT_FALSE(over) << bytes << " bytes";
    EXPECT_EQ(over.error().code, ErrorCode::kPeerLost);
  }
}

// Found by this test: whatever began with the right byte was taken for consent.
TEST(ShmAnswer, GarbledAtEveryByteIsNoConsent) {
  const size_t length = Offering().consent.size();
  for (size_t at = 0; at < length; ++at) {
    for (const uint8_t change : {0x01, 0x80}) {
      Offering offering;
      offering.consent[at] ^= std::byte{change};
      say(*offering.connection, offering.consent);
      const Expected<bool> ready = offering.lower->ready();
      ASSERT_FALSE(ready) << "byte " << at;
      EXPECT_EQ(ready.error().code, ErrorCode::kProtocol) << ready.error().message();
      EXPECT_THAT(ready.error().message(), HasSubstr("rank 1"));
    }
  }
  const Offering offering;
  say(*offering.connection, offering.consent);
  EXPECT_TRUE(offering.lower->ready().value_or(false));
}

// A pair that may stay on its connection does so for an honest no only.
TEST(ShmAnswer, GarbledIsAnErrorForAPairThatMayStayToo) {
  const size_t length = Offering().consent.size();
  for (size_t at = 0; at < length; ++at) {
    auto [mine, theirs] = plain_connection();
    bool stays = false;
    const End lower = shared_over(std::move(mine), 0, [&stays](const auto&) { stays = true; });
    EXPECT_FALSE(lower->ready().value_or(true));
    Said consent;
    EXPECT_TRUE(answer_to(heard(*theirs), false, &consent).value_or(false));
    consent[at] ^= std::byte{0x80};
    say(*theirs, consent);
    const Expected<bool> ready = lower->ready();
    ASSERT_FALSE(ready) << "byte " << at;
    EXPECT_EQ(ready.error().code, ErrorCode::kProtocol);
    EXPECT_FALSE(stays);
  }
}

// Both ends of a pair of which the higher one says no: what was sent before they knew arrives.
TEST(ShmAnswer, ANoLeavesTheConnectionWithAllThatFollows) {
  auto [mine, theirs] = plain_connection();
  std::string at_lower, at_higher;
  const End lower = shared_over(std::move(mine), 0, [&](const auto& why) { at_lower = why; });
  const End higher = make_shm_stream(std::move(theirs), 1, 0, kOfferedRing, "there", nullptr,
                                     [&](const auto& why) { at_higher = why; });
  EXPECT_EQ(higher->settled(), higher.get());
  EXPECT_FALSE(lower->ready().value_or(true));
  EXPECT_TRUE(higher->ready().value_or(false));
  const Said word(3, std::byte{42});
  say(*higher, word);  // behind its answer
  EXPECT_TRUE(lower->ready().value_or(false));
  EXPECT_EQ(heard(*lower), word);
  say(*lower, word);
  EXPECT_EQ(heard(*higher), word);
  EXPECT_THAT(at_lower, HasSubstr("different machines"));
  EXPECT_EQ(at_higher, at_lower);
  EXPECT_NE(lower->settled(), lower.get()) << "no step between any more";
  EXPECT_EQ(lower->peer_memory(), nullptr);
}

// ---- memory that is not what its key says ----

// Of another process, which holds it until this ends.
class OtherProcess {
 public:
  // `seals` < 0: none can be set at all.
  OtherProcess(size_t bytes, int seals) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd reading(ends[0]), writing(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // however the test ends
      const uint32_t flags = MFD_CLOEXEC | (seals < 0 ? 0u : MFD_ALLOW_SEALING);
      const int fd = ::memfd_create("other", flags);
      bool made = ::ftruncate(fd, static_cast<off_t>(bytes)) == 0;
      if (seals > 0) made = made && ::fcntl(fd, F_ADD_SEALS, seals) == 0;
      made = made && ::write(writing.get(), &fd, sizeof fd) == sizeof fd;
      if (!made) ::_exit(1);
      while (true) ::pause();
    }
    int fd = -1;
    EXPECT_EQ(::read(reading.get(), &fd, sizeof fd), static_cast<ssize_t>(sizeof fd));
    name_ = {static_cast<uint64_t>(pid_), static_cast<uint64_t>(fd)};
  }
  ~OtherProcess() { end(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  const SharedMemoryName& name() const { return name_; }

 private:
  pid_t pid_ = -1;
  SharedMemoryName name_;
};

constexpr int kRightSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr size_t kKeyed = 64 * 1024;  // bytes of the memory

struct StaleKey {
  const char* what;
  size_t bytes;
  int seals;
  bool ended;
};

TEST(ShmKey, OfMemoryThatIsGoneOrNotAsPromisedIsRefused) {
  for (const StaleKey& key : {
           StaleKey{"its process has ended", kKeyed, kRightSeals, true},
           StaleKey{"smaller", kKeyed - 4096, kRightSeals, false},
           StaleKey{"larger", kKeyed + 4096, kRightSeals, false},
           StaleKey{"empty", 0, kRightSeals, false},
           StaleKey{"not sealed", kKeyed, 0, false},
           StaleKey{"not to be sealed", kKeyed, -1, false},
           StaleKey{"may shrink", kKeyed, F_SEAL_GROW | F_SEAL_SEAL, false},
           StaleKey{"may be unsealed", kKeyed, F_SEAL_SHRINK | F_SEAL_GROW, false},
           StaleKey{"not to be written", kKeyed, kRightSeals | F_SEAL_WRITE, false},
       }) {
    OtherProcess other(key.bytes, key.seals);
    if (key.ended) other.end();
    EXPECT_FALSE(SharedMemory::open(other.name(), kKeyed)) << key.what;
  }
  // What all these lack: then it is opened.
  const OtherProcess right(kKeyed, kRightSeals);
  EXPECT_TRUE(SharedMemory::open(right.name(), kKeyed));
}

// The right size and seals, of a process of this user: but not what the offer was about.
TEST(ShmKey, OfAnotherMemoryIsRefusedByWhatStandsInIt) {
  Offering offering;
  const OtherProcess other(offering.memory_bytes(), kRightSeals);
  const Said key = Offering::key_bytes(other.name());
  std::copy(key.begin(), key.end(),
            offering.offer.begin() + static_cast<ptrdiff_t>(offering.key_at()));
  const Expected<bool> ready = answer_to(offering.offer);
  ASSERT_FALSE(ready);
  EXPECT_THAT(ready.error().message(), HasSubstr("not the one offered"));
}

// Its name is dropped with the answer: a late rank with the same offer finds nothing.
TEST(ShmKey, IsStaleOnceItWasUsed) {
  const Offering offering;
  say(*offering.connection, offering.consent);
  ASSERT_TRUE(offering.lower->ready().value_or(false));
  const Expected<bool> late = answer_to(offering.offer);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace plumbline
