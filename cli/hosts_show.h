// `plumbline hosts show`: a host file as a table, with who is supposed to talk to whom.
#pragma once

#include <string>

#include "cli/args.h"
#include "scenarios/host_files/host_file.h"

namespace plumbline {

// "hosts.json: mlx, 4 hosts, backend jaccl, environment NAME NAME": no values, which may be
// secrets.
std::string host_file_summary(const HostFile& file);
// Onto standard output; returns the exit code.
int show_host_file(const HostFile& file, bool as_json, Context& context);

}  // namespace plumbline
