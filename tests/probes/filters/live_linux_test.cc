// The filter rules' reader, judge and remedies against the kernel itself: for every shape of rule,
// a real connection must fare as evaluate() says, evaluate() must name the rule that was put there,
// and after the remedy's commands the connection must pass while another port fares as before. In
// network namespaces of this test's own (plf<pid>a, plf<pid>b), removed at the end.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>

#include "core/clock.h"
#include "core/command.h"
#include "core/fd.h"
#include "live_shapes.h"
#include "probes/filters/evaluate.h"
#include "probes/filters/parse_filters.h"

namespace plumbline {
namespace {

constexpr int kSoonMs = 350;
constexpr int kPassesMs = 10 * kSoonMs;  // for what shall pass, however busy the machine is
// Long enough for a second SYN: of the first one, the answer by ICMP may come while the socket is
// still busy in connect().
constexpr int kLateMs = 1500;
constexpr int kOther = 29650;  // a port that the job does not need
const std::vector<int> kJob = {29500, 29600, 29601, 29602, 29603};

using test::Shape;

std::string run(const std::vector<std::string>& argv, int* status = nullptr,
                const std::string& input = {}) {
  CommandOptions options;
  options.input = input;
  const auto done = run_command(argv, Deadline::after_ms(20'000), options);
  if (status != nullptr) *status = done ? done->status : -1;
  return done ? done->out + (status != nullptr ? done->err : "") : std::string();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool enter(const std::string& ns) {
  const Fd fd(open(("/var/run/netns/" + ns).c_str(), O_RDONLY | O_CLOEXEC));
  return fd.valid() && setns(fd.get(), CLONE_NEWNET) == 0;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address address_of(const std::string& ip, int port) {
  Address address;
  if (ip.find(':') != std::string::npos) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET6, ip.c_str(), &v6.sin6_addr);
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.length = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, ip.c_str(), &v4.sin_addr);
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.length = sizeof v4;
  }
  return address;
}

// A process in the namespace that listens on every port, greets and closes, until it is killed.
pid_t start_listener(const std::string& ns, const std::string& greeting) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child != 0) {
    close(ends[1]);
    const Fd ready(ends[0]);
    char byte = 0;
    return read(ready.get(), &byte, 1) == 1 ? child : -1;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(ends[0]);
  std::vector<pollfd> fds;
  if (!enter(ns)) _exit(1);
  std::vector<int> ports = kJob;
  ports.insert(ports.end(), {kOther, 45678});
  for (const int port : ports) {
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const Address any = address_of("::", port);
    if (bind(fd, any.get(), any.length) != 0 || listen(fd, 16) != 0) _exit(1);
    fds.push_back({fd, POLLIN, 0});
  }
  const char byte = 1;
  if (write(ends[1], &byte, 1) != 1) _exit(1);
  while (poll(fds.data(), fds.size(), -1) >= 0) {
    for (size_t i = 0; i < fds.size(); ++i) {
      if ((fds[i].revents & POLLIN) == 0) continue;
      const Fd client(accept(fds[i].fd, nullptr, nullptr));
      const std::string text = greeting + std::to_string(ports[i]);
      if (send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) continue;
    }
  }
  _exit(0);
}

// "connected" (and greeted by that very port), "stranger", "timeout", or the errno's name.
std::string connect_now(const std::string& from, const std::string& to, int port, int within_ms) {
  const Fd fd(socket(to.find(':') == std::string::npos ? AF_INET : AF_INET6,
                     SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const Address source = address_of(from, 0), target = address_of(to, port);
  if (bind(fd.get(), source.get(), source.length) != 0) return "bind";
  if (connect(fd.get(), target.get(), target.length) != 0 && errno != EINPROGRESS) {
    return errno_name(errno);
  }
  pollfd waiting{fd.get(), POLLOUT, 0};
  if (poll(&waiting, 1, within_ms) == 0) return "timeout";
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return errno_name(error);
  waiting.events = POLLIN;
  if (poll(&waiting, 1, within_ms) == 0) return "timeout";
  char text[64];
  const ssize_t got = recv(fd.get(), text, sizeof text, 0);
  if (got <= 0) return "closed";
  return std::string(text, static_cast<size_t>(got)).find(std::to_string(port)) == std::string::npos
             ? "stranger"
             : "connected";
}

std::string connect_from(const std::string& ns, const std::string& from, const std::string& to,
                         int port, int within_ms) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string said = enter(ns) ? connect_now(from, to, port, within_ms) : "setns";
    _exit(write(ends[1], said.data(), said.size()) < 0 ? 1 : 0);
  }
  close(ends[1]);
  const Fd from_child(ends[0]);
  char text[64];
  const ssize_t got = read(from_child.get(), text, sizeof text);
  waitpid(child, nullptr, 0);
  return got > 0 ? std::string(text, static_cast<size_t>(got)) : "";
}

// Two hosts on one wire; the filters are those of the first.
class Lab {
 public:
  Lab(bool v6, bool bridged)
      : a_("plf" + std::to_string(getpid()) + "a"),
        b_("plf" + std::to_string(getpid()) + "b"),
        bridged_(bridged) {
    own = v6 ? "fd00:9::1" : "10.9.0.1";
    peer = v6 ? "fd00:9::2" : "10.9.0.2";
    const std::string bits = v6 ? "/64 nodad" : "/24";
    const std::string on_bridge = "ip -n " + a_ + " link add " + bridge + " type bridge; ip -n " +
                                  a_ + " link set " + bridge + " up; ip -n " + a_ + " link set " +
                                  dev + " master " + bridge + ";";
    const std::string script =
        "ip netns add " + a_ + " && ip netns add " + b_ + " && ip -n " + a_ + " link add " + dev +
        " type veth peer name " + dev + " netns " + b_ + " && for n in " + a_ + " " + b_ +
        "; do ip -n $n link set lo up; ip -n $n link set " + dev +
        " up; ip netns exec $n sysctl -qw net.ipv6.icmp.ratelimit=0; done; " +
        (bridged ? on_bridge : "") + "ip -n " + a_ + " address add " + own + bits + " dev " +
        (bridged ? bridge : dev) + "; ip -n " + b_ + " address add " + peer + bits + " dev " + dev;
    int status = 0;
    problem = run({"sh", "-c", script}, &status);
    if (status == 0) problem.clear();
    here_ = start_listener(a_, "a");
    there_ = start_listener(b_, "b");
    if (problem.empty() && (here_ < 0 || there_ < 0)) problem = "no listener";
  }
  ~Lab() {
    for (const pid_t pid : {here_, there_}) {
      if (pid <= 0) continue;
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    run({"ip", "netns", "del", a_});
    run({"ip", "netns", "del", b_});
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  // Runs lines of sh on the host with the filters; its output when it fails.
  std::string shell(const std::string& lines) const {
    int status = 0;
    const std::string said = run({"ip", "netns", "exec", a_, "sh", "-e", "-c", lines}, &status);
    return status == 0 ? "" : "status " + std::to_string(status) + ": " + said;
  }

  std::string connect(bool incoming, int port, int within_ms) const {
    return incoming ? connect_from(b_, peer, own, port, within_ms)
                    : connect_from(a_, own, peer, port, within_ms);
  }

  std::vector<FilterRule> rules() const {
    std::vector<FilterRule> all;
    const auto text = [&](const std::vector<std::string>& words) {
      std::vector<std::string> argv = {"ip", "netns", "exec", a_};
      argv.insert(argv.end(), words.begin(), words.end());
      return run(argv);
    };
    EXPECT_TRUE(parse_nft_json(text({"nft", "-j", "list", "ruleset"}), all));
    EXPECT_TRUE(parse_nft_text(text({"nft", "list", "ruleset"}), all));
    for (const char* tool : {"iptables-nft-save", "iptables-legacy-save"}) {
      const Status done = parse_iptables_save(text({tool}), "iptables", all);
      EXPECT_TRUE(done) << tool << ": " << done.error().message();
    }
    for (const char* tool : {"ip6tables-nft-save", "ip6tables-legacy-save"}) {
      EXPECT_TRUE(parse_iptables_save(text({tool}), "ip6tables", all)) << tool;
    }
    EXPECT_TRUE(parse_ebtables_save(text({"ebtables-nft-save"}), all));
    for (const char* direction : {"ingress", "egress"}) {
      EXPECT_TRUE(parse_tc_filters(text({"tc", "-j", "filter", "show", "dev", dev, direction}), dev,
                                   direction, all));
    }
    return all;
  }

  // What the judge says of a connection: all that may stop its three first packets.
  std::vector<FilterVerdict> judge(const std::vector<FilterRule>& all, bool incoming,
                                   int port) const {
    std::vector<FilterVerdict> found;
    for (int step = 0; step < 3; ++step) {
      FilterPacket packet;
      packet.first = step == 0;
      packet.reply = step == 1;
      packet.incoming = incoming != packet.reply;
      packet.source_ip = packet.incoming ? peer : own;
      packet.destination_ip = packet.incoming ? own : peer;
      packet.destination_port = port;
      packet.interface = dev;
      if (bridged_) {
        packet.interface = bridge;
        packet.lower = {dev};
        packet.bridge = true;
      }
      if (packet.reply) std::swap(packet.source_port, packet.destination_port);
      for (const FilterVerdict& verdict : evaluate(all, packet)) found.push_back(verdict);
    }
    return found;
  }

  std::string own, peer, problem;
  std::string bridge = "v" + std::to_string(getpid());
  std::string dev = "w" + std::to_string(getpid());

 private:
  std::string a_, b_;
  bool bridged_;
  pid_t here_ = -1, there_ = -1;
};

class LiveFilters : public testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (std::getenv("TEST_LABS") == nullptr) GTEST_SKIP() << "TEST_LABS is not set";
    if (geteuid() != 0) GTEST_SKIP() << "needs root: network namespaces";
    for (const char* tool : {"ip", "nft", "iptables-nft", "iptables-legacy", "tc"}) {
      if (find_program(tool).empty()) GTEST_SKIP() << tool << " is not installed";
    }
  }
};

std::string first_certain(const std::vector<FilterVerdict>& verdicts) {
  for (const FilterVerdict& verdict : verdicts) {
    if (verdict.action != "unknown") return verdict.action;
  }
  return verdicts.empty() ? "pass" : "unknown";
}

std::string all_of(const std::vector<FilterVerdict>& verdicts) {
  std::ostringstream out;
  for (const FilterVerdict& verdict : verdicts) {
    out << verdict.action << " " << verdict.share << " " << describe(*verdict.rule) << "\n";
  }
  return out.str();
}

// Does what a connection met fit the judge's word?
bool fits(const std::string& judged, double share, const std::string& met) {
  if (judged == "unknown" || (share < 1 && judged != "pass")) return true;
  if (judged == "pass") return met == "connected";
  if (judged == "drop") return met == "timeout" || met == "EPERM";
  if (judged == "redirect") return met != "connected";
  return met != "connected" && met != "timeout";
}

TEST_P(LiveFilters, JudgedAsTheKernelDoesAndHealed) {
  const Shape& shape = GetParam();
  const Lab lab(shape.v6, shape.bridge);
  ASSERT_EQ(lab.problem, "");
  ASSERT_EQ(lab.connect(shape.incoming, shape.port, kPassesMs), "connected");
  const auto filled = [&](const std::string& text) {
    return replaced(
        replaced(replaced(replaced(text, "OWN", lab.own), "PEER", lab.peer), "DEV", lab.dev),
        "BRIDGE", lab.bridge);
  };
  const std::string trouble = lab.shell(filled(shape.setup));
  if (!trouble.empty()) GTEST_SKIP() << "this kernel or tool cannot: " << trouble;

  const std::vector<FilterRule> rules = lab.rules();
  const auto verdicts = lab.judge(rules, shape.incoming, shape.port);
  const auto other_before = lab.judge(rules, shape.incoming, kOther);
  const int within_ms = shape.action == std::string("drop") ? kSoonMs : kLateMs;
  const std::string met =
      lab.connect(shape.incoming, shape.port, verdicts.empty() ? kPassesMs : within_ms);
  const std::string other_met =
      lab.connect(shape.incoming, kOther, other_before.empty() ? kPassesMs : within_ms);
  EXPECT_EQ(first_certain(verdicts), shape.action) << all_of(verdicts);
  const double share = verdicts.empty() ? 1 : verdicts[0].share;
  EXPECT_TRUE(fits(first_certain(verdicts), share, met)) << met << " but\n" << all_of(verdicts);
  EXPECT_TRUE(fits(first_certain(other_before), other_before.empty() ? 1 : other_before[0].share,
                   other_met))
      << other_met << " but\n"
      << all_of(other_before);
  if (shape.action == std::string("pass")) {
    EXPECT_TRUE(verdicts.empty()) << all_of(verdicts);
    return;
  }
  ASSERT_FALSE(verdicts.empty());
  const FilterVerdict* decided = &verdicts[0];
  for (const FilterVerdict& verdict : verdicts) {
    if (verdict.action == shape.action) {
      decided = &verdict;
      break;
    }
  }
  EXPECT_THAT(decided->rule->text, testing::HasSubstr(filled(shape.rule)));

  // One remedy may not be enough where several rules stop the connection, each on its own.
  std::string healed;
  for (int round = 0; round < 8; ++round) {
    const std::vector<FilterRule> now = lab.rules();
    std::vector<FilterVerdict> left;
    for (const int port : kJob) {
      if (left.empty()) left = lab.judge(now, shape.incoming, port);
    }
    if (left.empty()) break;
    const std::string commands =
        remedy_for_rule(
            *left[0].rule,
            {shape.incoming, lab.own, lab.peer, kJob, left[0].hook, left[0].left_by, {}})
            .text();
    ASSERT_NE(commands, "") << describe(*left[0].rule);
    healed += commands + "\n";
    ASSERT_EQ(lab.shell(commands), "") << commands;
  }
  const std::vector<FilterRule> after = lab.rules();
  EXPECT_EQ(all_of(lab.judge(after, shape.incoming, shape.port)), "") << healed;
  for (const int port : kJob) {
    EXPECT_EQ(lab.connect(shape.incoming, port, kPassesMs), "connected") << port << "\n" << healed;
  }
  if (share >= 1 && shape.action != std::string("unknown")) {
    const int as_before_ms = other_met == "connected" ? kPassesMs : within_ms;
    EXPECT_EQ(lab.connect(shape.incoming, kOther, as_before_ms), other_met) << healed;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LiveFilters, testing::ValuesIn(test::kShapes),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace plumbline
