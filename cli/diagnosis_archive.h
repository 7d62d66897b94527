// The archive of a diagnosis (`doctor --bundle FILE`), to be sent to somebody else: evidence,
// findings, traces (headers only) and host facts in one tar.gz, with names and addresses replaced
// as anonymise.h says, so that the diagnosis can still be followed, and repeated with `doctor
// --from evidence.json`. A published result is another thing (reports/publish/bundle.h).
#pragma once

#include <string>

#include "core/error.h"
#include "probes/probe.h"

namespace plumbline {

Status write_diagnosis_archive(const std::string& path, const ProbeResult& result);

}  // namespace plumbline
