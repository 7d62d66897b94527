#include "probes/name.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "probes/checks.h"
#include "probes/remedy.h"
#include "probes/subnet.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

constexpr const char* kId = "name";

Resolution ask_resolver(const std::string& name) {
  Resolution out;
  out.answered = true;
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int status = getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (status != 0) {
    out.error = gai_strerror(status);
    return out;
  }
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    char text[NI_MAXHOST] = "";
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    if (std::find(out.addresses.begin(), out.addresses.end(), text) == out.addresses.end()) {
      out.addresses.emplace_back(text);
    }
  }
  freeaddrinfo(list);
  return out;
}

// Shared with a thread that may outlive the waiter: getaddrinfo(3) cannot be interrupted.
struct Pending {
  std::mutex mutex;
  std::condition_variable changed;
  Resolution resolution;
};

bool is_loopback(const std::string& ip) {
  return same_subnet(ip, "127.0.0.1", 8) || same_subnet(ip, "::1", 128);
}

// What may stand in a command without quoting.
bool is_plain(const std::string& name) {
  return !name.empty() && name.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                              "XYZ0123456789.-") == std::string::npos;
}

std::string remedy_for(const ProbeHost& host, const std::string& name) {
  const std::string& ip = host.data.front().ip;
  if (is_plain(name)) return remedy_own_name(name, ip);
  return fmt::format(
      "give the host a name of letters, digits and hyphens, and the line '{} NAME' "
      "in /etc/hosts",
      ip);
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool in_data_network(const std::string& ip, const ProbeHost& host) {
  return std::any_of(host.data.begin(), host.data.end(), [&](const NicAddress& address) {
    const int bits = address.v6 ? 128 : 32;
    return same_subnet(ip, address.ip, address.prefix > 0 ? address.prefix : bits);
  });
}

}  // namespace

Resolution resolve_name(const std::string& name, Deadline deadline) {
  auto pending = std::make_shared<Pending>();
  std::thread([pending, name] {
    Resolution resolution = ask_resolver(name);
    const std::lock_guard<std::mutex> lock(pending->mutex);
    pending->resolution = std::move(resolution);
    pending->changed.notify_one();
  }).detach();
  std::unique_lock<std::mutex> lock(pending->mutex);
  const auto wait = std::chrono::milliseconds(
      deadline.poll_timeout_ms(static_cast<int>(threshold(Threshold::kResolveMs))));
  pending->changed.wait_for(lock, wait, [&] { return pending->resolution.answered; });
  return pending->resolution;
}

ProbeResult judge_own_name(const ProbeHost& host, const std::string& name,
                           const Resolution& resolution) {
  ProbeResult result;
  const auto say = [&](CheckOutcome outcome, std::string reason) -> const Check& {
    result.checks.push_back(make_check({kId, host.name}, outcome, std::move(reason)));
    return result.checks.back();
  };
  const auto fail_with = [&](const char* cause, const std::string& reason) {
    const Check& check = say(CheckOutcome::kFail, reason);
    result.findings.push_back(make_finding(cause, Severity::kFail, check, remedy_for(host, name)));
  };
  const auto& found = resolution.addresses;
  const std::string list = join(found);
  if (host.data.empty()) {
    say(CheckOutcome::kUnknown, "the host file names no data address of this host");
  } else if (!resolution.answered) {
    say(CheckOutcome::kUnknown, fmt::format("the resolver gave no answer for '{}' in time", name));
  } else if (found.empty()) {
    fail_with("name.unresolved",
              fmt::format("the host's own name '{}' means nothing to it: {}", name,
                          resolution.error.empty() ? "no address" : resolution.error));
  } else if (std::any_of(found.begin(), found.end(),
                         [&](const std::string& ip) { return in_data_network(ip, host); })) {
    say(CheckOutcome::kPass, fmt::format("'{}' is {}", name, list));
  } else if (std::all_of(found.begin(), found.end(), is_loopback)) {
    fail_with("name.loopback",
              fmt::format("the host's own name '{}' is {}, which peers cannot reach", name, list));
  } else {
    fail_with("name.wrong_address",
              fmt::format("the host's own name '{}' is {}, not in the data network of {}", name,
                          list, host.data.front().ip));
  }
  return result;
}

ProbeResult probe_name(const ProbeContext& context) {
  ProbeResult result;
  std::optional<Resolution> resolution;
  for (size_t i = 0; i < context.hosts.size(); ++i) {
    const ProbeHost& host = context.hosts[i];
    const bool all_loopback =
        !host.data.empty() && std::all_of(host.data.begin(), host.data.end(),
                                          [](const NicAddress& a) { return a.loopback; });
    std::string skip;
    if (all_loopback) {
      skip = "the data address is loopback: no other machine has to reach this host by its name";
    } else if (const auto earlier = same_addresses(context, i)) {
      skip = "same machine and addresses as " + *earlier;
    }
    if (!skip.empty()) {
      result.checks.push_back(make_check({kId, host.name}, CheckOutcome::kSkipped, skip));
      continue;
    }
    if (!resolution) resolution = resolve_name(context.facts.hostname, context.deadline);
    append(result, judge_own_name(host, context.facts.hostname, *resolution));
  }
  return result;
}

}  // namespace plumbline
