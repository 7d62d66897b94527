// Which causes are only symptoms of others: tables that find_causes asks when it leaves out what
// something else explains. Pure functions, thread-safe.
#pragma once

#include <string>

namespace plumbline {

// A warning or note about a pair that a failure on this rung of the ladder (rules.h) breaks.
bool follows_from_failure(const std::string& symptom, int rung);
// A warning next to another one about the same hosts.
bool follows_from_warning(const std::string& symptom, const std::string& cause);
// Something between two hosts whose link flaps; `proven`: it has evidence that no lost packet
// gives.
bool follows_from_flapping(const std::string& symptom, bool proven);
// A failure of a host next to another finding about the same host.
bool follows_on_host(const std::string& symptom, const std::string& cause);

}  // namespace plumbline
