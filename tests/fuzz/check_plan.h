// What must hold of the remedies and the plan of any diagnosis, however it came about.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

#include "probes/probe.h"
#include "reports/doctor.h"

namespace plumbline {

inline bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\n') || c == 0x7f;
  });
}

inline void check_plan(const ProbeResult& result) {
  DoctorReport report;
  for (const JobHost& host : result.evidence.job.hosts) report.hosts.push_back(host.name);
  report.checks = result.checks;
  report.findings = result.findings;
  for (const Finding& finding : result.findings) {
    for (const HostCommand& command : finding.remedy.commands()) {
      if (command.argv.empty() || command.argv[0].empty()) std::abort();
      const bool program = command.argv[0].find_first_not_of(
                               "abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
      if (!program || command.argv[0][0] == '-') std::abort();
      for (const std::string& word : command.argv) {
        if (has_control(word) || word.find('\n') != std::string::npos) std::abort();
      }
    }
    if (has_control(finding.remedy.text())) std::abort();
  }
  const std::string plan = doctor_fix_plan(report);
  if (has_control(plan)) std::abort();
  // Every line that is neither ours nor quoted begins with one of these words.
  for (size_t at = plan.find("\nrun "); at != std::string::npos; at = plan.find("\nrun ", at + 1)) {
    const char first = plan.at(at + 5);
    if (first < 'a' || first > 'z') std::abort();
  }
}

}  // namespace plumbline
