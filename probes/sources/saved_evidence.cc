#include "probes/sources/saved_evidence.h"

#include <fmt/format.h>

#include "core/input_file.h"
#include "probes/sources/collected.h"
#include "probes/sources/source.h"

namespace plumbline {
namespace {

Expected<std::vector<std::string>> texts_of(const std::vector<std::string>& paths) {
  std::vector<std::string> texts;
  size_t bytes = 0;
  for (const std::string& path : paths) {
    Expected<std::string> text = read_input_file(path, kMostEvidenceBytes);
    if (!text) return fail(text.error());
    bytes += text->size();
    if (bytes > kMostEvidenceBytes) {
      return fail(ErrorCode::kConfig,
                  fmt::format("the files up to {} are together larger than {} MiB", path,
                              kMostEvidenceBytes >> 20),
                  "diagnose fewer hosts at a time");
    }
    texts.push_back(std::move(*text));
  }
  return texts;
}

bool is_json(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

}  // namespace

Expected<EvidenceSet> read_collected_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return fail(ErrorCode::kUsage, "no file of collect.sh was given");
  const Expected<std::vector<std::string>> texts = texts_of(paths);
  if (!texts) return fail(texts.error());
  return evidence_of_collected(paths, *texts);
}

Expected<EvidenceSet> read_evidence_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return fail(ErrorCode::kUsage, "no file of collect.sh was given");
  const Expected<std::vector<std::string>> texts = texts_of(paths);
  if (!texts) return fail(texts.error());
  if (paths.size() > 1 || !is_json(texts->front())) return evidence_of_collected(paths, *texts);
  Expected<EvidenceSet> evidence = parse_evidence(texts->front());
  if (!evidence) evidence.error().what = paths.front() + ": " + evidence.error().what;
  return evidence;
}

}  // namespace plumbline
