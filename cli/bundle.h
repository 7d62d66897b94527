// The bundle of a diagnosis, to be sent to somebody else: evidence, findings, traces (headers only)
// and host facts in one tar.gz, with names and addresses replaced as anonymise.h says, so that the
// diagnosis can still be followed, and repeated with `doctor --from evidence.json`.
#pragma once

#include <string>

#include "core/error.h"
#include "probes/probe.h"

namespace plumbline {

Status write_bundle(const std::string& path, const ProbeResult& result);

}  // namespace plumbline
