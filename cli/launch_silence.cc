#include "cli/launch_silence.h"

#include <fmt/format.h>

#include <utility>

#include "core/clock.h"
#include "core/units.h"
#include "reports/doctor.h"
#include "runs/doctor_run.h"
#include "runs/hosts/agent_set.h"
#include "runs/job_run.h"

namespace plumbline {
namespace {

constexpr int64_t kSilenceLookMs = 60'000;  // at most, agents and ladder together

}  // namespace

SilenceWatch::SilenceWatch(Subject subject, int64_t after_ns)
    : subject_(std::move(subject)), after_ns_(after_ns), heard_ns_(monotonic_ns()) {}

SilenceWatch::~SilenceWatch() {
  give_up_ = true;
  if (looking_.joinable()) looking_.join();
}

void SilenceWatch::heard() { heard_ns_ = monotonic_ns(); }

std::optional<std::string> SilenceWatch::verdict() {
  if (after_ns_ == 0 || told_) return std::nullopt;
  if (looking_.joinable()) {
    if (!done_) return std::nullopt;
    looking_.join();
    told_ = true;
    return std::move(text_);
  }
  if (monotonic_ns() - heard_ns_ < after_ns_) return std::nullopt;
  looking_ = std::thread([this] {
    text_ = look();
    done_ = true;
  });
  return std::nullopt;
}

std::string SilenceWatch::look() const {
  const std::string begin = fmt::format("plumbline: no rank has written for {}; ",
                                        format_duration(static_cast<double>(after_ns_)));
  const auto failed = [&](const Error& error) {
    return begin + "the launch could not be looked at: " + error.message() + "\n";
  };
  Scenario scenario;
  scenario.file = subject_.file;
  scenario.hosts = subject_.hosts;
  DiagnoseRequest request;
  request.scenario = &scenario;
  request.options = subject_.options;
  request.limit_ms = kSilenceLookMs;
  request.interrupted = [this] { return give_up_.load(); };
  AgentSet agents(scenario.hosts, *subject_.reach, *subject_.options);
  if (auto found = agents.find_data_addresses()) scenario.hosts = std::move(*found);
  const auto question = parse_job_question(subject_.run_id, host_names(scenario));
  if (!question) return failed(question.error());
  const Expected<ProbeResult> result = diagnose_job(request, *question, false, agents);
  if (!result) return failed(result.error());
  return begin + "what it waits for:\n\n" +
         doctor_text(report_of(*result), subject_.width, false, false) +
         "plumbline: the ranks go on\n";
}

}  // namespace plumbline
