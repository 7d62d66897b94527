// JUnit XML as CI systems read it: every cell, check of a probe, finding and rule is a test case. A
// failed one has <failure>, one that could not be decided <error> or <skipped>, each with its
// reason; nothing that was not seen to be right counts as passed. The text is XML 1.0 whatever a
// record holds: markup is escaped, characters that XML forbids are replaced.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/diagnosis/finding.h"
#include "core/record/record.h"
#include "reports/report.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

enum class Result { kPassed, kFailure, kError, kSkipped };

struct TestCase {
  std::string name;
  Result result = Result::kPassed;
  std::string type, message;  // of what is not passed
  std::string output;         // remarks; may be empty
  double seconds = 0;
};

struct Suite {
  std::string name;
  std::vector<TestCase> cases;

  size_t count(Result result) const {
    size_t n = 0;
    for (const TestCase& one : cases) n += one.result == result ? 1 : 0;
    return n;
  }
  double seconds() const {
    double sum = 0;
    for (const TestCase& one : cases) sum += one.seconds;
    return sum;
  }
};

TestCase case_of(const Item& item, bool several_runs) {
  const Measurement& m = item.record->measurement;
  TestCase one;
  one.name = describe(*item.record);
  if (several_runs) one.name += ", run " + item.record->run_id;
  one.seconds = static_cast<double>(std::max<int64_t>(0, m.elapsed_ns)) / 1e9;
  const std::string causes = join(item.record->noise.causes, ", ");
  one.type = m.cause.empty() ? to_string(m.outcome) : m.cause;
  one.message = reason_text(m.reason);
  switch (item.verdict) {
    case Verdict::kClean:
      if (verified_count(m)) one.output = verified_text(m);
      break;
    case Verdict::kNoisy:
      one.output = "noisy: " + causes;
      if (verified_count(m)) one.output += "; " + verified_text(m);
      break;
    case Verdict::kSkipped:
      one.result = Result::kSkipped;
      break;
    case Verdict::kFailed:
      one.result = Result::kFailure;
      break;
    case Verdict::kError:
      one.result = Result::kError;
      break;
    case Verdict::kInvalid:
      one.result = Result::kFailure;
      if (m.wrong.value_or(0) > 0) {
        one.message = fmt::format("{} wrong elements", *m.wrong);
        if (!m.reason.empty()) one.message += ": " + m.reason;
      } else {
        one.type = "invalid";
        one.message = "the number means nothing: " + reason_text(causes);
      }
      break;
  }
  return one;
}

std::vector<Suite> cell_suites(const View& view) {
  std::set<std::string> runs;
  for (const Item& item : view.items) runs.insert(item.record->run_id);
  std::map<std::string, Suite> by_kind;
  for (const Item& item : view.items) {
    const std::string kind = to_string(item.record->cell.kind);
    Suite& suite = by_kind[kind];
    suite.name = "cells." + kind;
    suite.cases.push_back(case_of(item, runs.size() > 1));
  }
  std::vector<Suite> suites;
  for (auto& [kind, suite] : by_kind) suites.push_back(std::move(suite));
  return suites;
}

// A failure where it stands as one: a check that a warning or a note explains fails no build, as it
// does not fail the run.
TestCase case_of(const Check& check, const Standings& standings) {
  TestCase one;
  one.name = check.key.empty() ? check.id : check.key;
  one.type = check.id;
  const Standing standing = standings.of(check);
  const std::string said = fmt::format("{}: {}", to_string(standing), reason_text(check.reason));
  switch (standing) {
    case Standing::kPass:
      one.output = check.reason;
      break;
    case Standing::kNote:
    case Standing::kWarn:
      one.output = said;
      break;
    case Standing::kFail:
      one.result = Result::kFailure;
      break;
    case Standing::kSkipped:
    case Standing::kUnknown:  // never a pass
      one.result = Result::kSkipped;
      break;
  }
  one.message = standing == Standing::kFail ? reason_text(check.reason) : said;
  return one;
}

TestCase case_of(const Finding& finding) {
  TestCase one;
  one.name = title_of(finding);
  one.type = finding.cause;
  const std::string text = gist_of(finding);
  if (finding.outcome == Severity::kFail) {
    one.result = Result::kFailure;
    one.message = reason_text(text);
  } else {
    one.output = std::string(to_string(finding.outcome)) + ": " + reason_text(text);
  }
  return one;
}

TestCase case_of(const RuleVerdict& rule) {
  TestCase one;
  one.name = rule.rule;
  if (!rule.where.empty()) one.name += " (" + rule.where + ")";
  if (rule.passed) {
    one.output = rule.message;
  } else {
    one.result = Result::kFailure;
    one.type = "rule";
    one.message = reason_text(rule.message);
  }
  return one;
}

// What is missing cannot be counted as passed.
void add_incomplete(const std::vector<std::string>& incomplete, std::vector<Suite>& suites) {
  if (incomplete.empty()) return;
  Suite& suite = suites.emplace_back();
  suite.name = "run";
  for (const std::string& text : incomplete) {
    TestCase one;
    one.name = "all planned cells were measured";
    one.result = Result::kError;
    one.type = "incomplete";
    one.message = text;
    suite.cases.push_back(std::move(one));
  }
}

template <typename Source, typename... More>
void add_suite(const char* name, const std::vector<Source>& sources, std::vector<Suite>& suites,
               const More&... more) {
  if (sources.empty()) return;
  Suite& suite = suites.emplace_back();
  suite.name = name;
  for (const Source& source : sources) suite.cases.push_back(case_of(source, more...));
}

// What both <testsuites> and <testsuite> may have in the schema of Jenkins' xUnit plugin
// (junit-10.xsd), whose times have no sign and no exponent.
std::string counts_text(size_t tests, size_t failures, size_t errors, double seconds) {
  return fmt::format(R"(tests="{}" failures="{}" errors="{}" time="{:.6f}")", tests, failures,
                     errors, seconds);
}

void write_case(const std::string& suite, const TestCase& one, std::ostream& out) {
  out << fmt::format(R"(    <testcase classname="plumbline.{}" name="{}" time="{:.6f}">)",
                     escape_markup(suite), escape_markup(one.name), one.seconds);
  const auto element = [&](const char* tag) {
    out << fmt::format("\n      <{0} message=\"{1}\" type=\"{2}\">{1}</{0}>", tag,
                       escape_markup(one.message), escape_markup(one.type));
  };
  if (one.result == Result::kFailure) element("failure");
  if (one.result == Result::kError) element("error");
  if (one.result == Result::kSkipped) {
    out << "\n      <skipped message=\"" << escape_markup(one.message) << "\"/>";
  }
  if (!one.output.empty()) {
    out << "\n      <system-out>" << escape_markup(one.output) << "</system-out>";
  }
  out << "\n    </testcase>\n";
}

Expected<std::vector<std::string>> write_junit(const ReportInput& input,
                                               const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the junit report needs an output stream");
  const View view = make_view(input.records);
  std::vector<Suite> suites = cell_suites(view);
  add_incomplete(input.incomplete, suites);
  add_suite("probes", input.checks, suites, Standings(input.findings));
  add_suite("findings", input.findings, suites);
  add_suite("rules", input.rules, suites);
  size_t tests = 0, failures = 0, errors = 0;
  double seconds = 0;
  for (const Suite& suite : suites) {
    tests += suite.cases.size();
    failures += suite.count(Result::kFailure);
    errors += suite.count(Result::kError);
    seconds += suite.seconds();
  }
  std::ostream& out = *target.out;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"plumbline\" "
      << counts_text(tests, failures, errors, seconds) << ">\n";
  for (const Suite& suite : suites) {
    out << "  <testsuite name=\"" << escape_markup(suite.name) << "\" "
        << counts_text(suite.cases.size(), suite.count(Result::kFailure),
                       suite.count(Result::kError), suite.seconds())
        << " skipped=\"" << suite.count(Result::kSkipped) << "\">\n";
    for (const TestCase& one : suite.cases) write_case(suite.name, one, out);
    out << "  </testsuite>\n";
  }
  out << "</testsuites>\n";
  return std::vector<std::string>{};
}

}  // namespace

ReportRow junit_report() {
  return {{"junit", "JUnit XML: cells, checks, findings and rules as test cases, for CI"},
          "junit.xml",
          write_junit};
}

}  // namespace plumbline
