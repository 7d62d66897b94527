#include "runs/run_session.h"

#include <filesystem>
#include <utility>

#include "probes/gather/gather.h"
#include "reports/read_input.h"
#include "runs/doctor_run.h"
#include "runs/plan_of.h"
#include "runs/soak_run.h"
#include "scenarios/expand.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

bool wants_traces(const PreparedRun& run) { return run.scenario.keep_traces != "never"; }

DiagnoseRequest ladder_of(const PreparedRun& run, Caller& caller) {
  DiagnoseRequest request;
  request.scenario = &run.scenario;
  request.options = &run.options;
  request.ranks = largest_world(run.plan);
  request.over_tcp_too = true;  // `auto`: there is no transport yet that could need it
  for (const ProbeCall& call : run.scenario.probes) {
    request.calls.push_back(probe_call(call, run.asked.permitted.commands));
  }
  request.trace_folder = (fs::path(run.folder) / "traces").string();
  request.keep_traces = run.scenario.keep_traces;
  request.progress = [to = &caller](const std::string& text) {
    RunProgress probing;
    probing.probing = text;
    to->progress(probing);
  };
  request.interrupted = [asked = &caller] { return asked->ask() != Wish::kGoOn; };
  return request;
}

}  // namespace

// Strangers at the ranks' ports, once for the whole run.
void RunSession::tell_refused() {
  if (!world_) return;
  const RefusedConnections refused = world_->take_refused();
  if (refused.total == 0) return;
  tell(refused.text() +
       "; they reached no rank (a port scan, another program, another run's ranks?)");
}

RunOutcome RunSession::outcome() const {
  RunOutcome outcome;
  outcome.run_id = part_.id;
  outcome.scenario = run_.scenario.name;
  outcome.folder = run_.folder;
  outcome.records = run_.records_path;
  outcome.exit_code = 2;
  return outcome;
}

RunOutcome RunSession::finish(RunSummary summary) {
  tell_refused();
  RunOutcome ended = outcome();
  const int code = exit_code(summary);
  ended.exit_code = code == 0 && has_failure(probed_) ? 2 : code;
  ended.state.state = summary.interrupted        ? "interrupted"
                      : !summary.stopped.empty() ? "stopped"
                                                 : "finished";
  ended.state.reason = summary.stopped;
  ended.state.planned = run_.plan.cells.size() * static_cast<size_t>(run_.asked.rounds);
  ended.state.measured = summary.passed + summary.failed + summary.skipped + summary.errors;
  summary.records.clear();
  ended.counts = std::move(summary);
  if (files_) files_->finish(probed_, ended);
  return ended;
}

RunOutcome RunSession::fail_with(const Error& error, int code) {
  return fail_with(std::vector<Error>{error}, code);
}

RunOutcome RunSession::fail_with(const std::vector<Error>& errors, int code) {
  tell_refused();
  for (const Error& error : errors) tell(error.message());
  RunOutcome ended = outcome();
  ended.exit_code = code;
  ended.state.state = "stopped";
  ended.state.reason = errors.front().message();
  if (files_) files_->give_up(ended);
  return ended;
}

Status RunSession::open(const RunPart& part) {
  part_ = part;
  if (!run_.keeps()) return {};
  files_.emplace(run_, part_, caller_);
  return files_->open();
}

std::optional<RunOutcome> RunSession::reach(const Logger& log) {
  ladder_ = ladder_of(run_, caller_);
  if (std::optional<RunOutcome> ended = reach_agents_of()) return ended;
  if (has_failure(probed_) && !run_.asked.despite_findings) {
    // A broken pair gives no result that anybody could trust.
    const fs::path file = fs::path(run_.folder) / kDoctorFile;
    tell("not measured, because the probes found what breaks it" +
         (run_.keeps() ? " (" + file.string() + ")" : "") + "; heal it, or add --despite-findings");
    RunSummary nothing;
    nothing.stopped = "the probes found what breaks it";
    return finish(std::move(nothing));
  }
  ready_ranks(log);
  return run_.plan.listed ? start_ranks() : std::nullopt;
}

void RunSession::probe_first() {
  probed_ = diagnose(ladder_, *agents_);
  if (files_) files_->keep(probed_);
  if (run_.asked.quiet) return;
  for (const std::string& line : finding_lines(probed_)) caller_.say(line);
}

std::optional<RunOutcome> RunSession::reach_agents_of() {
  const bool probes = run_.asked.probes && !run_.scenario.probes.empty();
  Expected<Reach> reach =
      make_reach(run_.asked.program, run_.options, run_.scenario.hosts, caller_);
  if (!reach) return fail_with(reach.error(), 1);
  reach->run_id = part_.id;
  reach_ = std::move(*reach);
  if (probes || run_.asked.soak || wants_traces(run_) || any_by_ssh(run_.scenario.hosts) ||
      wants_data_addresses(run_.scenario.hosts)) {
    if (run_.launched) {
      reach_agents(*run_.launched, reach_, run_.options, agents_);
    } else {
      agents_.emplace(run_.scenario.hosts, reach_, run_.options);
    }
  }
  if (agents_) {
    auto found = agents_->find_data_addresses();
    if (!found) {  // the control network is never measured in their place
      return fail_with(found.error());
    }
    run_.scenario.hosts = std::move(*found);
    if (!run_.plan.listed) skip_what_is_apart(run_.plan.cells, run_.scenario.hosts);
  }
  if (agents_ && !run_.launched) {  // a launcher has placed its ranks as it likes
    const Status fits =
        fits_memory(run_.plan, run_.options, run_.scenario.hosts, agents_->memory());
    if (!fits) return fail_with(fits.error(), 1);
  }
  if (probes) probe_first();
  if (!probes && agents_ && agents_->first_failure()) return fail_with(*agents_->first_failure());
  return std::nullopt;
}

void RunSession::ready_ranks(const Logger& log) {
  notices_.emplace(run_.folder, part_.id, caller_);
  const auto told = [this](const std::string& text) { notices_->tell(text); };
  WorldSpec spec{reach_, run_.scenario.hosts, run_.options, run_.asked.command, run_.plan.hash,
                 &log,   run_.launched.get()};
  spec.caller = &caller_;
  spec.notice = told;
  spec.claims = part_.claims;
  spec.ranks_in_process = run_.asked.ranks_in_process;
  world_.emplace(std::move(spec));
  if (wants_traces(run_)) {
    traced_.emplace(*world_, run_.scenario, *agents_, job_of(ladder_).ports, ladder_.trace_folder,
                    run_.scenario.keep_traces);
  }
  request_.scenario = &run_.scenario;
  request_.plan = &run_.plan;
  request_.run_id = part_.id;
  request_.command = run_.asked.command;
  request_.finished_ids = run_.finished;
  request_.file = files_ ? &files_->records() : nullptr;
  request_.rounds = run_.asked.rounds;
  request_.gather = files_.has_value();
  request_.notice = told;
}

// Whoever listed the cells is told of the first one only when its ranks are there and have the
// memory for all of them.
std::optional<RunOutcome> RunSession::start_ranks() {
  if (run_.plan.cells.empty()) return std::nullopt;
  const Status started = world_->ensure_world(world_of(run_.plan.cells.front().cell));
  if (!started) {
    const ErrorCode code = started.error().code;
    const bool to_correct = code == ErrorCode::kBusy || code == ErrorCode::kConfig;
    return fail_with(started.error(), to_correct ? 1 : 2);
  }
  for (const PlanCell* cell : largest_cells(run_.plan)) {
    if (const Status fits = world_->fits(*cell); !fits) return fail_with(fits.error(), 1);
  }
  const std::vector<RankSeat> seats = world_->seats();
  RunProgress there;
  there.ranks = &seats;
  caller_.progress(there);
  return std::nullopt;
}

RunOutcome RunSession::measure() {
  request_.progress = [this](const RunProgress& state) { caller_.progress(state); };
  Expected<RunSummary> summary = [this]() -> Expected<RunSummary> {
    if (!run_.asked.soak) return run_plan(request_, ranks());
    const Expected<SoakSummary> done = soak({*run_.asked.soak, request_, &*agents_, job_of(ladder_),
                                             &*notices_, run_.asked.quiet, &caller_},
                                            ranks());
    if (!done) return fail(done.error());
    return done->counts;
  }();
  world_->stop();
  RunProgress over;
  over.over = true;
  caller_.progress(over);
  return summary ? finish(std::move(*summary)) : fail_with(summary.error());
}

TracedRunner::TracedRunner(CellRunner& inner, const Scenario& scenario, const AgentSet& agents,
                           std::vector<int> ports, std::string folder, std::string keep)
    : inner_(inner), ports_(std::move(ports)), folder_(std::move(folder)), keep_(std::move(keep)) {
  context_.agents = agents.agents();
  context_.evidence.hosts = agents.greetings();
  for (const ScenarioHost& host : scenario.hosts) {
    std::vector<std::string> addresses;
    for (const std::string& text : host.data) addresses.push_back(data_address(text).ip);
    own_.push_back(std::move(addresses));
  }
}

Expected<Measurement> TracedRunner::run(const PlanCell& cell) {
  HostCaptures captures(context_, "cell", own_, ports_);
  captures.start();
  Expected<Measurement> measurement = inner_.run(cell);
  const bool failed = !measurement || measurement->outcome != Outcome::kPassed;
  const bool keep = keep_ == "always" || failed;
  captures.stop(keep);
  if (keep) captures.fetch((std::filesystem::path(folder_) / cell_id(cell.cell)).string());
  return measurement;
}

}  // namespace plumbline
