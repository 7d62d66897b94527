// One line of `plumbline watch --json`: what one host showed at one look (docs/watch.md). Pure.
#pragma once

#include <string>

#include "probes/gather/live_rates.h"

namespace plumbline {

// `time`: RFC 3339 UTC. Without the newline.
std::string watch_json_line(const LiveHost& host, const std::string& time);

}  // namespace plumbline
