// macOS: `route -n get` prints the routing socket's answer (route(4)) in lines of "key: value". The
// source address that it would use is what a UDP socket gets that connects there.
#include <cctype>
#include <cerrno>
#include <sstream>

#include "core/command.h"
#include "probes/actions/route.h"

namespace plumbline {
namespace {

std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    const size_t at = line.find(key + ": ");
    if (at == std::string::npos) continue;
    std::istringstream words(line.substr(at + key.size() + 2));
    std::string word;
    words >> word;
    return word;
  }
  return {};
}

std::string source_towards(const PairEnds& ends, std::string& error) {
  SocketAddress to = ends.to;
  to.set_port(9);
  const Fd fd(::socket(to.family(), SOCK_DGRAM, 0));
  const bool bound =
      ends.from.length == 0 || ::bind(fd.get(), ends.from.get(), ends.from.length) == 0;
  if (!bound || ::connect(fd.get(), to.get(), to.length) != 0) {
    error = errno_name(errno);
    return {};
  }
  return ip_text(local_address(fd.get()));
}

}  // namespace

Expected<RouteLookup> look_up_route(const PairEnds& ends, const AgentCall& call) {
  std::vector<std::string> argv = {"route", "-n", "get"};
  if (ends.to.family() == AF_INET6) argv.emplace_back("-inet6");
  std::string target = ip_text(ends.to);
  if (ends.to.family() == AF_INET6 && ends.to.link_local()) target += "%" + ends.interface;
  argv.push_back(target);
  const auto said = run_command(argv, call.deadline);
  if (!said) return fail(said.error());
  RouteLookup out;
  out.with_source = ends.from.length != 0;
  out.source = source_towards(ends, out.error);
  out.dev = value_of(said->out, "interface");
  out.via = value_of(said->out, "gateway");
  const std::string flags = value_of(said->out, "flags");
  out.type = "unicast";
  if (flags.find("LOCAL") != std::string::npos) out.type = "local";
  if (flags.find("REJECT") != std::string::npos) out.type = "unreachable";
  if (flags.find("BLACKHOLE") != std::string::npos) out.type = "blackhole";
  if (out.dev.empty() && out.error.empty()) out.error = "ENETUNREACH";
  if (!out.error.empty() && out.dev.empty()) out.type.clear();
  return out;
}

}  // namespace plumbline
