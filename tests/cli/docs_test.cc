// The docs say what the tables say. After a wanted change run the tests with
// TEST_UPDATE_GOLDEN=1 and read the difference.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "cli/json_output.h"
#include "cli/vocabulary.h"
#include "core/field.h"
#include "core/json.h"
#include "core/record/cell_filter.h"
#include "probes/stacks/plan.h"
#include "probes/traces/analyse.h"
#include "reports/doctor.h"
#include "reports/links/link_kinds.h"
#include "reports/publish/bundle.h"
#include "scenarios/read_expect.h"
#include "tests/cli/reference.h"
#include "tests/scenarios/schema.h"
#include "tests/support/golden.h"
#include "tests/support/places.h"
#include "tests/support/program.h"
#include "tests/support/references.h"

namespace plumbline {
namespace {

std::string document(const std::string& name) { return test::source_dir() + "/docs/" + name; }

TEST(Docs, ReferenceIsWhatTheTablesGive) {
  EXPECT_TRUE(equals_golden(reference_markdown(), "../../docs/reference.md"));
}

TEST(Docs, RecordSchemaIsWhatTheTableGives) {
  EXPECT_TRUE(equals_golden(record_schema_json(), "../../docs/record.schema.json"));
}

TEST(Docs, RecordEventSchemaIsWhatTheTableGives) {
  EXPECT_TRUE(equals_golden(event_schema_json(), "../../docs/event.schema.json"));
}

TEST(Docs, ScenarioSchemaIsThatOfTheProgramsOwnTables) {
  EXPECT_TRUE(equals_golden(scenario_docs::scenario_schema(make_vocabulary()),
                            "../../docs/scenario.schema.json"));
}

// The page holds this table between its marks.
void expect_fields(const std::string& page, const std::string& table,
                   const std::string& mark = "fields") {
  const std::string begin = "<!-- " + mark + " -->\n";
  const std::string end = "<!-- end -->";
  std::string text = read_file(document(page));
  ASSERT_NE(text.find(begin), std::string::npos) << page << " " << mark;
  const size_t from = text.find(begin) + begin.size();
  const size_t to = text.find(end, from);
  ASSERT_LE(from, to);
  if (std::getenv("TEST_UPDATE_GOLDEN") != nullptr) {
    text.replace(from, to - from, table);
    std::ofstream(document(page)) << text;
    return;
  }
  EXPECT_EQ(text.substr(from, to - from), table);
}

TEST(Docs, RecordFormatHoldsEveryField) {
  expect_fields("record_format.md", record_reference_markdown());
  expect_fields("soak.md", fields_markdown(event_fields()));
}

std::string link_kinds_markdown() {
  std::string out =
      "| kind | | rate (Gbit/s) | one way, at least (ns) | source |\n|---|---|---:|---:|---|\n";
  for (const LinkKindRow& row : link_kind_table()) {
    const double gbit = static_cast<double>(row.rate_bps) / 1e9;
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, row.help,
                       row.rate_bps == 0 ? "as stated" : fmt::format("{:g}", gbit),
                       row.min_one_way_ns, row.source);
  }
  return out;
}

TEST(Docs, BundleFormatHoldsEveryFieldAndEveryLinkKind) {
  expect_fields("bundle_format.md", fields_markdown(bundle_fields()));
  expect_fields("bundle_format.md", link_kinds_markdown(), "link kinds");
}

// "doctor: check" -> {"key", "id" ...}, from the tables of docs/json_output.md.
std::map<std::string, std::set<std::string>> described_fields() {
  std::map<std::string, std::set<std::string>> out;
  std::istringstream lines(read_file(document("json_output.md")));
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("### ", 0) == 0) section = line.substr(4);
    if (line.rfind("| `", 0) != 0) continue;
    EXPECT_TRUE(out[section].insert(line.substr(3, line.find('`', 3) - 3)).second) << line;
  }
  return out;
}

std::set<std::string> keys_of(const nlohmann::json& object) {
  std::set<std::string> keys;
  for (const auto& item : object.items()) keys.insert(item.key());
  return keys;
}

// Nobody knew what the fields mean.
TEST(Docs, JsonOutputHoldsEveryFieldAndNoOther) {
  Finding finding;
  finding.evidence.emplace_back();
  finding.remedy = Command{"true"};
  DoctorReport report = {{"h"}, {Check()}, {finding}};
  report.job.emplace().ranks.emplace_back();
  const auto doctor = nlohmann::json::parse(doctor_json(report));
  TraceFlow flow;
  flow.icmp.emplace_back();
  flow.rate.emplace_back();
  TraceSummary summary;
  summary.flows = {flow};
  TraceComparison comparison;
  comparison.flows.emplace_back();
  const auto trace = nlohmann::json::parse(trace_json({summary}, comparison));
  const nlohmann::json& one = trace["traces"][0]["flows"][0];
  RunOutcome outcome;
  outcome.rules.emplace_back();
  const auto run = nlohmann::json::parse(run_json(outcome));
  StackPlan planned;
  planned.ranks.emplace_back().listeners.emplace_back();
  planned.traps.emplace_back();
  planned.variables.emplace_back();
  const nlohmann::json plan = planned;
  const std::map<std::string, std::set<std::string>> emitted = {
      {"doctor: plan", keys_of(plan)},
      {"doctor: planned rank", keys_of(plan["ranks"][0])},
      {"doctor: listener", keys_of(plan["ranks"][0]["listeners"][0])},
      {"doctor: trap", keys_of(plan["traps"][0])},
      {"doctor: variable", keys_of(plan["variables"][0])},
      {"run: report", keys_of(run)},
      {"run: rule", keys_of(run["rules"][0])},
      {"doctor: report", keys_of(doctor)},
      {"doctor: finding", keys_of(doctor["findings"][0])},
      {"doctor: command", keys_of(doctor["findings"][0]["commands"][0])},
      {"doctor: evidence", keys_of(doctor["findings"][0]["evidence"][0])},
      {"doctor: check", keys_of(doctor["checks"][0])},
      {"doctor: job", keys_of(doctor["job"])},
      {"doctor: job rank", keys_of(doctor["job"]["ranks"][0])},
      {"trace: report", keys_of(trace)},
      {"trace: summary", keys_of(trace["traces"][0])},
      {"trace: flow", keys_of(one)},
      {"trace: direction", keys_of(one["a"])},
      {"trace: round trips", keys_of(one["rtt"])},
      {"trace: icmp error", keys_of(one["icmp"][0])},
      {"trace: rate bin", keys_of(one["rate"][0])},
      {"trace: overlap", keys_of(trace["overlap"])},
      {"trace: left out", keys_of(trace["overlap"]["first"])},
      {"trace: pair", keys_of(trace["pairs"][0])},
      {"trace: loss", keys_of(trace["pairs"][0]["a_to_b"])},
  };
  EXPECT_EQ(described_fields(), emitted);
  EXPECT_EQ(keys_of(one["b"]), keys_of(one["a"]));
  EXPECT_EQ(keys_of(trace["pairs"][0]["here"]), keys_of(one));
}

// The ```json blocks of a page.
std::vector<std::string> json_blocks(const std::string& page) {
  const std::string begin = "```json\n", text = read_file(document(page));
  std::vector<std::string> blocks;
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    blocks.push_back(text.substr(at, text.find("```", at) - at));
  }
  return blocks;
}

TEST(Docs, ExamplesOfRulesAreRight) {
  const ScratchFolder folder;
  size_t files = 0, scenarios = 0;
  for (const std::string& block : json_blocks("rules.md")) {
    const std::string path = folder.write("example.json", block);
    if (block.find("plumbline_rules") != std::string::npos) {
      const auto rules = load_rules(path, make_vocabulary());
      EXPECT_TRUE(rules) << to_line(rules.error().front());
      ++files;
    } else {
      const auto scenario = load_scenario(path, make_vocabulary());
      ASSERT_TRUE(scenario) << to_line(scenario.error().front());
      EXPECT_FALSE(scenario->expect.empty());
      ++scenarios;
    }
  }
  EXPECT_GE(files, 2u);
  EXPECT_GE(scenarios, 1u);
}

// Every field that a rule's `where` can have is named.
TEST(Docs, RulesNameEveryField) {
  const std::string page = read_file(document("rules.md"));
  for (const std::string& field : filter_field_names()) {
    EXPECT_NE(page.find("`" + field + "`"), std::string::npos) << field;
  }
}

TEST(Docs, ListShowsEveryRowOfEveryTable) {
  const Finished list = run_program(plumbline_argv({"list"}));
  const Finished json = run_program(plumbline_argv({"list", "--json"}));
  for (const NamedTable& table : all_tables()) {
    EXPECT_FALSE(table.rows.empty()) << table.name;
    for (const Descriptor& row : table.rows) {
      EXPECT_NE(list.out.find(row.name), std::string::npos) << row.name;
      EXPECT_NE(json.out.find("\"" + row.name + "\""), std::string::npos) << row.name;
    }
  }
}

}  // namespace
}  // namespace plumbline
