// Two ranks that come to terms about memory without a name (MemoryWay::kHanded): what they say, cut
// and garbled; ends that lie, say no, and are killed in between. No descriptor and no file stays.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/descriptors_linux.h"
#include "transport/memory/memory.h"
#include "transport/shm/handover.h"
#include "transport/shm/shm.h"
#include "transport/shm/shm_terms.h"
#include "transport/tcp/tcp_stream.h"

namespace plumbline {
namespace {

using test::there;
using testing::AnyOf;
using testing::HasSubstr;

constexpr size_t kRing = 4096;
constexpr size_t kMemory = ShmSheet::kBytes + 2 * kRing;
using End = std::unique_ptr<ByteStream>;
using Said = std::vector<std::byte>;
using Stays = std::function<void(const std::string&)>;

End rank_over(End connection, int self, Stays stays = nullptr, MemoryWay way = MemoryWay::kHanded,
              const std::string& realm = "here") {
  return make_shm_stream(std::move(connection), self, 1 - self, kRing, realm, nullptr,
                         std::move(stays), {}, way);
}

Said words_from(ByteStream& stream) {
  Said all(4096);
  const iovec room{all.data(), all.size()};
  all.resize(stream.read_some({&room, 1}).value_or(0));
  return all;
}

void speak(ByteStream& stream, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  EXPECT_EQ(stream.write_some({&part, 1}).value_or(0), bytes.size());
}

std::string path_of(std::span<const std::byte> offer) {
  return Handover(decode_shm_offer(offer)->nonce, Handover::Part::kConnects).path();
}

// Both ranks, and somebody on the connection between them.
struct Between {
  explicit Between(MemoryWay of_lower = MemoryWay::kHanded,
                   MemoryWay of_higher = MemoryWay::kHanded, bool may_stay = false) {
    auto [lower_end, at_lower_end] = make_memory_streams(0, 1, 4096);
    auto [at_higher_end, higher_end] = make_memory_streams(0, 1, 4096);
    at_lower = std::move(at_lower_end);
    at_higher = std::move(at_higher_end);
    const Stays stays = [this](const std::string& why) { said_why.push_back(why); };
    lower = rank_over(std::move(lower_end), 0, may_stay ? stays : nullptr, of_lower);
    higher = rank_over(std::move(higher_end), 1, may_stay ? stays : nullptr, of_higher);
  }
  // Carries what is said next, if anything is, from one to the other as `change` makes it.
  bool carry(const std::function<void(Said&)>& change = nullptr) {
    static_cast<void>(lower->ready());
    static_cast<void>(higher->ready());
    for (const bool up : {true, false}) {
      Said said = words_from(up ? *at_lower : *at_higher);
      if (said.empty()) continue;
      if (words == 0) path = path_of(said);
      ++words;
      if (change) change(said);
      speak(up ? *at_higher : *at_lower, said);
      return true;
    }
    return false;
  }
  // The error of the one to which it first happened.
  std::optional<Error> error() {
    for (ByteStream* end : {lower.get(), higher.get()}) {
      if (const Expected<bool> ready = end->ready(); !ready) return ready.error();
    }
    return std::nullopt;
  }
  bool both_share() {
    return lower->ready().value_or(false) && higher->ready().value_or(false) &&
           lower->peer_memory() != nullptr && higher->peer_memory() != nullptr;
  }

  std::vector<std::string> said_why;
  End at_lower, at_higher, lower, higher;
  std::string path;
  size_t words = 0;
};

TEST(ShmHanded, FourWordsAndTheyShare) {
  const size_t open = test::open_descriptors();
  {
    Between pair;
    ASSERT_TRUE(pair.carry());
    EXPECT_FALSE(there(pair.path));
    static_cast<void>(pair.higher->ready());
    EXPECT_TRUE(there(pair.path)) << "one listens";
    ASSERT_TRUE(pair.carry());
    static_cast<void>(pair.lower->ready());
    EXPECT_FALSE(there(pair.path)) << "the other has come";
    while (pair.carry()) {
    }
    EXPECT_EQ(pair.words, 4u);
    EXPECT_TRUE(pair.both_share());
    for (ByteStream* from : {pair.lower.get(), pair.higher.get()}) {
      speak(*from, Said(3, std::byte{42}));
      EXPECT_EQ(words_from(from == pair.lower.get() ? *pair.higher : *pair.lower),
                Said(3, std::byte{42}));
    }
  }
  EXPECT_EQ(test::open_descriptors(), open);
}

// Each of the four, at every byte: nobody shares anything, and nothing stays.
TEST(ShmHanded, GarbledWordsAreErrorsAndLeaveNothing) {
  const size_t open = test::open_descriptors();
  for (size_t word = 0; word < 4; ++word) {
    const size_t length = word == 0 ? kShmOfferBytes : kPairAnswerBytes;
    for (size_t at = 0; at < length; ++at) {
      std::string path;
      {
        Between pair;
        for (size_t i = 0; i < word; ++i) ASSERT_TRUE(pair.carry());
        ASSERT_TRUE(pair.carry([at](Said& said) { said.at(at) ^= std::byte{0x80}; }));
        path = pair.path;
        while (pair.carry()) {
        }
        EXPECT_FALSE(pair.both_share()) << "word " << word << ", byte " << at;
        const std::optional<Error> error = pair.error();
        ASSERT_TRUE(error) << "word " << word << ", byte " << at;
        EXPECT_THAT(error->code, AnyOf(ErrorCode::kProtocol, ErrorCode::kUnsupported));
        if (word > 0) {
          EXPECT_EQ(error->code, ErrorCode::kProtocol) << error->message();
        }
      }
      EXPECT_FALSE(there(path)) << "word " << word << ", byte " << at;
    }
  }
  EXPECT_EQ(test::open_descriptors(), open);
}

// The two go on over their connection, whoever of them cannot, and both know why.
TEST(ShmHanded, ANoOfEitherEndLeavesTheConnection) {
  for (const bool lower_cannot : {true, false}) {
    Between pair(MemoryWay::kHanded, MemoryWay::kHanded, true);
    ASSERT_TRUE(pair.carry());
    static_cast<void>(pair.higher->ready());
    if (lower_cannot) {
      ASSERT_EQ(::unlink(pair.path.c_str()), 0);  // it finds nobody there
    } else {
      ASSERT_TRUE(pair.carry());
      ASSERT_TRUE(pair.carry([](Said& said) { said = encode_pair_answer("no such memory"); }));
    }
    while (pair.carry()) {
    }
    if (!lower_cannot) {  // what it was told in the other's place
      EXPECT_FALSE(pair.lower->ready().value_or(true));
      speak(*pair.at_lower, encode_pair_answer("no such memory"));
    }
    ASSERT_TRUE(pair.lower->ready().value_or(false));
    ASSERT_TRUE(pair.higher->ready().value_or(false));
    ASSERT_EQ(pair.said_why.size(), 2u);
    EXPECT_EQ(pair.said_why[0], pair.said_why[1]);
    EXPECT_THAT(pair.said_why[0],
                HasSubstr(lower_cannot ? "connect to /tmp/plumbline-" : "no such"));
    speak(*pair.lower, Said(3, std::byte{42}));
    EXPECT_EQ(words_from(*pair.at_lower), Said(3, std::byte{42}));
    EXPECT_FALSE(there(pair.path));
  }
}

// Nobody makes a file for a pair that cannot share memory anyway.
TEST(ShmHanded, RanksThatGiveMemoryInDifferentWaysSayNo) {
  for (const bool lower_hands : {true, false}) {
    Between pair(lower_hands ? MemoryWay::kHanded : MemoryWay::kNamed,
                 lower_hands ? MemoryWay::kNamed : MemoryWay::kHanded);
    while (pair.carry()) {
    }
    EXPECT_EQ(pair.words, 2u);
    for (ByteStream* end : {pair.lower.get(), pair.higher.get()}) {
      ASSERT_FALSE(end->ready());
      EXPECT_EQ(end->ready().error().code, ErrorCode::kUnsupported);
      EXPECT_THAT(end->ready().error().what, HasSubstr("the other hands it over"));
    }
    EXPECT_FALSE(there(pair.path));
  }
}

// ---- a lower rank that lies ----

struct Lie {
  const char* what;
  uint64_t id, bytes;
  int descriptor;
  bool proves;
};

TEST(ShmHanded, WhateverElseIsHandedOverIsRefused) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reading(ends[0]), writing(ends[1]);
  const SharedMemory small = *SharedMemory::create(kMemory - 4096);
  const SharedMemory other = *SharedMemory::create(kMemory);  // no sheet of theirs in it
  const Fd unsealed(::memfd_create("unsealed", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(unsealed.get(), kMemory), 0);
  for (const Lie& lie : {Lie{"a pipe", 0, kMemory, reading.get(), true},
                         Lie{"too small", 0, kMemory, small.descriptor(), true},
                         Lie{"said to be smaller", 0, kMemory - 4096, small.descriptor(), true},
                         Lie{"may shrink", 0, kMemory, unsealed.get(), true},
                         Lie{"another one", 0, kMemory, other.descriptor(), true},
                         Lie{"an array's", 5, kMemory, other.descriptor(), true},
                         Lie{"of somebody else", 0, kMemory, other.descriptor(), false},
                         Lie{"nothing", 0, 0, -1, true}}) {
    const size_t open = test::open_descriptors();
    std::string path;
    {
      auto [liar, honest] = make_memory_streams(0, 1, 4096);
      const End higher = rank_over(std::move(honest), 1);
      const Digest nonce = random_token();
      Handover over(nonce, Handover::Part::kConnects);
      path = over.path();
      speak(*liar, encode_shm_offer({sha256("here"), {}, kRing, nonce}));
      ASSERT_FALSE(higher->ready().value_or(true));
      ASSERT_TRUE(decode_pair_answer(words_from(*liar)).value_or("nothing").empty());
      EXPECT_TRUE(there(path));
      if (lie.descriptor >= 0 && lie.proves) {
        ASSERT_TRUE(over.meet());
        ASSERT_TRUE(over.send(lie.id, lie.bytes, lie.descriptor));
      }
      speak(*liar, encode_pair_answer(""));
      const Expected<bool> ready = higher->ready();
      ASSERT_FALSE(ready) << lie.what;
      EXPECT_EQ(ready.error().code, ErrorCode::kUnsupported) << ready.error().message();
      EXPECT_FALSE(decode_pair_answer(words_from(*liar)).value_or("").empty()) << lie.what;
    }
    EXPECT_FALSE(there(path)) << lie.what;
    EXPECT_EQ(test::open_descriptors(), open) << lie.what;
  }
}

// ---- killed in between ----

std::array<Fd, 2> socket_pair() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

// A rank of its own that goes on until `over` says so, and is then killed.
[[noreturn]] void be_killed(Fd connection, int self,
                            const std::function<bool(const Expected<bool>&)>& over) {
  const End rank = rank_over(make_tcp_stream(std::move(connection), "the other"), self);
  for (const Deadline deadline = Deadline::after_ms(10'000); !deadline.passed();) {
    if (over(rank->ready())) ::raise(SIGKILL);
  }
  ::_exit(1);
}

// What the lower one has said, and still has not been taken.
Said offer_in(int connection) {
  Said offer(kShmOfferBytes);
  for (const Deadline deadline = Deadline::after_ms(10'000); !deadline.passed();) {
    const ssize_t got = ::recv(connection, offer.data(), offer.size(), MSG_PEEK);
    if (got == static_cast<ssize_t>(offer.size())) return offer;
  }
  ADD_FAILURE() << "nothing was offered";
  return offer;
}

bool ready_in_the_end(ByteStream& rank) {
  Expected<bool> ready = false;
  for (const Deadline deadline = Deadline::after_ms(10'000);
       ready && !*ready && !deadline.passed();)
    ready = rank.ready();
  return ready.value_or(false);
}

int ended(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

// With its file there: the other one takes it away.
TEST(ShmHanded, AHigherRankKilledWhileItListensLeavesNothing) {
  auto [first, second] = socket_pair();
  std::string path;
  {
    const End lower = rank_over(make_tcp_stream(std::move(first), "rank 1"), 0);
    EXPECT_FALSE(lower->ready().value_or(true));
    path = path_of(offer_in(second.get()));
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      be_killed(std::move(second), 1, [&](const Expected<bool>&) { return there(path); });
    second.reset();
    EXPECT_EQ(ended(child), SIGKILL);
    EXPECT_TRUE(there(path)) << "or this test shows nothing";
    EXPECT_FALSE(ready_in_the_end(*lower));
  }
  EXPECT_FALSE(there(path));
}

// Before it comes to where the other one listens.
TEST(ShmHanded, ALowerRankKilledBeforeItConnectsLeavesNothing) {
  auto [first, second] = socket_pair();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    second.reset();
    be_killed(std::move(first), 0, [](const Expected<bool>&) { return true; });
  }
  first.reset();
  const std::string path = path_of(offer_in(second.get()));
  EXPECT_EQ(ended(child), SIGKILL);
  const End higher = rank_over(make_tcp_stream(std::move(second), "rank 0"), 1);
  EXPECT_FALSE(ready_in_the_end(*higher));
  EXPECT_FALSE(there(path));
}

TEST(ShmHanded, ARankKilledOnceTheyShareLeavesNothing) {
  for (const int victim : {0, 1}) {
    std::array<Fd, 2> ends = socket_pair();
    End rank;
    std::string path;
    if (victim == 1) {  // the lower one speaks first
      rank = rank_over(make_tcp_stream(std::move(ends[0]), "rank 1"), 0);
      EXPECT_FALSE(rank->ready().value_or(true));
      path = path_of(offer_in(ends[1].get()));
    }
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (victim == 0) ends[1].reset();
      be_killed(std::move(ends[static_cast<size_t>(victim)]), victim,
                [](const Expected<bool>& ready) { return ready.value_or(false); });
    }
    ends[static_cast<size_t>(victim)].reset();
    if (victim == 0) {
      path = path_of(offer_in(ends[1].get()));
      rank = rank_over(make_tcp_stream(std::move(ends[1]), "rank 0"), 1);
    }
    EXPECT_TRUE(ready_in_the_end(*rank));
    EXPECT_EQ(ended(child), SIGKILL);
    EXPECT_FALSE(there(path));
  }
}

}  // namespace
}  // namespace plumbline
