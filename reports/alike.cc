#include "reports/alike.h"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace plumbline {
namespace {

// All that is read of it but the host, with a separator that is in no text.
std::string reading_of(Finding finding) {
  finding.host.clear();
  std::string text = fmt::format("{}\n{}\n{}\n{}", to_string(finding.outcome), title_of(finding),
                                 finding.confidence, finding.remedy.text());
  for (const Evidence& evidence : finding.evidence) text += '\0' + evidence.text;
  return text;
}

}  // namespace

std::vector<Finding> alike_as_one(const std::vector<Finding>& findings) {
  std::vector<Finding> out;
  std::map<std::string, size_t> places;
  for (const Finding& finding : findings) {
    const auto [place, is_new] = places.emplace(reading_of(finding), out.size());
    if (is_new || finding.host.empty() || out[place->second].host.empty()) {
      out.push_back(finding);
    } else {
      out[place->second].host += ", " + finding.host;
    }
  }
  return out;
}

}  // namespace plumbline
