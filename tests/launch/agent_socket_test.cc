#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include "core/encode.h"
#include "core/json.h"
#include "launch/agent_link.h"
#include "launch/process.h"
#include "test_agent.h"
#include "tests/support/agents.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// serve_one_coordinator in a thread of its own.
class Listener {
 public:
  explicit Listener(std::string token, int64_t wait_ms = 20'000) {
    std::promise<int> ready;
    std::future<int> port = ready.get_future();
    thread_ =
        std::thread([this, token = std::move(token), wait_ms, ready = std::move(ready)]() mutable {
          status_ = serve_one_coordinator({"127.0.0.1"}, 0, token, wait_ms, test_requests(),
                                          test_settings(), [&](int p) { ready.set_value(p); });
        });
    port_ = port.get();
  }
  ~Listener() { join(); }
  Status join() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }
  int port() const { return port_; }

 private:
  std::thread thread_;
  int port_ = 0;
  Status status_;
};

Fd plain_connection(int port) {
  const auto address = make_socket_address("127.0.0.1", static_cast<uint16_t>(port));
  Fd fd(socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(connect(fd.get(), address->get(), address->length), 0);
  return fd;
}

std::string fresh_token() { return to_hex(random_token()); }

TEST(ListeningAgent, ServesOneCoordinatorAndEndsWithIt) {
  const std::string token = fresh_token();
  Listener listener(token);
  {
    const AgentStart start = attach_agent("h2", "127.0.0.1", listener.port(), token, soon());
    ASSERT_TRUE(start.agent) << start.error.message();
    EXPECT_EQ(start.hello.version, PLUMBLINE_VERSION);
    EXPECT_LE(std::abs(start.hello.clock_offset_ns), start.hello.clock_uncertainty_ns);
    EXPECT_EQ(call(*start.agent, "echo", {{"a", 1}}, soon())->at("a"), 1);
    // No second one.
    const AgentStart second = attach_agent("h2", "127.0.0.1", listener.port(), token, soon());
    EXPECT_FALSE(second.agent);
    EXPECT_EQ(second.cause, "ssh.refused") << second.error.message();
  }
  EXPECT_TRUE(listener.join());
}

TEST(ListeningAgent, AnotherTokenIsRefusedAndDoesNoHarm) {
  const std::string token = fresh_token();
  Listener listener(token);
  const AgentStart wrong = attach_agent("h2", "127.0.0.1", listener.port(), fresh_token(), soon());
  EXPECT_FALSE(wrong.agent);
  EXPECT_EQ(wrong.cause, "ssh.auth") << wrong.error.message();
  EXPECT_EQ(wrong.error.code, ErrorCode::kAuth);
  EXPECT_TRUE(attach_agent("h2", "127.0.0.1", listener.port(), token, soon()).agent);
}

TEST(ListeningAgent, StrangersDoNotBlockTheCoordinator) {
  const std::string token = fresh_token();
  Listener listener(token);
  std::vector<Fd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(plain_connection(listener.port()));
  const Fd browser = plain_connection(listener.port());
  const std::string get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_EQ(send(browser.get(), get.data(), get.size(), send_flags()),
            static_cast<ssize_t>(get.size()));
  const Fd garbage = plain_connection(listener.port());
  const std::string noise(100'000, '\xee');
  send(garbage.get(), noise.data(), noise.size(), send_flags());
  const int64_t begin = monotonic_ns();
  const AgentStart start = attach_agent("h2", "127.0.0.1", listener.port(), token, soon());
  ASSERT_TRUE(start.agent) << start.error.message();
  EXPECT_LT(monotonic_ns() - begin, 3 * kSecond);
}

TEST(ListeningAgent, Expires) {
  Listener listener(fresh_token(), 300);
  const Fd stranger = plain_connection(listener.port());
  const int64_t begin = monotonic_ns();
  const Status status = listener.join();
  EXPECT_LT(monotonic_ns() - begin, 3 * kSecond);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kTimeout);
}

TEST(ListeningAgent, ABusyPortIsAnError) {
  const auto address = make_socket_address("127.0.0.1", 0);
  const auto holder = listen_on(*address, {});
  ASSERT_TRUE(holder);
  const Status status = serve_one_coordinator({"127.0.0.1"}, local_address(holder->get()).port(),
                                              fresh_token(), 300, {}, test_settings(), nullptr);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kBusy);
}

TEST(ListeningAgent, AddressesMustBeAddresses) {
  EXPECT_FALSE(serve_one_coordinator({}, 0, "x", 100, {}, test_settings(), nullptr));
  EXPECT_FALSE(serve_one_coordinator({"nowhere"}, 0, "x", 100, {}, test_settings(), nullptr));
  EXPECT_FALSE(serve_one_coordinator({"127.0.0.1"}, 65536, "x", 100, {}, test_settings(), nullptr));
}

TEST(AttachAgent, NobodyListens) {
  const auto address = make_socket_address("127.0.0.1", 0);
  int port = 0;
  {
    const auto listener = listen_on(*address, {});
    port = local_address(listener->get()).port();
  }
  const AgentStart start = attach_agent("h2", "127.0.0.1", port, fresh_token(), soon());
  EXPECT_EQ(start.cause, "ssh.refused") << start.error.message();
  EXPECT_EQ(start.error.cause, start.cause);
  EXPECT_EQ(attach_agent("h2", "127.0.0.1", 0, "x", soon()).cause, "ssh.unreachable");
  EXPECT_EQ(attach_agent("h2", "not an address", 1, "x", soon()).cause, "ssh.unreachable");
}

TEST(AttachAgent, SomebodyElseListens) {
  const auto address = make_socket_address("127.0.0.1", 0);
  const auto listener = listen_on(*address, {});
  ASSERT_TRUE(listener);
  const int port = local_address(listener->get()).port();
  const int64_t begin = monotonic_ns();
  // Its backlog accepts, nobody answers.
  const AgentStart silent =
      attach_agent("h2", "127.0.0.1", port, fresh_token(), Deadline::after_ms(400));
  EXPECT_FALSE(silent.agent);
  EXPECT_EQ(silent.error.code, ErrorCode::kTimeout);
  EXPECT_EQ(silent.cause, "ssh.wrong_binary");
  EXPECT_LT(monotonic_ns() - begin, 3 * kSecond);
  std::thread other([&] {
    for (int i = 0; i < 2; ++i) {
      Fd fd;
      while (!fd.valid()) fd = accept_from(listener->get()).value();
      const std::string banner = "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n";
      send(fd.get(), banner.data(), banner.size(), send_flags());
      usleep(100'000);
    }
  });
  const AgentStart stranger = attach_agent("h2", "127.0.0.1", port, fresh_token(), soon());
  other.join();
  EXPECT_EQ(stranger.cause, "ssh.wrong_binary") << stranger.error.message();
}

class TokenFile : public testing::Test {
 protected:
  TokenFile()
      : path_(std::filesystem::temp_directory_path() /
              ("launch-token-" + std::to_string(getpid()))) {}
  void TearDown() override { std::filesystem::remove(path_); }
  std::string with(const std::string& text) {
    std::ofstream(path_) << text;
    std::filesystem::permissions(
        path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return path_;
  }
  std::filesystem::path path_;
};

TEST_F(TokenFile, IsOneLine) {
  EXPECT_EQ(read_token(with("0123456789abcdef")).value(), "0123456789abcdef");
  EXPECT_EQ(read_token(with("0123456789abcdef\r\nmore\n")).value(), "0123456789abcdef");
  for (const std::string& bad :
       {std::string(), std::string("\n"), std::string("short\n"), std::string(100'000, 'x')}) {
    EXPECT_FALSE(read_token(with(bad))) << bad.size();
  }
  EXPECT_EQ(read_token("/proc/nonexistent/token").error().sys_errno, ENOENT);
  EXPECT_FALSE(read_token("/dev/zero"));
  const std::string open = with("0123456789abcdef");
  std::filesystem::permissions(open, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  EXPECT_NE(read_token(open).error().message().find("chmod 600 " + open), std::string::npos);
}

// All arguments and the environment of a process, as anybody on the machine may see the former.
std::string command_line(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_F(TokenFile, ItsTokenIsInNobodysCommandLine) {
  if (!std::filesystem::exists("/proc/self/cmdline")) GTEST_SKIP() << "no /proc to look into";
  const std::string token = fresh_token();
  auto process = Process::spawn(test_program({"listen", with(token + "\n")}));
  ASSERT_TRUE(process);
  const int port = std::stoi((*process)->read_line(soon()).value());
  EXPECT_THAT(command_line((*process)->pid()), HasSubstr("listen"));
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    EXPECT_EQ(command_line(std::stoi(name)).find(token), std::string::npos) << name;
  }
  {
    const AgentStart start = attach_agent("h2", "127.0.0.1", port, token, soon());
    ASSERT_TRUE(start.agent) << start.error.message();
    EXPECT_EQ(start.hello.pid, (*process)->pid());
    // An agent that dies is lost like any other.
    const auto reply = call(*start.agent, "die", {}, soon());
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().cause, "rank.agent_lost");
    EXPECT_EQ(reply.error().code, ErrorCode::kPeerLost);
  }
}

}  // namespace
}  // namespace plumbline
