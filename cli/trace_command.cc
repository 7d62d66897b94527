// `plumbline trace`: what captures show, and where packets vanish between two of them.

#include <iostream>

#include "cli/commands.h"
#include "probes/traces/analyse.h"
#include "reports/charts/trace_plot.h"

namespace plumbline {
namespace {

struct Findings {
  std::vector<TraceSummary> traces;
  TraceComparison both;  // of exactly two traces
};

Expected<Findings> read_files(const std::vector<std::string>& files, const Args& args) {
  const bool insist = args.has("compare");
  if (insist && files.size() != 2) {
    return fail(ErrorCode::kUsage, "--compare takes two files", "one from each host");
  }
  if (files.size() != 2 && args.has("first-at")) {
    return fail(ErrorCode::kUsage, "--first-at takes two files", "one from each host");
  }
  Findings findings;
  for (const std::string& file : files) {
    Expected<TraceSummary> summary = analyse_trace_file(file);
    if (!summary) return fail(summary.error());
    findings.traces.push_back(std::move(*summary));
  }
  if (files.size() != 2) return findings;
  Expected<TraceComparison> both = compare_trace_files(files[0], files[1], args.all("first-at"));
  if (!both) return fail(both.error());
  if (insist && !both->overlap.not_compared.empty()) {
    return fail(ErrorCode::kConfig,
                "comparing " + files[0] + " and " + files[1] + ": " + both->overlap.not_compared,
                "capture on both hosts at the same time");
  }
  findings.both = std::move(*both);
  return findings;
}

// Index of the flow to draw: the one asked for, else the one with the most packets.
Expected<int64_t> flow_to_draw(const TraceSummary& summary, const Args& args) {
  if (args.has("flow")) {
    constexpr int64_t kMostFlows = 1'000'000'000;
    const Expected<int64_t> number = flag_number(args, "flow", 1, 1, kMostFlows);
    if (!number) return fail(number.error());
    return *number - 1;
  }
  int64_t best = -1, most = -1;
  for (size_t i = 0; i < summary.flows.size(); ++i) {
    const TraceFlow& flow = summary.flows[i];
    if (flow.protocol != "tcp" || flow.a.packets + flow.b.packets <= most) continue;
    most = flow.a.packets + flow.b.packets;
    best = static_cast<int64_t>(i);
  }
  if (best < 0) return fail(ErrorCode::kUsage, "no TCP flow to plot in " + summary.file);
  return best;
}

Status draw(const std::string& file, const TraceSummary& summary, const Args& args) {
  const Expected<int64_t> flow = flow_to_draw(summary, args);
  if (!flow) return fail(flow.error());
  const Expected<TracePoints> points = trace_points(file, *flow);
  if (!points) return fail(points.error());
  return write_trace_plot(*points, args.get("plot"));
}

void print(const Findings& findings, const Args& args, Context& context) {
  std::ostream& out = *context.out;
  if (args.has("json")) {
    out << trace_json(findings.traces, findings.both);
    return;
  }
  for (size_t i = 0; i < findings.traces.size(); ++i) {
    out << (i == 0 ? "" : "\n") << trace_text(findings.traces[i], context.width);
  }
  if (findings.traces.size() == 2) {
    out << "\nBoth traces together:\n" << compare_text(findings.both, context.width);
  }
}

}  // namespace

int run_trace(const Args& args, Context& context) {
  const std::vector<std::string> files = args.all("file");
  if (args.has("flow") && !args.has("plot")) {
    return usage_failure(context, usage_error("--flow without --plot", "name a picture to draw"));
  }
  if (args.has("plot") && files.size() != 1) {
    return usage_failure(context, usage_error("--plot draws from one file",
                                              std::to_string(files.size()) + " were given"));
  }
  const Expected<Findings> findings = read_files(files, args);
  if (!findings) return usage_failure(context, findings.error());
  if (args.has("plot")) {
    const Status drawn = draw(files[0], findings->traces[0], args);
    if (!drawn) return usage_failure(context, drawn.error());
    *context.err << "plumbline: wrote " << args.get("plot") << "\n";
  }
  print(*findings, args, context);
  return 0;
}

}  // namespace plumbline
