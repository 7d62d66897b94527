// Everything that is set in a namespace, as sorted lines without counters, ages and numbers that
// the kernel hands out: to see whether a remedy or an undo changed what it should, and nothing
// else.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "lab/lab.h"

namespace plumbline {

using Snapshot = std::vector<std::string>;

// Links, addresses, routes, rules, permanent neighbours, packet filters, shaping, sysctls of the
// network, and the file of names. "" = the namespace that we are in ourselves.
Expected<Snapshot> take_snapshot(const std::string& netns);
// Of every namespace of the lab and of our own.
Expected<std::map<std::string, Snapshot>> take_snapshots(const Lab& lab);
// "- line" for what is gone, "+ line" for what is new.
std::vector<std::string> difference(const Snapshot& before, const Snapshot& after);

// The raw outputs of the tools, each behind a line "== NAME", as normalised lines. Exposed for
// tests.
Snapshot normalised(const std::string& text);

}  // namespace plumbline
