#include "probes/rules/pair_privacy.h"

#include <algorithm>
#include <sstream>

namespace plumbline {
namespace {

// Tools of the system that may always use the local network.
constexpr const char* kSystemTools[] = {"ping",       "ping6",       "nc",
                                        "/sbin/ping", "/sbin/ping6", "/usr/bin/nc"};

bool is_system_tool(const std::string& command) {
  const std::string first = command.substr(0, command.find(' '));
  return std::any_of(std::begin(kSystemTools), std::end(kSystemTools),
                     [&](const char* tool) { return first == tool; });
}

bool names_address(const std::string& command, const std::string& ip) {
  std::stringstream words(command);
  for (std::string word; words >> word;) {
    if (word == ip) return true;
  }
  return false;
}

}  // namespace

std::string tool_that_reached(const PairView& view) {
  if (view.from == nullptr) return {};
  for (const CommandEvidence& command : view.from->commands) {
    if (command.status != 0 || !command.error.empty()) continue;
    if (is_system_tool(command.command) && names_address(command.command, view.pair->to_ip)) {
      return command.command;
    }
  }
  return {};
}

bool refused_by_privacy(const PairView& view) {
  if (view.from == nullptr || view.from->system != "macos") return false;
  bool refused = false;
  for (const PortTry& attempt : view.pair->ports) {
    const PortState state = state_of(attempt);
    if (is_open(state)) return false;
    if (state != PortState::kUnreachable || attempt.error != "EHOSTUNREACH") continue;
    const TraceDirection* sent = sent_by(attempt.here, view.pair->from_ip);
    if (attempt.captured_here && sent != nullptr && sent->syn > 0) return false;
    refused = true;
  }
  return refused && !tool_that_reached(view).empty();
}

}  // namespace plumbline
