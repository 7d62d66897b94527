// What `doctor --from` reads: one file of saved evidence, or files of collect.sh, one per host.
// Nothing of what stands in them is repeated in an error. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "probes/evidence.h"

namespace plumbline {

// The one limit: of a text of evidence, of a file, and of all files together. A host takes a few
// hundred KiB, and what is parsed takes up to twenty times as much memory.
inline constexpr size_t kMostEvidenceBytes = 64 << 20;

// Which of both they are is told by their content.
Expected<EvidenceSet> read_evidence_files(const std::vector<std::string>& paths);

}  // namespace plumbline
