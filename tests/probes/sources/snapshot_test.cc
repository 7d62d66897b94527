#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "core/fd.h"
#include "core/json.h"
#include "probes/sources/own_process.h"
#include "probes/sources/source.h"
#include "transport/rdma/verbs.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

const InterfaceEvidence* find(const HostEvidence& host, const std::string& kind) {
  for (const InterfaceEvidence& interface : host.interfaces) {
    if (interface.kind == kind) return &interface;
  }
  return nullptr;
}

TEST(Snapshot, OfThisMachineIsQuickAndFull) {
  SnapshotRequest request;
  request.ports = {29600};
  request.names = {"localhost"};
  request.buffer_bytes = 65536;
  const int64_t begin = monotonic_ns();
  const auto host = take_snapshot("here", request, Deadline::after_ms(10'000));
  const int64_t took = monotonic_ns() - begin;
  RecordProperty("milliseconds", static_cast<int>(took / kMillisecond));
  EXPECT_LT(took, 5 * kSecond);  // some 30 ms on an idle machine
  EXPECT_EQ(host.name, "here");
  EXPECT_EQ(host.source, "agent");
  EXPECT_EQ(host.system, own_system());
  EXPECT_EQ(host.uid, static_cast<int64_t>(geteuid()));
  EXPECT_FALSE(host.hostname.empty());
  EXPECT_FALSE(host.kernel.empty());
  EXPECT_FALSE(host.os.empty());
  EXPECT_GE(host.cores_usable, 1);
  EXPECT_TRUE(host.load1.has_value());
  ASSERT_NE(find(host, "loopback"), nullptr);
  EXPECT_EQ(host.buffers.asked, 65536);
  EXPECT_GE(host.buffers.send, 1024);
  ASSERT_EQ(host.names.size(), 2U);
  EXPECT_EQ(host.names[0].role, "own");
  EXPECT_EQ(host.names[1].of, "localhost");
  ASSERT_TRUE(host.rdma.has_value());
  EXPECT_TRUE(!host.rdma->library.empty() || !host.rdma->library_error.empty());
  EvidenceSet set;
  set.hosts.push_back(host);
  EXPECT_TRUE(parse_evidence(evidence_text(set)));
}

TEST(Snapshot, SeesOwnListenerWithProcessAndAge) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  socklen_t length = sizeof any;
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&any), &length);
  const auto host = take_snapshot("here", {}, Deadline::after_ms(10'000));
  for (const SocketEvidence& socket : host.sockets) {
    if (socket.port != ntohs(any.sin_port) || socket.state != "LISTEN") continue;
    EXPECT_EQ(socket.ip, "127.0.0.1");
    if (socket.pid == 0) GTEST_SKIP() << "this system does not show whose sockets they are";
    EXPECT_EQ(socket.pid, getpid());
    EXPECT_FALSE(socket.process.empty());
    EXPECT_TRUE(socket.age_s.has_value());
    return;
  }
  FAIL() << "the listener was not seen";
}

TEST(Snapshot, ReturnsAtItsDeadlineAndSaysWhatIsMissing) {
  const int64_t begin = monotonic_ns();
  const auto host = take_snapshot("here", {}, Deadline::after_ms(1));
  EXPECT_LT(monotonic_ns() - begin, 3 * kSecond);
  EXPECT_FALSE(host.unreadable.empty());
  EXPECT_FALSE(host.hostname.empty());
  EXPECT_NE(find(host, "loopback"), nullptr);  // the C library's list needs no tool
}

TEST(ResolveNames, TellsAddressesErrorsAndSkipsNumbers) {
  std::vector<NameEvidence> ask(4);
  ask[0].name = "localhost";
  ask[1].name = "10.10.0.1";
  ask[2].name = "";
  ask[3].name = "no such name";
  const auto names = resolve_names(ask, Deadline::after_ms(5'000));
  ASSERT_EQ(names.size(), 2U);
  EXPECT_TRUE(!names[0].v4.empty() || !names[0].v6.empty());
  EXPECT_EQ(names[0].error, "");
  EXPECT_FALSE(names[1].error.empty());
  const auto late = resolve_names({names[0]}, Deadline::after_ms(-1));
  ASSERT_EQ(late.size(), 1U);
  EXPECT_TRUE(late[0].error.empty() || late[0].error == "no answer in time");
  EXPECT_TRUE(resolve_names({}, Deadline::after_ms(0)).empty());
  EXPECT_EQ(
      resolve_names(std::vector<NameEvidence>(500, names[0]), Deadline::after_ms(5'000)).size(),
      64U);
}

TEST(LibraryFile, IsFoundWhereTheLoaderLooks) {
  EXPECT_EQ(library_file("libno-such-thing.so.1"), "");
  if (std::string(own_system()) != "linux") GTEST_SKIP() << "macOS keeps its libraries in a cache";
  EXPECT_NE(library_file("libc.so.6"), "");
  EXPECT_TRUE(loads_libraries());
}

TEST(Buffers, ZeroIsLeftToTheSystem) {
  EXPECT_EQ(try_buffers(0).send, 0);
  EXPECT_EQ(try_buffers(-5).asked, 0);
  const auto huge = try_buffers(int64_t{1} << 40);
  EXPECT_TRUE(!huge.error.empty() || huge.send < huge.asked);
  // What could be had, not the small buffer that a socket begins with.
  const uint64_t limit = socket_buffer_limit(SO_SNDBUF);
  if (huge.error.empty() && limit > 0) {
    EXPECT_EQ(huge.send, static_cast<int64_t>(limit));
  }
}

// Started by the lab test below inside a namespace.
TEST(SnapshotChild, WritesAFile) {
  const char* path = std::getenv("TEST_SNAPSHOT_FILE");
  if (path == nullptr) GTEST_SKIP() << "only started by SnapshotLab inside a namespace";
  SnapshotRequest request;
  request.ports = {29600};
  const auto host = take_snapshot("lab", request, Deadline::after_ms(10'000));
  std::ofstream(path) << nlohmann::json(host).dump();
}

}  // namespace
}  // namespace plumbline
