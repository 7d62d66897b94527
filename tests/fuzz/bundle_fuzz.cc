// Bundles of anybody: each is refused with a problem, or written again it is the same bytes; and a
// page can be made of whatever is sound.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/json.h"
#include "reports/publish/bundle_verify.h"
#include "reports/publish/results_page.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  plumbline::BundleReport report = plumbline::verify_bundle(text, "");
  if (report.sound() && plumbline::bundle_text(*report.document) != text) std::abort();
  // What an attacker gets past the hash by sealing anew.
  if (report.document != nullptr && report.document->contains("content")) {
    const auto sealed = plumbline::seal_bundle((*report.document)["content"]);
    report = plumbline::verify_bundle(plumbline::bundle_text(sealed), "");
    for (const auto& issue : report.problems) {
      if (issue.kind == "altered" || issue.kind == "form") std::abort();
    }
  }
  if (report.sound()) {
    if (plumbline::results_page({report}, {}).empty()) std::abort();
    std::vector<plumbline::BundleReport> twice = {report, report};
    plumbline::compare_bundles(twice);
  }
  return 0;
}
