// What commands print as JSON in the place of tables: the object of `run --json`
// (docs/json_output.md), and the lines of `watch --json`, each what one host showed at one look
// (docs/watch.md). Pure.
#pragma once

#include <string>

#include "probes/gather/host_watcher.h"
#include "runs/run_request.h"

namespace plumbline {

// docs/json_output.md names its fields.
std::string run_json(const RunOutcome& outcome);

// `time`: RFC 3339 UTC. Without the newline.
std::string watch_json_line(const LiveHost& host, const std::string& time);

}  // namespace plumbline
