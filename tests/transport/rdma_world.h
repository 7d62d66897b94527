// Worlds over a verbs library without hardware, for tests of the transport `rdma`.
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/fake_verbs/fake_verbs.h"
#include "tests/support/opened_world.h"
#include "tests/support/program.h"
#include "tests/transport/connected_pair.h"
#include "tests/transport/tcp_world.h"
#include "transport/rdma/rdma.h"
#include "transport/rdma/rdma_stream.h"

namespace plumbline::test {

using Groups = std::vector<std::unique_ptr<Group>>;

inline const TransportRow& rdma_row() { return **find_transport("rdma", false); }
inline const TransportRow& auto_row() { return **find_transport("auto", false); }

inline constexpr const char* kMac =
    "device rdma_en1\ngid 0 fe80::1\ngid 1 ::ffff:127.0.0.1\nrc refused\n";
// A card that does both types of queue pairs.
inline constexpr const char* kCard = "device mlx5_0\ngid 3 ::ffff:127.0.0.1\n";

class Rdma : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(fake_verbs_left(), 0); }
  void TearDown() override {
    unsetenv("FAKE_VERBS");
    EXPECT_EQ(fake_verbs_left(), 0);
  }

  void use(const std::string& settings) {
    setenv("FAKE_VERBS", folder_.write("settings", settings).c_str(), 1);
  }
  static void set(OpenedWorld& world, const std::string& option, const std::string& value) {
    world.options = *world.options.with(option, value, "test");
  }
  // What opening a world of two says, over `row`.
  static std::string refusal(const TransportRow& row, OpenedWorld& world) {
    std::string wrong;
    open_all(row, 2, world, wrong);
    return wrong;
  }

  ScratchFolder folder_;
};

// Makes one rail on a device, as RdmaTerms wants it.
inline std::function<Expected<RdmaRails>()> rails_on(const std::string& device,
                                                     const RdmaOptions& options = {}) {
  return [device, options]() -> Expected<RdmaRails> {
    const std::shared_ptr<const Verbs> verbs = *shared_verbs(fake_verbs_library());
    static_cast<void>(rdma_devices(*verbs));  // the library reads its settings then
    auto port = RdmaPort::open(verbs, device, options);
    if (!port) return fail(port.error());
    auto rail = RdmaRail::create(*port, 32, "the other rank");
    if (!rail) return fail(rail.error());
    RdmaRails rails;
    rails.push_back(std::move(*rail));
    return rails;
  };
}

inline void exchange_all(Groups& groups, const std::vector<size_t>& sizes) {
  run_ranks(groups, [&](Group& group) {
    uint32_t sequence = 0;
    for (const size_t bytes : sizes) {
      const Status status = exchange(group, bytes, ++sequence);
      ASSERT_TRUE(status) << status.error().message();
    }
    EXPECT_EQ(group.transport_name(), "rdma");
  });
}

inline const std::vector<size_t> kSizes = {1,       16,      4080,      4081,     4096,
                                           131'056, 131'057, 1'000'003, 5'000'000};

}  // namespace plumbline::test
