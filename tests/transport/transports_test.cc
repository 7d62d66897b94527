// The table of transports: every row is claimed and opened through it, and what ranks say of
// themselves is read by their row alone.
#include "transport/transports.h"

#include <gmock/gmock.h>

#include <fstream>
#include <random>

#include "tests/support/opened_world.h"
#include "tests/support/sanitized.h"
#include "tests/transport/tcp_world.h"

namespace plumbline {
namespace {

using test::exchange;
using test::run_ranks;
using testing::AllOf;
using testing::HasSubstr;

const TransportRow& row_of(const char* name) { return **find_transport(name, true); }

TEST(Transports, EveryRowIsClaimedAndOpenedThroughTheTable) {
  for (const TransportRow& row : transport_table()) {
    for (const int ranks : {1, 2, 5}) {
      OpenedWorld world;
      std::string wrong;
      auto groups = open_all(row, ranks, world, wrong);
      ASSERT_EQ(wrong, "") << row.name;
      run_ranks(groups, [&](Group& group) {
        EXPECT_EQ(group.transport_name(), row.name);
        EXPECT_EQ(group.size(), ranks);
        EXPECT_TRUE(exchange(group, 100'000, 1)) << row.name;
      });
    }
  }
}

TEST(Transports, ARowIsFoundByItsNameAndByWhereRanksRun) {
  EXPECT_STREQ((*find_transport("auto", false))->name, "auto");
  EXPECT_STREQ((*find_transport("auto", true))->name, "tcp");
  EXPECT_STREQ((*find_transport("memory", true))->name, "memory");
  const auto refused = find_transport("memory", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message(), HasSubstr("--ranks-in-process"));
  EXPECT_THAT(find_transport("tpc", true).error().message(), HasSubstr("\"tcp\""));
}

TEST(Transports, TheOptionMayBeAutoAndEveryNameOfTheTable) {
  std::vector<std::string> names = {"auto"};
  for (const TransportRow& row : transport_table()) names.emplace_back(row.name);
  EXPECT_EQ(transport_choices().at("transport"), names);
  const OptionSet options(transport_choices());
  for (const std::string& name : names) EXPECT_TRUE(options.with("transport", name, "test"));
  const auto wrong = options.with("transport", "pigeon", "test");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("auto, tcp, shm, rdma, memory"));
}

TEST(Transports, OnlyThoseThatListenTakePorts) {
  EXPECT_TRUE(row_of("tcp").takes_ports);
  EXPECT_FALSE(row_of("memory").takes_ports);
  EXPECT_TRUE(row_of("tcp").takes_streams);
  EXPECT_FALSE(row_of("shm").takes_streams);
}

TEST(TcpEndpointBytes, ComeBackAsTheyWere) {
  TcpEndpoint said{3, "mini3", {{"fe80::1", 64, "en4"}, {"10.0.0.1", -1, ""}}, 29603};
  for (const bool with_realm : {false, true}) {
    said.abilities = {{"shm", {}, "no memory"}, {"rdma", {}, ""}};
    if (with_realm) said.abilities[1].realm = sha256("here");
    said.rdma_devices = {{}, {"rdma_en4", "rdma_en5"}};
    const auto back = read_endpoint(endpoint_bytes(said), "rank 3");
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(back->addresses, said.addresses);
    EXPECT_EQ(back->port, said.port);
    EXPECT_EQ(back->abilities, said.abilities);
    EXPECT_EQ(back->rdma_devices, said.rdma_devices);
  }
  EXPECT_TRUE(read_endpoint(endpoint_bytes({}), "nobody"));
}

TEST(TcpEndpointBytes, ThoseOfStrangersAreRefusedAndNeverHarm) {
  const std::string good =
      endpoint_bytes({0, "", {{"10.0.0.1", 24, "eth0"}}, 29600, {{"shm", sha256("here"), ""}}});
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    const auto cut = read_endpoint(good.substr(0, bytes), "rank 1 on b");
    ASSERT_FALSE(cut) << bytes;
    EXPECT_EQ(cut.error().code, ErrorCode::kProtocol);
    EXPECT_THAT(cut.error().what, HasSubstr("rank 1 on b"));
  }
  EXPECT_FALSE(read_endpoint(good + "x", "r"));
  std::string odd = good;
  odd[odd.size() - 4 - 33] = 2;  // says whether a realm follows
  EXPECT_FALSE(read_endpoint(odd, "r"));
  EXPECT_FALSE(read_endpoint(std::string("\x00\x01\xff\xff", 4) + good, "r"));  // 65535 addresses
  EXPECT_FALSE(read_endpoint(endpoint_bytes({0, "", {{"10.0.0.1", 129, ""}}, 1}), "r"));
  std::mt19937_64 random(20261123);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    const auto read = read_endpoint(bytes, "r");
    EXPECT_TRUE(!read || read->addresses.size() <= bytes.size() / 6);
  }
  const auto spoken =
      read_endpoint(endpoint_bytes({0, "", {{"10.0\n\x1b.1", 8, "e\x07"}}, 1}), "r");
  ASSERT_TRUE(spoken);
  EXPECT_EQ(spoken->addresses[0].ip, "10.0??.1");
  EXPECT_EQ(spoken->addresses[0].interface, "e?");
}

TEST(TcpClaim, BytesOfAnotherTransportAreRefusedWithTheRankThatSaidThem) {
  OpenedWorld world;
  std::string wrong;
  const Claims claims = claim_all(row_of("tcp"), 2, world, wrong);
  ASSERT_EQ(claims.size(), 2u) << wrong;
  GroupSpec spec = world.spec(0);
  spec.endpoints[1].claimed = "not yours";
  const auto group = claims[0]->open(spec);
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, ErrorCode::kProtocol);
  EXPECT_THAT(group.error().what, HasSubstr("rank 1 on here"));
  EXPECT_EQ(group.error().ranks, std::vector<int>{1});
  EXPECT_FALSE(row_of("tcp").claim({"nor this", &world.options, Deadline::after_ms(0), nullptr}));
}

// Every rank knows of every pair, so that all end at once and say the same.
TEST(ShmClaim, APairOfTwoMachinesIsNamedByAllRanks) {
  OpenedWorld world;
  world.heard = on_machines({0, 0, 1});
  std::string wrong;
  const Claims claims = claim_all(row_of("shm"), 3, world, wrong);
  ASSERT_EQ(claims.size(), 3u) << wrong;
  for (int rank = 0; rank < 3; ++rank) {
    const auto group = claims[static_cast<size_t>(rank)]->open(world.spec(rank));
    ASSERT_FALSE(group);
    EXPECT_EQ(group.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(group.error().message(),
                AllOf(HasSubstr("transport shm: rank 0 on here and rank 2 on here are on"),
                      HasSubstr("different machines"), HasSubstr("--transport auto")));
    EXPECT_EQ(group.error().ranks, (std::vector<int>{0, 2}));
  }
}

TEST(TcpClaim, IsOpenedOnce) {
  OpenedWorld world;
  std::string wrong;
  const Claims claims = claim_all(row_of("tcp"), 1, world, wrong);
  ASSERT_EQ(claims.size(), 1u) << wrong;
  EXPECT_TRUE(claims[0]->open(world.spec(0)));
  EXPECT_FALSE(claims[0]->open(world.spec(0)));
}

class ThreadsWorld : public testing::Test {
 protected:
  void claim(int ranks, const char* timeout = "20s") {
    world_.options = *world_.options.with("connect_timeout_ms", timeout, "test");
    std::string wrong;
    claims_ = claim_all(row_of("memory"), ranks, world_, wrong);
    ASSERT_EQ(wrong, "");
  }
  // Opens these ranks side by side; what each was told, empty = it has a group.
  std::vector<Error> open(const std::vector<GroupSpec>& specs) {
    std::vector<Error> errors(specs.size());
    std::vector<std::unique_ptr<Group>> groups(specs.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < specs.size(); ++i) {
      threads.emplace_back([&, i] {
        auto group = claims_[i]->open(specs[i]);
        if (group) {
          groups[i] = std::move(*group);
        } else {
          errors[i] = group.error();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

  OpenedWorld world_;
  Claims claims_;
};

TEST_F(ThreadsWorld, NeedsAMeeting) {
  const OptionSet options;
  const auto alone = row_of("memory").claim({"", &options, Deadline::after_ms(0), nullptr});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(alone.error().what, HasSubstr("--ranks-in-process"));
}

TEST_F(ThreadsWorld, RanksThatDoNotComeAreNamedAtTheDeadline) {
  claim(4, "300ms");
  const std::vector<Error> errors = open({world_.spec(0), world_.spec(2)});
  for (const Error& error : errors) {
    EXPECT_THAT(error.what, HasSubstr("these have not come: 1, 3"));
    EXPECT_EQ(error.cause, "rank.late");
    EXPECT_THAT(error.ranks, testing::IsSupersetOf({1, 3})) << "and maybe who said it first";
  }
}

TEST_F(ThreadsWorld, OtherOptionsAndOtherSizesAreNamed) {
  claim(2, "10s");
  const OptionSet other = *world_.options.with("chunk_bytes", "8Ki", "test");
  GroupSpec spec = world_.spec(1);
  spec.options = &other;
  std::thread first([&] {
    // The one that came first is told when the others go.
    GroupSpec mine = world_.spec(0);
    std::weak_ptr<ControlPlane> control;
    mine.started = [&](const auto& plane) {
      const auto group = claims_[1]->open(spec);
      ASSERT_FALSE(group);
      EXPECT_EQ(group.error().code, ErrorCode::kMismatch);
      EXPECT_THAT(group.error().what, HasSubstr("chunk_bytes"));
      GroupSpec smaller = world_.spec(0);
      smaller.size = 1;
      smaller.endpoints.pop_back();
      const auto counted = claims_[1]->open(smaller);
      ASSERT_FALSE(counted);
      EXPECT_THAT(counted.error().what, AllOf(HasSubstr("counts 1"), HasSubstr("counts 2")));
      const auto twice = claims_[1]->open(world_.spec(0));
      ASSERT_FALSE(twice);
      EXPECT_THAT(twice.error().what, HasSubstr("rank 0 is there twice"));
      plane->give_up({ErrorCode::kAborted, "the coordinator ended the group", 0, "", "rank.dead"});
    };
    const auto group = claims_[0]->open(mine);
    ASSERT_FALSE(group);
    EXPECT_EQ(group.error().what, "the coordinator ended the group");
  });
  first.join();
}

TEST_F(ThreadsWorld, StrangersWithAnotherTokenDoNotMeet) {
  claim(2, "200ms");
  GroupSpec stranger = world_.spec(1);
  stranger.token = random_token();
  for (const Error& error : open({world_.spec(0), stranger})) {
    EXPECT_THAT(error.what, HasSubstr("have not come"));
  }
}

TEST_F(ThreadsWorld, RanksThatAreApartHaveNoStream) {
  claim(3);
  std::vector<std::unique_ptr<Group>> groups(3);
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      GroupSpec spec = world_.spec(static_cast<int>(rank));
      spec.apart = {{0, 2}};
      auto group = claims_[rank]->open(spec);
      ASSERT_TRUE(group) << group.error().message();
      groups[rank] = std::move(*group);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(groups[0]->channel(2, Deadline::after_ms(1)));
  EXPECT_TRUE(groups[0]->channel(1, Deadline::after_ms(1)));
}

TEST_F(ThreadsWorld, AGroupOfTheSameMeetingFollowsTheOneBefore) {
  for (int round = 0; round < 3; ++round) {
    OpenedWorld& world = world_;
    world.endpoints.clear();
    std::string wrong;
    auto groups = open_all(row_of("memory"), 3, world, wrong);
    ASSERT_EQ(wrong, "") << round;
    run_ranks(groups, [](Group& group) { EXPECT_TRUE(exchange(group, 1000, 1)); });
  }
}

TEST_F(ThreadsWorld, SixtyFourRanksDoNotTakeTheMemoryOfRingsThatNobodyUses) {
  const auto resident_mb = [] {
    std::ifstream statm("/proc/self/statm");
    size_t total = 0, resident = 0;
    statm >> total >> resident;
    return resident * 4096 / 1'000'000;
  };
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer's own memory counts too";
  if (resident_mb() == 0) GTEST_SKIP() << "this system does not tell what memory is used";
  const size_t before = resident_mb();
  std::string wrong;
  const auto groups = open_all(row_of("memory"), 64, world_, wrong);
  ASSERT_EQ(wrong, "");
  constexpr size_t kRingsMb = 64 * 63;  // 1 MiB for each direction of each pair
  EXPECT_LT(resident_mb(), before + kRingsMb / 10);
}

}  // namespace
}  // namespace plumbline
