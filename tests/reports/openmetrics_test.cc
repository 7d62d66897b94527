// The openmetrics report, read by a parser of exactly what OpenMetrics 1.0 allows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tests/reports/exchange_samples.h"
#include "tests/reports/link_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::input_of;
using samples::report_text;

struct MetricSample {
  std::string family;
  std::map<std::string, std::string> labels;
  double value = 0;
};

// metricset of the standard's ABNF, gauges only: descriptors before the samples of their family,
// every family once, its unit at the end of its name, every label set once, "# EOF" last.
class MetricsReader {
 public:
  bool read(const std::string& text) {
    if (text.empty() || text.back() != '\n') return fail("no newline at the end");
    std::istringstream lines(text);
    bool ended = false;
    for (std::string line; std::getline(lines, line);) {
      line_ = line;
      if (ended) return fail("a line behind # EOF");
      if (line == "# EOF") {
        ended = true;
      } else if (!(line.rfind("# ", 0) == 0 ? descriptor(line.substr(2)) : sample(line))) {
        return false;
      }
    }
    return ended || fail("no # EOF");
  }
  std::vector<MetricSample> samples;
  std::string problem;

 private:
  bool fail(const std::string& why) {
    problem = why + " in: " + line_;
    return false;
  }
  static bool name_char(char c, bool first) {
    const auto u = static_cast<unsigned char>(c);
    return (std::isalpha(u) != 0 && u < 0x80) || c == '_' || (!first && std::isdigit(u) != 0);
  }
  static bool is_name(const std::string& name) {
    for (size_t i = 0; i < name.size(); ++i) {
      if (!name_char(name[i], i == 0)) return false;
    }
    return !name.empty();
  }

  bool descriptor(const std::string& line) {
    const size_t space = line.find(' ');
    const size_t second = line.find(' ', space + 1);
    if (space == std::string::npos || second == std::string::npos) return fail("no descriptor");
    const std::string what = line.substr(0, space);
    const std::string family = line.substr(space + 1, second - space - 1);
    const std::string value = line.substr(second + 1);
    if (!is_name(family)) return fail("no name");
    if (family != family_) {
      if (!families_.insert(family).second) return fail("a family in two pieces");
      family_ = family;
      said_.clear();
      begun_ = false;
    }
    if (begun_) return fail("a descriptor behind a sample");
    if (!said_.insert(what).second) return fail("a descriptor twice");
    if (what == "TYPE") return value == "gauge" || fail("no type");
    if (what == "HELP") return !value.empty() || fail("no help");
    if (what != "UNIT") return fail("no such descriptor");
    const bool ends =
        family.size() > value.size() + 1 &&
        family.compare(family.size() - value.size() - 1, std::string::npos, "_" + value) == 0;
    return (is_name(value) && ends) || fail("the unit is not in the name");
  }

  bool sample(const std::string& line) {
    size_t at = 0;
    while (at < line.size() && name_char(line[at], at == 0)) ++at;
    MetricSample one;
    one.family = line.substr(0, at);
    if (one.family != family_) return fail("a sample outside its family");
    if (at >= line.size() || line[at] != '{') return fail("no labels");
    for (++at; at < line.size() && line[at] != '}';) {
      const size_t begin = at;
      while (at < line.size() && name_char(line[at], at == begin)) ++at;
      const std::string name = line.substr(begin, at - begin);
      if (name.empty() || line.compare(at, 2, "=\"") != 0) return fail("no label");
      if (one.labels.contains(name)) return fail("a label twice");
      std::string& value = one.labels[name];
      for (at += 2; at < line.size() && line[at] != '"'; ++at) {
        if (line[at] == '\\') {
          ++at;
          if (at >= line.size() || std::string("\\\"n").find(line[at]) == std::string::npos) {
            return fail("no such escape");
          }
        }
        value += line[at];
      }
      if (at >= line.size()) return fail("no end of a label");
      ++at;
      if (at < line.size() && line[at] == ',') {
        if (!name_char(line[at + 1], true)) return fail("nothing behind a comma");
        ++at;
      }
    }
    if (line.compare(at, 2, "} ") != 0) return fail("no value");
    const std::string number = line.substr(at + 2);
    if (number.find_first_not_of("0123456789+-.e") != std::string::npos) return fail("no number");
    size_t used = 0;
    one.value = std::stod(number, &used);
    if (used != number.size()) return fail("no number");
    std::string identity = line.substr(0, at);
    if (!series_.insert(identity).second) return fail("a series twice");
    begun_ = true;
    samples.push_back(one);
    return true;
  }

  std::string family_, line_;
  std::set<std::string> families_, said_, series_;
  bool begun_ = false;
};

MetricsReader parsed(const ReportInput& input) {
  MetricsReader reader;
  EXPECT_TRUE(reader.read(report_text("openmetrics", input))) << reader.problem;
  return reader;
}

// Values of a family, of the cell with these labels.
std::vector<double> values(const MetricsReader& reader, const std::string& family,
                           const std::map<std::string, std::string>& labels) {
  std::vector<double> out;
  for (const MetricSample& one : reader.samples) {
    bool same = one.family == family;
    for (const auto& [name, value] : labels) {
      same = same && one.labels.contains(name) && one.labels.at(name) == value;
    }
    if (same) out.push_back(one.value);
  }
  return out;
}

TEST(OpenMetrics, ReaderOfTheTestRefusesWhatIsWrong) {
  const std::string head = "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n# HELP a_seconds x\n";
  const auto good = [&](const std::string& text) { return MetricsReader().read(text); };
  EXPECT_TRUE(good(head + "a_seconds{b=\"c\"} 1\n# EOF\n"));
  for (const std::string& bad :
       {head + "a_seconds{b=\"c\"} 1\n", head + "a_seconds{b=\"c\"} 1\n# EOF\nx\n",
        head + "a_seconds{b=\"c\"} nan\n# EOF\n", head + "a_seconds{b=\"\\c\"} 1\n# EOF\n",
        head + "a_seconds{b=\"c\"} 1\na_seconds{b=\"c\"} 2\n# EOF\n",
        head + "a_seconds{b=\"c\",b=\"c\"} 2\n# EOF\n", head + "b{b=\"c\"} 2\n# EOF\n",
        std::string("# TYPE a gauge\n# UNIT a seconds\n# EOF\n"), head + head + "# EOF",
        head + "a_seconds{b=\"c} 1\n# EOF\n"}) {
    EXPECT_FALSE(good(bad)) << bad;
  }
}

TEST(OpenMetrics, NumbersAreInTheUnitOfTheName) {
  Record r = samples::record("bandwidth", "allreduce", "ring", 4, 4'000'000, 2'000'000);
  r.measurement.wrong = 0;
  const MetricsReader reader = parsed(input_of({r}));
  const std::map<std::string, std::string> p50 = {{"statistic", "p50"}, {"op", "allreduce"}};
  ASSERT_EQ(values(reader, "plumbline_operation_time_seconds", p50).size(), 1U);
  EXPECT_DOUBLE_EQ(values(reader, "plumbline_operation_time_seconds", p50)[0],
                   *r.time_ns.p50 / 1e9);
  EXPECT_EQ(values(reader, "plumbline_algorithm_bandwidth_bytes_per_second", {}),
            std::vector<double>{*r.algbw_Bps});
  EXPECT_EQ(values(reader, "plumbline_bus_bandwidth_bytes_per_second", {{"ranks", "4"}}),
            std::vector<double>{*r.busbw_Bps});
  EXPECT_EQ(values(reader, "plumbline_wrong_elements", {}), std::vector<double>{0});
  EXPECT_EQ(values(reader, "plumbline_cell_finished_timestamp_seconds", {}),
            std::vector<double>{1740830400});
}

TEST(OpenMetrics, EveryCellEveryLinkEveryRule) {
  std::vector<Record> records = samples::small_run();
  const size_t cells = records.size();
  records.push_back(samples::link_record("stream", 3));
  records.push_back(samples::link_record("udp", 3));
  ReportInput input = input_of(records);
  input.rules = {{"fast", "x", true, "", {}, {}}, {"slow", "x", false, "", {}, {}}};
  Check check;
  check.key = "tcp.connect/a>b";
  input.checks = {check, check};  // twice the same: one series
  input.findings.emplace_back();
  const MetricsReader reader = parsed(input);
  EXPECT_EQ(values(reader, "plumbline_cell_passed", {}).size(), cells + 2);
  EXPECT_EQ(values(reader, "plumbline_link_rate_bytes_per_second", {}).size(), 6U);
  EXPECT_EQ(values(reader, "plumbline_link_lost_datagrams", {{"from", "0"}, {"to", "2"}}).size(),
            1U);
  EXPECT_EQ(values(reader, "plumbline_rule_passed", {{"rule", "slow"}}), std::vector<double>{0});
  EXPECT_EQ(values(reader, "plumbline_check_passed", {}), std::vector<double>{0});
}

// Else only their ids told a list of arrays and an array apart; what is neither a list nor in
// groups keeps the series that it had before there were any.
TEST(OpenMetrics, ListsAndGroupsHaveLabelsThatOthersLack) {
  const Record one = samples::record("bandwidth", "allreduce", "ring", 4, 4'000'000, 2'000'000);
  Record list = one, groups = one;
  list.cell.arrays = 64;
  groups.cell.split = "mod:2";
  const MetricsReader reader = parsed(input_of({one, list, groups}));
  const std::string family = "plumbline_bus_bandwidth_bytes_per_second";
  EXPECT_EQ(values(reader, family, {}).size(), 3U);
  EXPECT_EQ(values(reader, family, {{"arrays", "64"}}).size(), 1U);
  EXPECT_EQ(values(reader, family, {{"split", "mod:2"}}).size(), 1U);
  const auto with_any = [&](const char* label) {
    return std::count_if(reader.samples.begin(), reader.samples.end(),
                         [&](const MetricSample& sample) {
                           return sample.family == family && sample.labels.contains(label);
                         });
  };
  EXPECT_EQ(with_any("arrays"), 1);
  EXPECT_EQ(with_any("split"), 1);
}

TEST(OpenMetrics, HostileTextAndNumbers) {
  Record r = samples::hostile(samples::record("latency", "allreduce", "ring", 2, 64, 1000));
  r.measurement.ops_per_s = std::numeric_limits<double>::quiet_NaN();
  r.measurement.bytes_per_s = std::numeric_limits<double>::infinity();
  ReportInput input = input_of({r});
  input.rules = {{"a\"} 1\n# EOF\n", "\\", false, "", {}, {}}};
  const MetricsReader reader = parsed(input);
  EXPECT_TRUE(values(reader, "plumbline_data_rate_bytes_per_second", {}).empty());
  EXPECT_EQ(values(reader, "plumbline_rule_passed", {{"rule", "a\"} 1 # EOF "}}).size(), 1U);
}

TEST(OpenMetrics, ImportedTimesSayWhatTheyAre) {
  ReportInput input;
  ASSERT_TRUE(read_report_input({samples::sample_path("nccl_tests.txt")}, input));
  const MetricsReader reader = parsed(input);
  EXPECT_TRUE(values(reader, "plumbline_operation_time_seconds", {{"statistic", "p50"}}).empty());
  EXPECT_EQ(values(reader, "plumbline_operation_time_seconds",
                   {{"statistic", "mean"}, {"size_bytes", "8"}, {"placement", "out"}}),
            std::vector<double>{1e-5});
}

}  // namespace
}  // namespace plumbline
