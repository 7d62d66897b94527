#include "runs/conduct.h"

#include <cstdlib>
#include <deque>
#include <utility>

#include "core/encode.h"
#include "core/log.h"
#include "launch/leftovers.h"
#include "runs/exit_code.h"
#include "runs/prepared_run.h"
#include "runs/run_session.h"

namespace plumbline {
namespace {

Conducted refused_run(const Error& error) {
  Conducted conducted;
  conducted.code = 1;
  conducted.refused = error;
  return conducted;
}

Conducted ended_run(RunOutcome outcome) {
  Conducted conducted;
  conducted.code = outcome.exit_code;
  conducted.outcomes.push_back(std::move(outcome));
  return conducted;
}

Conducted measure_repeatedly(std::deque<RunSession>& sessions, Caller& caller) {
  const RunRequest& asked = sessions.front().prepared().asked;
  RepeatRun repeated(*asked.repeats, asked.quiet, caller);
  for (RunSession& session : sessions) {
    const PreparedRun& run = session.prepared();
    repeated.add({run.asked.side, session.request(), &session.ranks(),
                  [&session] { session.world().stop(); }, run.earlier},
                 run.records_path);
  }
  const Expected<RepeatSummary> summary = repeated.measure();
  RunProgress over;
  over.over = true;
  caller.progress(over);
  Conducted conducted;
  for (RunSession& session : sessions) {
    conducted.outcomes.push_back(summary ? session.finish(summary->counts)
                                         : session.fail_with(summary.error()));
    conducted.code = worse_exit_code(conducted.code, conducted.outcomes.back().exit_code);
  }
  if (!summary) return conducted;
  conducted.compared = repeated.compare();
  conducted.code = worse_exit_code(conducted.code, conducted.compared.code);
  return conducted;
}

}  // namespace

Conducted conduct(std::vector<PreparedRun> runs, Caller& caller) {
  constexpr size_t kIdLength = 16;
  const std::string run_id = to_hex(random_token()).substr(0, kIdLength);
  setenv(kRunIdVariable, run_id.c_str(), 1);  // for what we start here
  PortClaims claims;
  std::deque<RunSession> sessions;  // their ranks may speak until the end
  for (PreparedRun& run : runs) sessions.emplace_back(std::move(run), caller);
  for (size_t i = 0; i < sessions.size(); ++i) {
    const PreparedRun* other =
        sessions.size() == 2 ? &sessions[sessions.size() - 1 - i].prepared() : nullptr;
    const auto& repeats = sessions[i].prepared().asked.repeats;
    const RunPart part = {run_id, repeats ? repeats->launches : 1, other, &claims};
    if (const Status opened = sessions[i].open(part); !opened) return refused_run(opened.error());
  }
  const Logger log("coordinator", log_level(sessions.front().prepared().options),
                   log_lines([&caller](const std::string& line) { caller.say(line); }));
  for (RunSession& session : sessions) {
    if (auto ended = session.reach(log)) return ended_run(std::move(*ended));
  }
  if (sessions.front().prepared().asked.repeats) return measure_repeatedly(sessions, caller);
  return ended_run(sessions.front().measure());
}

}  // namespace plumbline
