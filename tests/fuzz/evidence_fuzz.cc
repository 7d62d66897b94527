// Evidence files of any content: read, judged, written again, and their plans.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "check_plan.h"
#include "probes/probe.h"
#include "reports/doctor.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto evidence = plumbline::parse_evidence(text);
  if (!evidence) return 0;
  const plumbline::ProbeResult result = plumbline::judge_evidence(std::move(*evidence));
  // What was read can be written, and read again to the same.
  const std::string once = plumbline::evidence_text(result.evidence);
  const auto again = plumbline::parse_evidence(once);
  if (!again || plumbline::evidence_text(*again) != once) abort();
  plumbline::check_plan(result);
  return 0;
}
