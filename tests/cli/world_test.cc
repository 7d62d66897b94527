#include "cli/world.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/port_window.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

// A listener of this test's own.
class BusyPort {
 public:
  explicit BusyPort(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    taken_ = bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
             listen(fd_.get(), 1) == 0;
  }
  bool taken() const { return taken_; }

 private:
  Fd fd_;
  bool taken_;
};

OptionSet with_port_base(const std::string& text) {
  return *OptionSet().with("port_base", text, "test");
}

TEST(PortWindow, BusyPortIsNamedWithItsOwner) {
  const BusyPort busy(24302);
  ASSERT_TRUE(busy.taken());
  const Expected<int> base = choose_port_base(with_port_base("24300"), local_hosts(1), 4);
  ASSERT_FALSE(base);
  EXPECT_EQ(base.error().cause, "tcp.port_in_use");
  EXPECT_NE(base.error().what.find("24302"), std::string::npos) << base.error().what;
  EXPECT_NE(base.error().what.find(std::to_string(getpid())), std::string::npos)
      << base.error().what;
  EXPECT_EQ(choose_port_base(with_port_base("24303"), local_hosts(1), 4).value(), 24303);
}

TEST(PortWindow, BeyondTheLastPort) {
  EXPECT_FALSE(choose_port_base(with_port_base("65535"), local_hosts(1), 2));
}

TEST(PortWindow, AutoFindsAWindowThatIsFree) {
  const Expected<int> first = choose_port_base(with_port_base("auto"), local_hosts(1), 4);
  ASSERT_TRUE(first) << first.error().message();
  const BusyPort busy(*first + 1);
  if (!busy.taken()) GTEST_SKIP() << "another program took the port meanwhile";
  const Expected<int> second = choose_port_base(with_port_base("auto"), local_hosts(1), 4);
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second <= *first + 1 && *first + 1 < *second + 4);
}

TEST(World, MeasuresRestartsAndEnds) {
  WorldSpec spec;
  spec.reach.program = PLUMBLINE_BINARY;
  spec.hosts = local_hosts(1);
  spec.options = with_port_base("auto");
  World world(spec);
  ASSERT_TRUE(world.ensure_world({2, "tcp", {}, "", ""}));
  const int64_t first_pid = world.place(0).pid;
  Cell cell;
  cell.kind = "check";
  cell.op = "allreduce";
  cell.transport = "tcp";
  cell.ranks = 2;
  cell.bytes = 4096;
  const Expected<Measurement> measured = world.run(cell, MeasureSettings());
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_EQ(measured->wrong, 0u);
  EXPECT_EQ(world.place(0).pid, first_pid);
  // Another world size, or options of a cell's own, need new ranks.
  cell.ranks = 3;
  ASSERT_TRUE(world.run(cell, MeasureSettings()));
  EXPECT_NE(world.place(0).pid, first_pid);
  cell.params = {{"chunk_bytes", "4096"}};
  const Expected<Measurement> small_chunks = world.run(cell, MeasureSettings());
  ASSERT_TRUE(small_chunks);
  EXPECT_EQ(small_chunks->resolved.chunk_bytes, 4096u);
  EXPECT_EQ(world.environment().hosts.size(), 1u);
}

}  // namespace
}  // namespace plumbline
