#include "scenarios/host_files/ssh_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "core/number.h"
#include "core/ranges.h"
#include "core/shell_words.h"
#include "core/text.h"
#include "scenarios/host_words.h"

namespace plumbline {
namespace {

struct Destination {
  std::string user, machine;
  int port = 0;  // 0 = ssh's own
};

// "me@mini1.local", "ssh://me@mini1.local:2222".
Destination read_destination(const ScenarioHost& host) {
  constexpr std::string_view kScheme = "ssh://";
  std::string text = host.ssh;
  Destination out;
  out.port = host.port;
  const bool url = text.rfind(kScheme, 0) == 0;
  if (url) text = text.substr(kScheme.size());
  out.machine = without_user(text);
  if (text.size() > out.machine.size())
    out.user = text.substr(0, text.size() - out.machine.size() - 1);
  if (!host.user.empty()) out.user = host.user;
  const size_t colon = out.machine.rfind(':');
  if (url && colon != std::string::npos) {
    const auto port = parse_whole<int>(out.machine.substr(colon + 1), 1, 65535);
    if (port) {
      out.port = *port;
      out.machine.resize(colon);
    }
  }
  if (url && out.machine.size() > 2 && out.machine.front() == '[' && out.machine.back() == ']') {
    out.machine = out.machine.substr(1, out.machine.size() - 2);
  }
  return out;
}

// Letters, digits and a few signs mean themselves in a pattern, a HostName and a shell. A zone
// ("fe80::1%en0") does not: % begins a token there.
bool is_plain(const std::string& text) {
  return !text.empty() && text.front() != '-' && all_of(text, [](char c) {
    return is_alnum(c) || c == '.' || c == '-' || c == '_' || c == ':' || c == '+';
  });
}

bool is_path(const std::string& text) {
  return all_of(text, [](char c) {
    return is_alnum(c) || c == '.' || c == '-' || c == '_' || c == '/' || c == '~' || c == ' ';
  });
}

Error cannot_say(const ScenarioHost& host, const std::string& what) {
  return {ErrorCode::kConfig,
          fmt::format("{}: {} has no place in ssh's configuration", host.name, in_quotes(what)), 0,
          "write letters, digits and . - _ : + there, or a block of your own", ""};
}

Expected<std::string> block_of(const ScenarioHost& host) {
  const Destination to = read_destination(host);
  for (const std::string& word : {host.name, to.machine}) {
    if (!is_plain(word)) return fail(cannot_say(host, word));
  }
  if (!to.user.empty() && !is_plain(to.user)) return fail(cannot_say(host, to.user));
  if (!is_path(host.key)) return fail(cannot_say(host, host.key));
  const bool other = to.machine != host.name;
  std::string out = fmt::format("Host {}{}\n    HostName {}\n", host.name,
                                other ? " " + to.machine : std::string(), to.machine);
  if (!to.user.empty()) out += fmt::format("    User {}\n", to.user);
  if (to.port != 0) out += fmt::format("    Port {}\n", to.port);
  const std::string key = host.key.empty() ? kClusterKey : host.key;
  out += key.find(' ') == std::string::npos ? fmt::format("    IdentityFile {}\n", key)
                                            : fmt::format("    IdentityFile \"{}\"\n", key);
  return out + "    IdentitiesOnly yes\n";
}

// A ~ stays one for the shell.
std::string key_word(const std::string& key) {
  return key.rfind("~/", 0) == 0 ? "~/" + shell_word(key.substr(2)) : shell_word(key);
}

// Each key once; of the hosts those that are told where they are.
std::string commands_of(const std::vector<const ScenarioHost*>& hosts) {
  std::string out;
  std::set<std::string> keys;
  for (const ScenarioHost* host : hosts) {
    const std::string key = host->key.empty() ? kClusterKey : host->key;
    if (keys.insert(key).second)
      out += fmt::format("#   ssh-keygen -t ed25519 -f {}\n", key_word(key));
  }
  for (const ScenarioHost* host : hosts) {
    const Destination to = read_destination(*host);
    const std::string key = host->key.empty() ? kClusterKey : host->key;
    out += fmt::format("#   ssh-copy-id -i {}{} {}{}\n", key_word(key + ".pub"),
                       to.port == 0 ? std::string() : fmt::format(" -p {}", to.port),
                       to.user.empty() ? std::string() : to.user + "@", to.machine);
  }
  return out;
}

}  // namespace

Expected<std::string> ssh_config_of(const HostFile& file) {
  std::vector<const ScenarioHost*> hosts;
  std::string blocks;
  for (const ScenarioHost& host : file.hosts) {
    if (host.ssh.empty()) continue;
    const Expected<std::string> block = block_of(host);
    if (!block) return fail(block.error());
    blocks += "\n" + *block;
    hosts.push_back(&host);
  }
  if (hosts.empty()) {
    return fail(ErrorCode::kConfig, "no host of the file is reached by ssh",
                "give the hosts a key `ssh`: \"me@mini1.local\"");
  }
  return "# For ~/.ssh/config. Before that, once, a key for these hosts and its way to each of "
         "them:\n" +
         commands_of(hosts) + blocks;
}

}  // namespace plumbline
