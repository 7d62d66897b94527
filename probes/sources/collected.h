// What `doctor --from` reads: one file of saved evidence, or files of collect.sh, one per host.
// Such a file is taken apart here: its head, and its sections with what each command printed. Lines
// that begin with "=" are the script's own, "|" stands before every line of a command's output and
// "!" before its errors, so that no output can pass for anything else. A file that ends too early
// gives what is whole in it. Plain values; functions are thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "probes/evidence.h"
#include "probes/sources/source.h"

namespace plumbline {

struct CollectedSection {
  std::string name;               // "ip-addr", "ping", "connect"
  std::vector<std::string> args;  // {"10.10.0.2", "29600"}
  std::string command;            // as it was run
  std::string errors;             // the first lines of its standard error
  SourceOutput output;            // `text` is set too when the command failed
};

struct CollectedFile {
  std::string name, system, time;
  std::vector<std::string> peers;  // addresses that were tried
  std::vector<int> ports;
  std::vector<CollectedSection> sections;
  std::vector<std::string> problems;  // "the file ends in the middle of the section 'ss'"
};

// kConfig when it is no such file at all.
Expected<CollectedFile> take_apart(const std::string& text);

// The host as far as its sections tell, by the rows of its system.
HostEvidence host_of(const CollectedFile& file);

// All files as one set of evidence; texts[i] is what stands in paths[i].
Expected<EvidenceSet> evidence_of_collected(const std::vector<std::string>& paths,
                                            const std::vector<std::string>& texts);

// collected_pairs.cc: the job and the pairs that these files are about; `hosts` belong to `files`
// one by one.
EvidenceSet join_collected(const std::vector<CollectedFile>& files,
                           std::vector<HostEvidence> hosts);

// attempts.cc: what the tools said that tried to reach a peer.
PingEvidence parse_ping(const CollectedSection& section);
MtuEvidence parse_large_ping(const CollectedSection& section);
PortTry parse_connect(const CollectedSection& section);
RouteLookup parse_route_get(const CollectedSection& section);
NameEvidence parse_resolve(const CollectedSection& section);

// The one limit: of a text of evidence, of a file, and of all files together. A host takes a few
// hundred KiB, and what is parsed takes up to twenty times as much memory.
inline constexpr size_t kMostEvidenceBytes = 64 << 20;

// Which of both they are is told by their content.
Expected<EvidenceSet> read_evidence_files(const std::vector<std::string>& paths);

}  // namespace plumbline
