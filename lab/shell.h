// Commands of the lab, run by sh(1). What a lab or a fault does is kept as text, so that it can be
// shown, written down and undone by another process. Every wait has a deadline.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "lab/fault.h"

namespace plumbline {

// Runs the script in the root namespace with `sh -e`; the Error carries the last line that it said.
Status run_script(const std::string& what, const std::string& script, int64_t within_ms = 20'000);

// "ip netns exec NS COMMAND".
std::string in_netns(const std::string& netns, const std::string& command);
// "ip -n NS COMMAND".
std::string ip_in(const std::string& netns, const std::string& command);
// The same with values in the command, as fmt puts them there.
template <typename First, typename... Rest>
std::string in_netns(const std::string& netns, fmt::format_string<First, Rest...> command,
                     First&& first, Rest&&... rest) {
  return in_netns(netns,
                  fmt::format(command, std::forward<First>(first), std::forward<Rest>(rest)...));
}
template <typename First, typename... Rest>
std::string ip_in(const std::string& netns, fmt::format_string<First, Rest...> command,
                  First&& first, Rest&&... rest) {
  return ip_in(netns,
               fmt::format(command, std::forward<First>(first), std::forward<Rest>(rest)...));
}

std::string joined(const std::vector<std::string>& words, const char* between = ", ");
void append(std::vector<std::string>& to, const std::vector<std::string>& more);

bool namespace_exists(const std::string& netns);

// Starts a helper in its namespace as a process of its own session that outlives us, and waits
// until it printed its line (3 s at most).
Expected<ProcessId> start_helper(const FaultHelper& helper);
// Whether that very process still runs.
bool is_running(const ProcessId& process);
// SIGTERM, and SIGKILL when it is still there after 300 ms; nothing when it is gone already.
void end_process(const ProcessId& process);
// Ends everything that runs in this namespace (not ourselves).
void end_processes_in(const std::string& netns);

}  // namespace plumbline
