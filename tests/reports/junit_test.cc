// JUnit XML, read back by a parser that knows the rules of well-formedness.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>

#include "tests/reports/exchange_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::input_of;
using samples::report_text;
using testing::HasSubstr;

struct Element {
  std::string tag, text;
  std::map<std::string, std::string> attributes;
  std::vector<Element> children;

  std::vector<const Element*> all(const std::string& wanted) const {
    std::vector<const Element*> found;
    for (const Element& child : children) {
      if (child.tag == wanted) found.push_back(&child);
      for (const Element* below : child.all(wanted)) found.push_back(below);
    }
    return found;
  }
};

// Refuses everything that XML 1.0 forbids of what we write: no lenience, no recovery.
class XmlReader {
 public:
  explicit XmlReader(std::string text) : text_(std::move(text)) {}

  bool read(Element& root) {
    check_characters();
    const std::string declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    if (text_.compare(0, declaration.size(), declaration) != 0) return fail("no declaration");
    at_ = declaration.size();
    skip_blanks();
    if (!element(root)) return false;
    skip_blanks();
    return ok_ && (at_ == text_.size() || fail("text behind the root"));
  }
  const std::string& problem() const { return problem_; }

 private:
  bool fail(const std::string& why) {
    if (ok_) problem_ = why + " at " + std::to_string(at_) + ": " + text_.substr(at_, 40);
    ok_ = false;
    return false;
  }

  // Char ::= #x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF], as UTF-8.
  void check_characters() {
    for (size_t i = 0; i < text_.size();) {
      const auto byte = [&](size_t k) { return static_cast<unsigned char>(text_[k]); };
      const size_t length = byte(i) < 0x80 ? 1 : byte(i) >= 0xF0 ? 4 : byte(i) >= 0xE0 ? 3 : 2;
      char32_t value = length == 1 ? byte(i) : byte(i) & (0xFFU >> (length + 1));
      bool good = (byte(i) < 0x80 || byte(i) >= 0xC2) && i + length <= text_.size();
      for (size_t k = 1; good && k < length; ++k) {
        good = (byte(i + k) & 0xC0U) == 0x80U;
        value = (value << 6) | (byte(i + k) & 0x3FU);
      }
      const bool allowed = value == 9 || value == 10 || value == 13 ||
                           (value >= 0x20 && value <= 0xD7FF) ||
                           (value >= 0xE000 && value <= 0xFFFD) || value >= 0x10000;
      if (!good || !allowed) {
        at_ = i;
        fail("a character that XML does not have");
        return;
      }
      i += length;
    }
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  std::string name() {
    std::string out;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-')) {
      out += text_[at_++];
    }
    return out;
  }

  bool text_until(char end, std::string& out) {
    while (at_ < text_.size() && text_[at_] != end) {
      if (text_[at_] == '<') return fail("a bare <");
      if (text_.compare(at_, 3, "]]>") == 0) return fail("a bare ]]>");
      if (text_[at_] != '&') {
        out += text_[at_++];
        continue;
      }
      bool known = false;
      for (const auto& [entity, value] : {std::pair{"&amp;", '&'},
                                          {"&lt;", '<'},
                                          {"&gt;", '>'},
                                          {"&quot;", '"'},
                                          {"&apos;", '\''},
                                          {"&#39;", '\''}}) {
        if (text_.compare(at_, std::string(entity).size(), entity) != 0) continue;
        out += value;
        at_ += std::string(entity).size();
        known = true;
        break;
      }
      if (!known) return fail("an entity that is not there");
    }
    return at_ < text_.size() || fail("the end of the text");
  }

  bool element(Element& out) {
    if (text_[at_] != '<') return fail("no element");
    ++at_;
    out.tag = name();
    if (out.tag.empty()) return fail("no name");
    for (skip_blanks(); std::isalpha(static_cast<unsigned char>(text_[at_])) != 0; skip_blanks()) {
      const std::string key = name();
      if (text_.compare(at_, 2, "=\"") != 0) return fail("an attribute without a value");
      at_ += 2;
      if (out.attributes.contains(key)) return fail("an attribute twice");
      if (!text_until('"', out.attributes[key])) return false;
      ++at_;
    }
    if (text_.compare(at_, 2, "/>") == 0) {
      at_ += 2;
      return true;
    }
    if (text_[at_] != '>') return fail("no end of the tag");
    ++at_;
    return content(out);
  }

  bool content(Element& out) {
    for (;;) {
      while (at_ < text_.size() && text_[at_] != '<') {
        if (!text_until('<', out.text)) return false;
      }
      if (text_.compare(at_, 2, "</") == 0) {
        at_ += 2;
        if (name() != out.tag || text_[at_] != '>') return fail("the wrong end tag");
        ++at_;
        return true;
      }
      if (!element(out.children.emplace_back())) return false;
    }
  }

  std::string text_, problem_;
  size_t at_ = 0;
  bool ok_ = true;
};

Element parsed(const std::string& text) {
  Element root;
  XmlReader reader(text);
  EXPECT_TRUE(reader.read(root)) << reader.problem();
  return root;
}

const Element* case_named(const Element& root, const std::string& part) {
  for (const Element* one : root.all("testcase")) {
    if (one->attributes.at("name").find(part) != std::string::npos) return one;
  }
  ADD_FAILURE() << "no test case with " << part;
  return &root;
}

TEST(Junit, ReaderOfTheTestRefusesWhatIsNoXml) {
  const std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
  for (const char* bad : {"<a>", "<a></b>", "<a b=\"1\" b=\"2\"/>", "<a>&x;</a>", "<a b=\"<\"/>",
                          "<a>\x01</a>", "<a>\xFF</a>", "<a>\xEF\xBF\xBE</a>", "<a/>x"}) {
    Element root;
    EXPECT_FALSE(XmlReader(head + bad).read(root)) << bad;
  }
}

TEST(Junit, EveryRecordIsATestCaseAndTheSumsAreRight) {
  const std::vector<Record> records = samples::small_run();
  const Element root = parsed(report_text("junit", input_of(records)));
  EXPECT_EQ(root.tag, "testsuites");
  EXPECT_EQ(root.all("testcase").size(), records.size());
  for (const auto& [attribute, tag] :
       {std::pair{"failures", "failure"}, {"errors", "error"}, {"skipped", "skipped"}}) {
    // Jenkins' schema has no such attribute of all suites together.
    const bool in_all = std::string_view(tag) != "skipped";
    EXPECT_EQ(root.attributes.contains(attribute), in_all) << tag;
    if (in_all) {
      EXPECT_EQ(root.attributes.at(attribute), std::to_string(root.all(tag).size()));
    }
    EXPECT_GT(root.all(tag).size(), 0U) << tag;
    size_t in_suites = 0;
    for (const Element* suite : root.all("testsuite")) {
      in_suites += std::stoul(suite->attributes.at(attribute));
      EXPECT_EQ(suite->attributes.at(attribute), std::to_string(suite->all(tag).size()));
    }
    EXPECT_EQ(in_suites, root.all(tag).size()) << tag;
  }
  EXPECT_EQ(root.attributes.at("tests"), std::to_string(records.size()));
}

TEST(Junit, ReasonsStandBesideWhatDidNotPass) {
  const Element root = parsed(report_text("junit", input_of(samples::small_run())));
  const Element* wrong = case_named(root, "ring, 4 ranks, tcp, 4 KiB");
  ASSERT_EQ(wrong->all("failure").size(), 1U);
  EXPECT_THAT(wrong->all("failure")[0]->attributes.at("message"),
              HasSubstr("12 wrong elements: element 3 of rank 1"));
  const Element* error = case_named(root, "ring, 4 ranks, tcp, 64 KiB");
  ASSERT_EQ(error->all("error").size(), 1U);
  EXPECT_EQ(error->all("error")[0]->attributes.at("type"), "transport.peer_lost");
  EXPECT_THAT(case_named(root, "ring, 4 ranks, tcp, 8 KiB")->all("system-out").at(0)->text,
              HasSubstr("noisy: oversubscribed, cv"));
  EXPECT_THAT(case_named(root, "ring, 4 ranks, tcp, 32 KiB")
                  ->all("skipped")
                  .at(0)
                  ->attributes.at("message"),
              HasSubstr("power-of-two"));
}

TEST(Junit, ProbesFindingsAndRules) {
  ReportInput input;
  const auto check = [](const char* key, CheckOutcome outcome) {
    Check one;
    one.key = one.id = key;
    one.outcome = outcome;
    one.reason = "because";
    return one;
  };
  input.checks = {check("good", CheckOutcome::kPass), check("odd", CheckOutcome::kWarn),
                  check("bad", CheckOutcome::kFail), check("left", CheckOutcome::kSkipped),
                  check("dark", CheckOutcome::kUnknown)};
  Finding finding;
  finding.cause = "tcp.port_in_use";
  finding.host = "node1";
  finding.port = 29500;
  finding.remedy = "stop it";
  input.findings = {finding};
  input.findings.push_back(finding);
  input.findings.back().outcome = Severity::kNote;
  input.rules = {{"fast enough", "a.json $.expect[0]", true, "12 of 12", {}, {}},
                 {"too slow", "a.json $.expect[1]", false, "worst: 61 %", {}, {}}};
  const Element root = parsed(report_text("junit", input));
  EXPECT_EQ(root.all("testcase").size(), 9U);
  EXPECT_EQ(root.attributes.at("failures"), "3");
  EXPECT_EQ(root.all("skipped").size(), 2U);
  EXPECT_TRUE(case_named(root, "good")->all("failure").empty());
  EXPECT_TRUE(case_named(root, "odd")->all("failure").empty());
  EXPECT_EQ(case_named(root, "dark")->all("skipped").size(), 1U);  // unknown is no pass
  EXPECT_THAT(case_named(root, "too slow")->all("failure").at(0)->text, HasSubstr("61 %"));
  EXPECT_THAT(case_named(root, "tcp.port_in_use on node1, port 29500")
                  ->all("failure")
                  .at(0)
                  ->attributes.at("message"),
              HasSubstr("remedy: stop it"));
}

TEST(Junit, HostileTextIsStillXml) {
  std::vector<Record> records;
  for (const Outcome outcome :
       {Outcome::kPassed, Outcome::kFailed, Outcome::kSkipped, Outcome::kError}) {
    Record r = samples::hostile(samples::record("latency", "allreduce", "ring", 2, 64, 1000));
    r.cell.bytes += static_cast<uint64_t>(outcome);
    r.measurement.outcome = outcome;
    records.push_back(r);
  }
  ReportInput input = input_of(records);
  input.rules = {{"<a>\xC3", "\x1b", false, "]]>", {}, {}}};
  const Element root = parsed(report_text("junit", input));
  EXPECT_EQ(root.all("testcase").size(), 5U);
  EXPECT_THAT(root.all("error").at(0)->text, HasSubstr("<!-- --><?xml?><![CDATA["));
}

// The rules of junit-10.xsd of jenkinsci/xunit-plugin
// (src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd) for the elements that we write.
struct ElementRule {
  const char* tag;
  std::set<std::string> required, optional, children;
  bool text;  // may hold characters other than blanks
};
const std::vector<ElementRule>& jenkins_rules() {
  static const std::vector<ElementRule> kRules = {
      {"testsuites", {}, {"name", "time", "tests", "failures", "errors"}, {"testsuite"}, false},
      {"testsuite",
       {"name", "tests", "failures", "errors"},
       {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
       {"testsuite", "properties", "testcase", "system-out", "system-err"},
       false},
      {"testcase",
       {"name"},
       {"time", "classname", "group"},
       {"skipped", "error", "failure", "rerunFailure", "rerunError", "flakyFailure", "flakyError",
        "system-out", "system-err"},
       false},
      {"failure", {}, {"type", "message"}, {}, true},
      {"error", {}, {"type", "message"}, {}, true},
      {"skipped", {}, {"type", "message"}, {}, true},
      {"system-out", {}, {}, {}, true},
      {"system-err", {}, {}, {}, true},
  };
  return kRules;
}

// SUREFIRE_TIME, of testsuites and testsuite.
bool is_surefire_time(const std::string& text) {
  static const std::regex kTime(R"((([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?)");
  return std::regex_match(text, kTime);
}

void check_against_jenkins(const Element& element, std::vector<std::string>& broken) {
  const auto rule = std::find_if(jenkins_rules().begin(), jenkins_rules().end(),
                                 [&](const ElementRule& one) { return one.tag == element.tag; });
  if (rule == jenkins_rules().end()) {
    broken.push_back("no element " + element.tag);
    return;
  }
  for (const std::string& name : rule->required) {
    if (!element.attributes.contains(name)) broken.push_back(element.tag + " without " + name);
  }
  for (const auto& [name, value] : element.attributes) {
    if (!rule->required.contains(name) && !rule->optional.contains(name)) {
      broken.push_back(element.tag + " with " + name);
    }
    const bool timed = element.tag == "testsuites" || element.tag == "testsuite";
    if (timed && name == "time" && !is_surefire_time(value)) {
      broken.push_back(element.tag + " lasts " + value);
    }
  }
  if (!rule->text && element.text.find_first_not_of(" \t\r\n") != std::string::npos) {
    broken.push_back(element.tag + " with text");
  }
  for (const Element& child : element.children) {
    if (!rule->children.contains(child.tag)) {
      broken.push_back(child.tag + " in " + element.tag);
    }
    check_against_jenkins(child, broken);
  }
}

std::vector<std::string> broken_rules(const Element& root) {
  std::vector<std::string> broken;
  if (root.tag != "testsuites" && root.tag != "testsuite") broken.push_back("root " + root.tag);
  check_against_jenkins(root, broken);
  return broken;
}

ReportInput all_kinds_of_cases() {
  ReportInput input = input_of(samples::small_run());
  input.records.back().measurement.elapsed_ns = -5;  // a clock that went back
  input.incomplete = {"interrupted after 3 of 9 cells"};
  for (const CheckOutcome outcome :
       {CheckOutcome::kPass, CheckOutcome::kFail, CheckOutcome::kSkipped, CheckOutcome::kUnknown}) {
    Check check;
    check.key = check.id = "tcp.connect";
    check.outcome = outcome;
    input.checks.push_back(check);
  }
  Finding finding;
  finding.cause = "tcp.port_in_use";
  input.findings = {finding};
  input.rules = {{"fast enough", "", true, "12 of 12", {}, {}},
                 {"too slow", "", false, "worst: 61 %", {}, {}}};
  return input;
}

TEST(Junit, IsValidByTheSchemaOfJenkins) {
  EXPECT_THAT(broken_rules(parsed(report_text("junit", all_kinds_of_cases()))), testing::IsEmpty());
  EXPECT_THAT(broken_rules(parsed(report_text("junit", {}))), testing::IsEmpty());
  std::vector<Record> records;
  for (const Outcome outcome : {Outcome::kPassed, Outcome::kError}) {
    records.push_back(
        samples::hostile(samples::record("latency", "allreduce", "ring", 2, 64, 1000)));
    records.back().measurement.outcome = outcome;
  }
  EXPECT_THAT(broken_rules(parsed(report_text("junit", input_of(records)))), testing::IsEmpty());
}

TEST(Junit, TheRulesOfJenkinsRefuseWhatIsNotInThem) {
  const std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
  const std::string suite = "<testsuite name=\"a\" tests=\"1\" failures=\"0\" errors=\"0\"";
  for (const std::string& bad : {
           std::string("<testsuites skipped=\"1\"/>"),
           std::string("<testsuite name=\"a\" tests=\"1\" failures=\"0\"/>"),
           suite + " time=\"-1.5\"/>",
           suite + " time=\"1e9\"/>",
           suite + "><testcase/></testsuite>",
           suite + "><failure/></testsuite>",
           suite + ">text</testsuite>",
           suite + "><testcase name=\"a\" line=\"1\"/></testsuite>",
           std::string("<testcase name=\"a\"/>"),
       }) {
    EXPECT_THAT(broken_rules(parsed(head + bad)), testing::Not(testing::IsEmpty())) << bad;
  }
}

TEST(Junit, NothingIsNoTestAndNoError) {
  EXPECT_EQ(parsed(report_text("junit", {})).attributes.at("tests"), "0");
}

}  // namespace
}  // namespace plumbline
