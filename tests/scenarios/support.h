// What the tests of scenarios share: a vocabulary that stands for the tables of the other folders,
// and short ways to parse and plan.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/op.h"
#include "scenarios/plan.h"
#include "scenarios/scenario.h"

namespace plumbline::scenario_test {

inline std::string unsupported(const std::string& op, const std::string& algorithm, int ranks,
                               uint64_t count) {
  if (algorithm == "doubling" && (ranks & (ranks - 1)) != 0) {
    return "needs a power-of-two number of ranks";
  }
  if (algorithm == "exchange:3x3" && ranks != 9) return "needs radices whose product is 9";
  if (op == "allgather" && algorithm == "bruck" && count > 1000) return "takes small arrays only";
  return {};
}

inline Descriptor named(const std::string& name, const std::string& group = "") {
  Descriptor row;
  row.name = name;
  row.group = group;
  return row;
}

inline std::string malformed(const std::string& algorithm) {
  const std::string base = algorithm_base(algorithm);
  if (base == algorithm) return {};
  if (base != "exchange") return "takes no parameter";
  const bool radices =
      algorithm.find_first_not_of("0123456789x", base.size() + 1) == std::string::npos;
  return radices ? "" : "is no list of radices";
}

inline Vocabulary vocabulary() {
  Vocabulary v;
  for (const char* name : {"config", "ports", "name", "ssh", "launch", "host", "link", "ip",
                           "neighbour", "route", "firewall", "mtu", "quality", "rdma"})
    v.probes.push_back(named(name));
  Descriptor icmp = named("icmp");
  icmp.params = {{"max_ms", "number", "", "", ""}};
  v.probes.push_back(icmp);
  Descriptor tcp = named("tcp.connect");
  tcp.params = {{"ports", "list", "", "", "which ports"}, {"timeout_ms", "int", "", "", ""}};
  v.probes.push_back(tcp);
  Descriptor endpoint = named("endpoint");
  for (const char* name : {"url", "model", "key_from", "silence"}) {
    endpoint.params.push_back({name, "text", "", "", ""});
  }
  v.probes.push_back(endpoint);
  Descriptor software = named("software"), artifact = named("artifact");
  for (const char* name : {"packages", "python"}) {
    software.params.push_back({name, "text", "", "", ""});
  }
  artifact.params.push_back({"path", "text", "", "", ""});
  v.probes.push_back(software);
  v.probes.push_back(artifact);
  for (const char* name : {"tcp", "shm", "memory"}) v.transports.push_back(named(name));
  v.engines.push_back(named(kNativeEngine));
  for (const char* name : {"console", "csv", "plots", "links", "soak", "markdown", "html"}) {
    v.reports.push_back(named(name));
  }
  for (const char* name : {"ring", "doubling"}) v.algorithms.push_back(named(name, "allreduce"));
  for (const char* name : {"ring", "bruck"}) v.algorithms.push_back(named(name, "allgather"));
  for (const char* name : {"binomial", "chain"}) v.algorithms.push_back(named(name, "broadcast"));
  for (const OpRow& op : op_table()) {
    const bool has_own = std::string_view(op.name) == "allreduce" ||
                         std::string_view(op.name) == "allgather" ||
                         std::string_view(op.name) == "broadcast";
    if (!has_own) v.algorithms.push_back(named("direct", op.name));
  }
  v.algorithms.push_back(named("exchange", "allreduce"));
  v.algorithms.back().params = {{"RADICES", "radices", "", "", "sizes of groups"}};
  v.algorithm_unsupported = unsupported;
  v.algorithm_malformed = malformed;
  return v;
}

inline std::string all_lines(const std::vector<ScenarioProblem>& problems) {
  std::string out;
  for (const ScenarioProblem& problem : problems) out += to_line(problem) + "\n";
  return out;
}

// Parses a text that must be right.
inline Scenario parse(const std::string& text) {
  auto scenario = parse_scenario(text, "test.json", vocabulary());
  if (scenario) return *scenario;
  ADD_FAILURE() << all_lines(scenario.error());
  return {};
}

// A scenario with this matrix and nothing else that matters.
inline std::string with_matrix(const std::string& blocks, const std::string& more = "") {
  return R"({"plumbline": 1, "matrix": [)" + blocks + "]" + more + "}";
}

inline const std::string kNoRoofs = R"(, "roofs": false)";

inline PlanContext context() {
  PlanContext out;
  out.vocabulary = vocabulary();
  return out;
}

inline Plan plan_of(const Scenario& scenario, const PlanFilter& filter = {}, uint64_t seed = 1) {
  auto plan = make_plan(scenario, filter, seed, context());
  if (plan) return *plan;
  ADD_FAILURE() << plan.error().message();
  return {};
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A folder of its own that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "scenario-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  std::string path_;
};

}  // namespace plumbline::scenario_test
