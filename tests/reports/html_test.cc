// The HTML page: its structure, what it says of good, bad and empty runs, hostile names, bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/json.h"
#include "reports/html/page.h"
#include "reports/html/writer.h"
#include "reports/report.h"
#include "tests/reports/html_scan.h"
#include "tests/reports/link_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::HtmlScan;
using samples::scan_html;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile =
    "</script></style><img src=x onerror=alert(1)>\"'`$(reboot)`\x1b[2J\xFF\xE2\x80\xAE\n<b>";

ReportInput page_input(std::vector<Record> records) {
  ReportInput input;
  input.records = std::move(records);
  return input;
}

std::string html(const ReportInput& input) {
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  const auto written = find_report("html")->write(input, target);
  EXPECT_TRUE(written) << written.error().message();
  return out.str();
}

// What holds of every page, whatever the records.
HtmlScan sound(const std::string& page) {
  HtmlScan scan = scan_html(page);
  EXPECT_EQ(scan.error, "");
  EXPECT_LE(page.size(), kMostPageBytes);
  EXPECT_EQ(scan.tags["script"], 2);
  EXPECT_EQ(scan.tags["style"], 1);
  EXPECT_EQ(scan.tags["main"], 1);
  EXPECT_EQ(scan.tags["h1"], 1);
  for (const char* tag : {"img", "iframe", "object", "embed", "form", "base", "audio", "video"}) {
    EXPECT_EQ(scan.tags.count(tag), 0U) << tag;
  }
  for (const std::string& name : scan.attributes) {
    EXPECT_THAT(name, Not(testing::StartsWith("on")));
    EXPECT_NE(name, "style");
    EXPECT_NE(name, "src");
  }
  EXPECT_THAT(page, testing::StartsWith("<!DOCTYPE html>\n<html lang=\"en\">"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  return scan;
}

class NoPrograms {
 public:
  NoPrograms() : before_(std::getenv("PATH")) { setenv("PATH", "/proc/nonexistent", 1); }
  ~NoPrograms() { setenv("PATH", before_.c_str(), 1); }
  NoPrograms(const NoPrograms&) = delete;
  NoPrograms& operator=(const NoPrograms&) = delete;

 private:
  std::string before_;
};

bool has_gnuplot() { return std::system("command -v gnuplot >/dev/null 2>&1") == 0; }

// None of its words begins a line of its own, or turns the direction of writing.
TEST(Html, ACommandThatIsToldIsOneLine) {
  Record record = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
  record.environment.command = {"plumbline", "a\n$(reboot)\x7f\xe2\x80\xae"};
  ReportInput input;
  input.records = {record};
  EXPECT_THAT(html(input), HasSubstr(R"(\x0a$(reboot)\x7f\u202e)"));
}

TEST(Html, EverySectionThatHasSomethingToSay) {
  ReportInput input = page_input(samples::small_run());
  input.scenario_text = "// as it was\n{\"plumbline\": 1}\n";
  const std::string page = html(input);
  const HtmlScan scan = sound(page);
  for (const char* id : {"verdict", "latency", "bandwidth", "throughput", "checks", "noise",
                         "environment", "reproduce"}) {
    EXPECT_THAT(page, HasSubstr("<section id=\"" + std::string(id) + "\"")) << id;
    EXPECT_THAT(page, HasSubstr("href=\"#" + std::string(id) + "\"")) << id;
  }
  for (const char* id : {"links", "soak", "ranks"}) {
    EXPECT_THAT(page, Not(HasSubstr("id=\"" + std::string(id) + "\""))) << id;
  }
  EXPECT_THAT(page, HasSubstr("<h1>How fast is this machine?</h1>"));
  EXPECT_THAT(page, HasSubstr("Not sound"));
  EXPECT_THAT(page, HasSubstr("plumbline run &#39;scenarios/quick start.json&#39; --out /tmp/x"));
  EXPECT_THAT(page, HasSubstr("// as it was\n{&quot;plumbline&quot;: 1}"));
  EXPECT_GT(scan.tags.at("table"), 5);
}

TEST(Html, TheAnswerComesFirst) {
  const std::string page = html(page_input(samples::small_run()));
  EXPECT_LT(page.find("class=\"answer"), page.find("<table"));
  EXPECT_LT(page.find("class=\"answer"), page.find("<figure"));
}

TEST(Html, SoundOnlyWhenNothingSpeaksAgainstIt) {
  const Record good = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
  ReportInput input = page_input({good});
  Check check;
  check.key = check.id = "host";
  check.outcome = CheckOutcome::kPass;
  input.checks = {check};
  const std::string page = html(input);
  EXPECT_THAT(page, HasSubstr("<strong>Sound</strong>"));
  EXPECT_THAT(page, HasSubstr("no fault in 1 check"));

  ReportInput failing = input;
  failing.checks[0].outcome = CheckOutcome::kFail;
  EXPECT_THAT(html(failing), HasSubstr("<strong>Not sound</strong>"));

  ReportInput found = input;
  Finding finding;
  finding.cause = "tcp.port_in_use";
  finding.host = "h1";
  finding.remedy = Remedy(Command{"kill", "<it>"}).say("then start again");
  finding.evidence = {{"h1", "ports/h1", "taken by 'x'"}};
  found.findings = {finding};
  const std::string with_finding = html(found);
  EXPECT_THAT(with_finding, HasSubstr("<strong>Not sound</strong>"));
  EXPECT_THAT(with_finding, HasSubstr("kill &#39;&lt;it&gt;&#39;</pre>"));
  EXPECT_THAT(with_finding, HasSubstr("<p>then start again</p>"));  // advice is no command

  ReportInput ruled = input;
  ruled.rules.push_back(
      {"latency <= 1 us", "x.json $.expect[0]", false, "1 of 1 is above", {}, {}});
  const std::string with_rule = html(ruled);
  EXPECT_THAT(with_rule, HasSubstr("<strong>Not sound</strong>"));
  EXPECT_THAT(with_rule, HasSubstr("1 rule: 1 fail"));
  EXPECT_THAT(with_rule, HasSubstr("NOT MET"));
  ruled.rules[0].passed = true;
  EXPECT_THAT(html(ruled), HasSubstr("<strong>Sound</strong>"));

  ReportInput noted = input;
  noted.notes = {"interrupted: the rest was not measured"};
  EXPECT_THAT(html(noted), HasSubstr("<strong>Sound, with remarks</strong>"));

  ReportInput wrong = input;
  wrong.records[0].measurement.wrong = 3;
  EXPECT_THAT(html(wrong), HasSubstr("<strong>Not sound</strong>"));
}

TEST(Html, NothingAtAll) {
  const std::string page = html({});
  sound(page);
  EXPECT_THAT(page, HasSubstr("Nothing measured"));
  EXPECT_THAT(page, HasSubstr("nothing was measured; nothing was probed before"));
}

TEST(Html, OnlyErrors) {
  Record record = samples::record("bandwidth", "allreduce", "ring", 2, 64, 1000, 0);
  record.measurement.outcome = Outcome::kError;
  record.measurement.reason = "rank 1 is gone";
  const std::string page = html(page_input({record}));
  sound(page);
  EXPECT_THAT(page, HasSubstr("1 cell: 1 error"));
  EXPECT_THAT(page, HasSubstr("rank 1 is gone"));
  EXPECT_THAT(page, Not(HasSubstr("<figure")));
}

TEST(Html, LinkMatricesAreHeatMapsWithoutGnuplotToo) {
  std::vector<Record> records = {samples::link_record("latency", 4),
                                 samples::link_record("stream", 4, [](LinkResult& link) {
                                   if (link.from == 0 && link.to == 1) link.rate_Bps = 2e6;
                                 })};
  const NoPrograms nowhere;
  const std::string page = html(page_input(records));
  HtmlScan scan = sound(page);
  EXPECT_THAT(page, HasSubstr("<section id=\"links\""));
  EXPECT_THAT(page, HasSubstr("class=\"h0\">16 Mb/s<small>0.00200 GB/s"));
  EXPECT_THAT(page, HasSubstr("slow link a &gt; b"));
  EXPECT_THAT(page, HasSubstr("1 link, sender or receiver standing out"));
  EXPECT_EQ(scan.tags["svg"], 2);  // the topology, and the shapes of points
}

// One bad host of four: the answer, the topology and the list say the same.
TEST(Html, ABadHostIsNoSoundCluster) {
  const auto bad_host = [](LinkResult& link) {
    if (link.from == 3 || link.to == 3) link.rate_Bps = 3e6;
  };
  const NoPrograms nowhere;
  const std::string page = html(page_input({samples::link_record("stream", 4, bad_host)}));
  EXPECT_THAT(page, HasSubstr("<strong>Sound, with remarks</strong>"));
  EXPECT_THAT(page, HasSubstr("1 link, sender or receiver standing out"));
  EXPECT_THAT(page, HasSubstr("slow host d to and from all others"));
  EXPECT_THAT(page, HasSubstr("stroke-width=\"4\""));
  const std::string two = html(page_input({samples::link_record("stream", 2)}));
  EXPECT_THAT(two, HasSubstr("<strong>Not known whether sound</strong>"));
  EXPECT_THAT(two, HasSubstr("whether the link between 2 hosts is slow"));
}

TEST(Html, WithoutGnuplotTheTablesAreOpen) {
  const ReportInput input = page_input(samples::small_run());
  const NoPrograms nowhere;
  const std::string page = html(input);
  sound(page);
  EXPECT_THAT(page, Not(HasSubstr("<figure")));
  EXPECT_THAT(page, HasSubstr("plots are missing here: "));
  EXPECT_THAT(page, HasSubstr("gnuplot"));
  EXPECT_THAT(page, HasSubstr("<h3>allreduce ring, 4 ranks, tcp</h3>"));
}

TEST(Html, FiguresHaveNamesLegendsAndValues) {
  if (!has_gnuplot()) GTEST_SKIP() << "needs gnuplot";
  const std::string page = html(page_input(samples::small_run()));
  HtmlScan scan = sound(page);
  EXPECT_GT(scan.tags["figure"], 6);
  const auto from = page.find("id=\"values\">") + 12;
  const auto values = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  EXPECT_EQ(static_cast<int>(values.size()), scan.tags["figure"]);
  for (const auto& [id, chart] : values.items()) {
    EXPECT_THAT(page, HasSubstr("data-chart=\"" + id + "\""));
    EXPECT_THAT(page, HasSubstr("aria-labelledby=\"" + id + "-t " + id + "-d\""));
    size_t points = 0;
    for (const auto& series : chart.at("series")) {
      for (const auto& point : series.at("points")) {
        ++points;
        // On the canvas, and said in words.
        EXPECT_GE(point.at(0).get<double>(), 0);
        EXPECT_LE(point.at(0).get<double>(), chart.at("width").get<double>());
        EXPECT_GE(point.at(1).get<double>(), -1);
        EXPECT_LE(point.at(1).get<double>(), chart.at("height").get<double>() + 1);
        EXPECT_NE(point.at(2).get<std::string>(), "");
      }
    }
    EXPECT_GT(points, 0U) << id;
  }
  EXPECT_THAT(page, HasSubstr("data-toggle=\"1\""));
  EXPECT_THAT(page, HasSubstr("data-series=\"1\""));
}

TEST(Html, HostileNamesStayText) {
  Record record = samples::record("latency", kHostile, kHostile, 2, 64, 1000);
  record.question = record.scenario = record.run_id = record.suite_version = kHostile;
  record.plan_hash = record.time = kHostile;
  record.cell.dtype = record.cell.params[kHostile] = kHostile;
  record.cell.hosts = record.cell.distribution = record.measurement.resolved.transport = kHostile;
  record.noise = {"noisy", {kHostile}};
  HostFacts& host = record.environment.hosts[0];
  host.hostname = host.cpu_model = host.os = host.kernel = kHostile;
  host.libraries[kHostile] = kHostile;
  Nic nic;
  nic.up = true;
  nic.name = nic.kind = kHostile;
  nic.addresses.resize(1);
  nic.addresses[0].ip = kHostile;
  host.nics = {nic};
  record.environment.command = {"plumbline", kHostile};
  record.environment.options[kHostile] = {kHostile, kHostile};
  for (int rank = 0; rank < 2; ++rank) {
    PerRank one;
    one.rank = rank;
    one.host = kHostile;
    one.p50 = 100.0 + rank;
    record.measurement.per_rank.push_back(one);
  }
  Record even = record;
  even.cell.op = "allreduce";
  Record error = record;
  error.cell.bytes = 128;
  error.measurement.outcome = Outcome::kError;
  error.measurement.reason = error.measurement.cause = kHostile;
  Record link = samples::link_record("stream", 3, [](LinkResult& l) {
    l.from_host = l.to_host = kHostile;
    if (l.from == 0) l.error = l.cause = kHostile;
  });
  ReportInput input = page_input({record, even, error, link});
  Check check;
  check.key = check.id = check.host = check.reason = kHostile;
  check.outcome = CheckOutcome::kWarn;
  input.checks = {check};
  Finding finding;
  finding.cause = finding.host = finding.peer = kHostile;
  finding.remedy = kHostile;
  finding.evidence = {{kHostile, kHostile, kHostile}};
  input.findings = {finding};
  input.rules = {{kHostile, kHostile, false, kHostile, {kHostile}, {kHostile}}};
  input.notes = {kHostile};
  input.checklist = {{kHostile, {kHostile}, {}}};
  input.scenario_text = kHostile;
  const std::string page = html(input);
  const HtmlScan scan = sound(page);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<b>\"")));
  EXPECT_THAT(scan.text,
              HasSubstr("&lt;/script&gt;&lt;/style&gt;&lt;img src=x onerror=alert(1)&gt;"));
  for (const char c : page)
    EXPECT_TRUE(c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_THAT(page, Not(HasSubstr("\xE2\x80\xAE")));
  for (const std::string& value : scan.values) EXPECT_THAT(value, Not(HasSubstr("<")));
}

TEST(Html, AlwaysSmallEnough) {
  std::vector<Record> records;
  for (int i = 0; i < 1500; ++i) {
    Record record = samples::record(i % 2 ? "latency" : "bandwidth", "op" + std::to_string(i % 300),
                                    "ring", 2 + i % 3, 64U << (i % 12), 1000.0 + i, 40);
    record.measurement.reason = std::string(20'000, 'x');
    record.noise = {"noisy",
                    {std::string(5000, static_cast<char>('a' + i % 26)) + std::to_string(i)}};
    record.environment.hosts[0].hostname = std::string(3000, 'h') + std::to_string(i);
    record.environment.command = {std::string(30'000, 'c'), std::to_string(i)};
    records.push_back(std::move(record));
  }
  ReportInput input = page_input(std::move(records));
  input.scenario_text = std::string(500'000, 's');
  for (int i = 0; i < 2000; ++i) {
    Finding finding;
    finding.cause = std::string(10'000, 'r');
    finding.remedy = finding.cause;
    input.findings.push_back(finding);
    input.notes.emplace_back(std::string(10'000, 'n'));
  }
  const NoPrograms nowhere;
  sound(html(input));
}

TEST(Html, SaysWhatWasLeftOut) {
  std::vector<Record> records;
  for (int i = 0; i < 400; ++i) {
    records.push_back(samples::record("latency", "allreduce", "ring", 2,
                                      64U + 4U * static_cast<unsigned>(i), 1000.0 + i, 40));
  }
  const NoPrograms nowhere;
  const std::string page = html(page_input(records));
  sound(page);
  EXPECT_THAT(page, HasSubstr("200 of 400 rows are left out here"));
  EXPECT_THAT(page, HasSubstr("records.csv"));
}

TEST(Html, ASoakHasItsSection) {
  std::vector<Record> records;
  SoakCollector collector;
  for (int round = 1; round <= 20; ++round) {
    Record record = samples::record("latency", "allreduce", "ring", 2, 64, 1000, 50);
    record.soak = SoakMark{round, round * int64_t{1'000'000'000}, 0, 20'000'000};
    collector.take(record);
    records = {record};
  }
  ReportInput input = page_input(records);
  input.soaks = collector.finish();
  const std::string page = html(input);
  sound(page);
  EXPECT_THAT(page, HasSubstr("<section id=\"soak\""));
}

TEST(Html, TheContentPolicyNamesExactlyOurScriptAndStyle) {
  const std::string page = html({});
  EXPECT_THAT(page, HasSubstr("<script>" + std::string(page_js()) + "</script>"));
  EXPECT_THAT(page, HasSubstr("<style>" + std::string(page_css()) + "</style>"));
  EXPECT_THAT(page, HasSubstr("default-src &#39;none&#39;; script-src &#39;sha256-"));
  EXPECT_THAT(std::string(page_js()), Not(HasSubstr("innerHTML")));
  EXPECT_THAT(std::string(page_js()), Not(HasSubstr("</script")));
}

TEST(HtmlWriter, TextCannotGetOut) {
  HtmlWriter writer;
  {
    const auto p = writer.in("p", {{"title", "\"><b onclick='x'>&"}});
    writer.text("<b>&\"'\n");
  }
  EXPECT_EQ(
      writer.take(),
      "<p title=\"&quot;&gt;&lt;b onclick=&#39;x&#39;&gt;&amp;\">&lt;b&gt;&amp;&quot;&#39; </p>");
}

TEST(HtmlWriter, DataCannotEndItsScript) {
  HtmlWriter writer;
  writer.data("x", {{"a", "</script><!--\xE2\x80\xA8&\xFF"}});
  const std::string text = writer.take();
  EXPECT_EQ(text.find("</script>"), text.size() - 9);
  EXPECT_THAT(text, HasSubstr("\\u003c/script\\u003e\\u003c!--\\u2028\\u0026\\ufffd"));
}

TEST(HtmlWriter, LongTextIsCutBetweenCharacters) {
  HtmlWriter writer(5);
  writer.text("abcd\xC3\xA4\xC3\xB6");
  EXPECT_EQ(writer.take(), "abcd ... (cut)");
  writer.preformatted("one\ntwo\nthree", 9);
  EXPECT_EQ(writer.take(), "<pre tabindex=\"0\">\none\ntwo\n... (cut)</pre>");
  writer.preformatted(std::string(100, 'x'), 3);  // no line to end at
  EXPECT_EQ(writer.take(), "<pre tabindex=\"0\">\nxxx\n... (cut)</pre>");
}

}  // namespace
}  // namespace plumbline
