// Releases of macOS that do not fit together for RDMA over Thunderbolt: MLX's JACCL sends frames of
// up to 512 KiB from macOS 26.3 on and of 4 KiB before. Each end chooses by its own release, and
// nothing is agreed upon. Other differences between releases are no rule of RDMA.
#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/number.h"
#include "core/ranges.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

using MacosRelease = std::pair<int, int>;  // 26.3.1 is {26, 3}

constexpr MacosRelease kFirstWithRdma = {26, 2}, kFirstWithLargeFrames = {26, 3};

// Of "macOS 26.3 (25D125)" or "macOS 27"; nothing where it is no such text.
std::optional<MacosRelease> macos_release(std::string_view os) {
  constexpr std::string_view kName = "macOS ";
  constexpr int kMost = 999;
  if (!os.starts_with(kName)) return std::nullopt;
  const std::string_view version =
      os.substr(kName.size(), os.find(' ', kName.size()) - kName.size());
  const size_t dot = version.find('.');
  const auto major = parse_whole<int>(version.substr(0, dot), 1, kMost);
  if (!major) return std::nullopt;
  if (dot == std::string_view::npos) return MacosRelease{*major, 0};
  const std::string_view rest = version.substr(dot + 1);
  const auto minor = parse_whole<int>(rest.substr(0, rest.find('.')), 0, kMost);
  return minor ? std::optional(MacosRelease{*major, *minor}) : std::nullopt;
}

struct MacRelease {
  const HostEvidence* host;
  MacosRelease release;
};

std::vector<MacRelease> releases_of(const EvidenceSet& evidence) {
  std::vector<MacRelease> out;
  for (const HostView& view : host_views(evidence)) {
    const auto release = macos_release(view.host->os);
    if (view.host->system == "macos" && release) out.push_back({view.host, *release});
  }
  return out;
}

Candidate older_than(const MacRelease& old, const MacRelease& newer, bool or_tcp,
                     const Checks& checks) {
  const bool small = old.release >= kFirstWithRdma;
  return Proposal("config.version_mismatch", or_tcp ? Severity::kWarn : Severity::kFail,
                  old.host->name)
      .see(old.host->name, "",
           fmt::format("{}: {}", old.host->os,
                       small ? "JACCL sends frames of 4 KiB over RDMA here"
                             : "RDMA over Thunderbolt comes with macOS 26.2"))
      .see(newer.host->name, "",
           fmt::format("{}: JACCL sends frames of up to 512 KiB here; each end chooses by its own "
                       "release, and they do not agree on one",
                       newer.host->os))
      .remedy(Remedy(fmt::format("update {} to the release of {} ({}): `softwareupdate -l` lists "
                                 "what there is, then System Settings > General > Software Update",
                                 old.host->name, newer.host->name, newer.host->os))
                  .say("until then run over TCP between the two (the backend `ring`)"))
      .proven()
      .take(checks);
}

}  // namespace

Candidates propose_releases(const EvidenceSet& evidence, const Checks& checks) {
  Candidates out;
  if (!evidence.job.rdma) return out;
  const std::vector<MacRelease> all = releases_of(evidence);
  const MacRelease* const newer =
      find_where(all, [](const MacRelease& one) { return one.release >= kFirstWithLargeFrames; });
  if (newer == nullptr) return out;
  for (const MacRelease& one : all) {
    if (one.release >= kFirstWithLargeFrames) continue;
    out.push_back(older_than(one, *newer, evidence.job.rdma_or_tcp, checks));
  }
  return out;
}

}  // namespace plumbline
