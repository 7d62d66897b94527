// MPICH with the device ch4:ucx, as Debian builds it, and its launcher hydra.
#include <fmt/format.h>

#include "probes/evidence_query.h"
#include "probes/ports.h"
#include "probes/stacks/choice.h"
#include "probes/stacks/models.h"

namespace plumbline {
namespace {

// UCX takes one port of its range for each rank; mpiexec's own, on every address, is not to be had.
void judge_ranges(const StackPlan& plan, PlannedRank& first) {
  const auto ucx = port_span(first.variable("UCX_TCP_PORT_RANGE"), '-');
  if (!ucx) return;
  const int size = ucx->second - ucx->first + 1;
  int needed = 0, held = 0;
  for (const StackRank& rank : plan.ranks) needed += rank.host == first.rank().host ? 1 : 0;
  for (const StackListener& listener : first.rank().listeners) {
    if (listener.kind == "window" && listener.first >= ucx->first && listener.first <= ucx->second)
      held = listener.first;
  }
  if (needed + (held != 0 ? 1 : 0) <= size) return;
  first.trap(
      "tcp.port_collision", "fail",
      fmt::format("UCX_TCP_PORT_RANGE has {} ports for {} ranks on {}{}", size, needed,
                  first.rank().host,
                  held == 0 ? "" : fmt::format(", and mpiexec holds {} of them", held)),
      fmt::format("set UCX_TCP_PORT_RANGE={}-{}", ucx->second + 1, ucx->second + 1 + needed));
}

// mpiexec waits on its own host for the proxies that it starts on all of them.
void plan_hydra(PlannedRank& rank) {
  constexpr const char* kPurpose = "mpiexec, for its proxies (hydra)";
  for (const char* name : {"MPIEXEC_PORT_RANGE", "MPIEXEC_PORTRANGE", "MPICH_PORT_RANGE"}) {
    const auto range = port_span(rank.variable(name), ':');
    if (range) return rank.window(kPurpose, "0.0.0.0", range->first, range->second);
  }
  rank.ephemeral(kPurpose, "0.0.0.0");
}

}  // namespace

void plan_mpich(const StackQuestion& question, StackPlan& plan) {
  for (size_t i = 0; i < plan.ranks.size(); ++i) plan_ucx_rank(question, plan, i);
  if (plan.ranks.empty()) return;
  PlannedRank first(question, plan, 0);
  plan_hydra(first);
  judge_ranges(plan, first);
  plan.remarks.emplace_back(
      "mpiexec tells its proxies its own host name to call back: that name must lead to it from "
      "every host (mpiexec -iface NAME gives an address instead)");
  plan.remarks.emplace_back(
      "mpiexec -genvall hands on its whole environment (the default of hydra); MPICH built for "
      "ch4:ofi or ch3 heeds FI_* or MPIR_CVAR_CH3_* variables instead of UCX_*");
}

}  // namespace plumbline
