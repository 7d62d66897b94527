#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "core/host/requirement.h"
#include "reports/charts/picture.h"
#include "reports/charts/view_charts.h"
#include "reports/report.h"
#include "tests/reports/samples.h"
#include "tests/support/golden.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// A fresh folder name that is gone afterwards; the folder itself is not made.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::path(testing::TempDir()) / ("plumbline plots 'x' " + name)) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

class PathVariable {
 public:
  explicit PathVariable(const std::string& value) : before_(std::getenv("PATH")) {
    setenv("PATH", value.c_str(), 1);
  }
  ~PathVariable() { setenv("PATH", before_.c_str(), 1); }
  PathVariable(const PathVariable&) = delete;
  PathVariable& operator=(const PathVariable&) = delete;

 private:
  std::string before_;
};

std::optional<std::string> no_gnuplot() {
  static constexpr std::array kNeeds = {"gnuplot"};
  return unmet(kNeeds);
}

Expected<std::vector<std::string>> plot(std::vector<Record> records, const fs::path& folder) {
  ReportInput input;
  input.records = std::move(records);
  ReportTarget target;
  target.directory = folder.string();
  return find_report("plots")->write(input, target);
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

size_t times_found(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

std::vector<Picture> pictures_of(const std::vector<Record>& records) {
  return plan_pictures(make_view(records));
}

std::vector<std::string> names_of(const std::vector<Picture>& pictures) {
  std::vector<std::string> names;
  names.reserve(pictures.size());
  for (const Picture& picture : pictures) names.push_back(picture.name);
  return names;
}

TEST(Pictures, OnePerKindAndOperation) {
  EXPECT_EQ(
      names_of(pictures_of(samples::small_run())),
      (std::vector<std::string>{"latency_allreduce", "latency_barrier", "bandwidth_allreduce_2r",
                                "bandwidth_broadcast_2r", "throughput_allreduce_2r"}));
}

std::vector<std::string> labels_of(const Picture& picture) {
  std::vector<std::string> labels;
  for (const Series& series : picture.series) labels.push_back(series.label);
  return labels;
}

TEST(Pictures, RanksAlgorithmsAndTransportsAreSeriesOfOnePicture) {
  std::vector<Record> records;
  for (const int ranks : {16, 2}) {
    for (const char* algorithm : {"ring", "direct"}) {
      for (const char* transport : {"tcp", "memory"}) {
        Record r = samples::record("latency", "allreduce", algorithm, ranks, 64, 1000);
        r.cell.transport = r.measurement.resolved.transport = transport;
        records.push_back(r);
      }
    }
  }
  const std::vector<Picture> pictures = pictures_of(records);
  ASSERT_EQ(pictures.size(), 1U);
  EXPECT_EQ(pictures[0].name, "latency_allreduce");
  EXPECT_EQ(pictures[0].title, "Latency over size: allreduce");
  EXPECT_EQ(labels_of(pictures[0]),
            (std::vector<std::string>{"2 ranks, direct, memory", "2 ranks, direct, tcp",
                                      "2 ranks, ring, memory", "2 ranks, ring, tcp",
                                      "16 ranks, direct, memory", "16 ranks, direct, tcp",
                                      "16 ranks, ring, memory", "16 ranks, ring, tcp"}));
  // Too many to be told apart: cut, and it says why.
  for (const int ranks : {4, 8}) {
    for (size_t i = 0; i < 4; ++i) {
      records.push_back(records[i]);
      records.back().cell.ranks = ranks;
    }
  }
  const std::vector<Picture> cut = pictures_of(records);
  EXPECT_EQ(names_of(cut),
            (std::vector<std::string>{"latency_allreduce_tcp", "latency_allreduce_memory"}));
  for (const Picture& picture : cut) {
    EXPECT_EQ(picture.series.size(), 8U);
    EXPECT_THAT(picture.subtitle, HasSubstr("more than 12 series: a plot for each transport"));
  }
}

// They were points of one series, one above the other.
TEST(Pictures, ListsAndCodecsAreSeriesOfTheirOwn) {
  std::vector<Record> records;
  for (const uint64_t bytes : {uint64_t{4096}, uint64_t{8192}}) {
    const Record one = samples::record("latency", "allreduce", "ring", 2, bytes, 1000);
    Record list = one, small = one;
    list.cell.arrays = 64;
    small.cell.compression = "fp16";
    records.insert(records.end(), {one, list, small});
  }
  const View view = make_view(records);
  const auto pictures = plan_pictures(view);
  ASSERT_EQ(pictures.size(), 1U);
  std::string labels;
  for (const Series& series : pictures[0].series) labels += series.label + "\n";
  EXPECT_EQ(pictures[0].series.size(), 3U) << labels;
  EXPECT_THAT(labels, HasSubstr("arrays=64"));
  EXPECT_THAT(labels, HasSubstr("compression=fp16"));
}

TEST(Pictures, NoTwoSeriesLookTheSame) {
  std::set<std::pair<size_t, int>> looks;
  for (size_t i = 0; i < kMaxSeries; ++i) {
    EXPECT_EQ(look_of(i).dashed, i >= chart_colours().size());
    EXPECT_TRUE(looks.emplace(look_of(i).colour, look_of(i).symbol).second) << i;
  }
}

TEST(Pictures, NoisyPointsAreHollowAndTheLegendSaysSo) {
  std::vector<Record> records = {samples::record("latency", "allreduce", "ring", 2, 64, 1000),
                                 samples::record("latency", "allreduce", "ring", 2, 512, 1000)};
  EXPECT_THAT(script_text(pictures_of(records)[0]), Not(HasSubstr("hollow")));
  records[1].noise = {"noisy", {"load"}};
  const Picture picture = pictures_of(records)[0];
  const Chart chart = chart_of(picture);
  EXPECT_FALSE(chart.series[0].points[0].hollow);
  EXPECT_TRUE(chart.series[0].points[1].hollow);
  EXPECT_THAT(chart.series[0].points[1].says, HasSubstr(", noisy"));
  // A filled symbol, of which the noisy ones are covered and drawn again as rings.
  const std::string script = script_text(picture);
  EXPECT_THAT(script, HasSubstr("with linespoints lw 2 pt 7 "));
  EXPECT_THAT(script, HasSubstr("with points pt 7 ps 0.9 lc rgb '#FFFFFF' notitle"));
  EXPECT_THAT(script, HasSubstr("with points pt 6 ps 0.9 lc rgb '#0072B2' title 'hollow: noisy'"));
  EXPECT_THAT(data_text(picture), HasSubstr("ring, noisy\n# size_bytes time_us\n512 "));
  // Of repetitions one that is noisy makes the point so.
  records.push_back(records[0]);
  records.back().cell.repeat = 1;
  records.back().noise = {"noisy", {"load"}};
  EXPECT_TRUE(chart_of(pictures_of(records)[0]).series[0].points[0].hollow);
}

TEST(Pictures, ScriptAndDataGolden) {
  for (const Picture& picture : pictures_of(samples::small_run())) {
    if (picture.name != "bandwidth_allreduce_2r") continue;
    EXPECT_TRUE(equals_golden(script_text(picture), "report_plot.gp"));
    EXPECT_TRUE(equals_golden(data_text(picture), "report_plot.dat"));
  }
}

TEST(Pictures, NothingToDraw) {
  EXPECT_TRUE(pictures_of({}).empty());
  EXPECT_TRUE(pictures_of(samples::roofs()).empty());
  Record error = samples::record("latency", "allreduce", "ring", 2, 64, 1, 0);
  error.measurement.outcome = Outcome::kError;
  Record wrong = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
  wrong.measurement.wrong = 1;
  EXPECT_TRUE(pictures_of({error, wrong}).empty());
}

TEST(Pictures, NoEmptySeriesAndNeverTooMany) {
  std::vector<Record> records;
  for (const char* algorithm :
       {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"}) {
    for (const char* dtype : {"f32", "f64"}) {
      Record r = samples::record("latency", "allreduce", algorithm, 2, 64, 1000, 100);
      r.cell.dtype = dtype;
      records.push_back(r);
      r.cell.bytes = 0;
      records.push_back(r);
    }
  }
  const std::vector<Picture> pictures = pictures_of(records);
  EXPECT_EQ(names_of(pictures),
            (std::vector<std::string>{"latency_allreduce_2r_f32_1", "latency_allreduce_2r_f32_2",
                                      "latency_allreduce_2r_f64_1", "latency_allreduce_2r_f64_2"}));
  EXPECT_THAT(pictures[0].subtitle, HasSubstr("12 of 14 series a plot"));
  size_t series = 0;
  for (const Picture& picture : pictures) {
    EXPECT_LE(picture.series.size(), kMaxSeries);
    for (const Series& one : picture.series) EXPECT_FALSE(one.points.empty());
    series += picture.series.size();
  }
  EXPECT_EQ(series, 28U);
}

TEST(Pictures, RepetitionsBecomeOnePointWithABandAroundAll) {
  std::vector<Record> records;
  for (const double p50 : {1000.0, 1500.0, 3000.0}) {
    Record r = samples::record("latency", "allreduce", "ring", 2, 64, p50, 100);
    r.cell.repeat = static_cast<int>(records.size());
    records.push_back(r);
  }
  const std::vector<Picture> pictures = pictures_of(records);
  ASSERT_EQ(pictures.size(), 1U);
  ASSERT_EQ(pictures[0].series.size(), 1U);
  ASSERT_EQ(pictures[0].series[0].points.size(), 1U);
  const Point& point = pictures[0].series[0].points[0];
  EXPECT_NEAR(point.y, 1500, 30);
  EXPECT_NEAR(point.band->first, 1000, 40);
  EXPECT_NEAR(point.band->second, 3000, 60);
}

TEST(Pictures, RoofIsDashedAndOnlyWhereItWasMeasured) {
  for (const Picture& picture : pictures_of(samples::small_run())) {
    if (picture.name == "bandwidth_broadcast_2r") {
      ASSERT_EQ(picture.guides.size(), 1U);
      EXPECT_THAT(picture.guides[0].label, HasSubstr("one way"));
      EXPECT_THAT(script_text(picture), HasSubstr("points pt 2"));
    }
    if (picture.name == "throughput_allreduce_2r") {
      EXPECT_TRUE(picture.guides.empty());
    }
  }
}

TEST(Pictures, RecordsCannotSmuggleCommandsIntoTheScript) {
  Record r = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
  r.cell.op = "../x'; system('reboot'); '`id`";
  r.cell.algorithm = "'\n!touch /tmp/evil\n'";
  const std::vector<Picture> pictures = pictures_of({r});
  ASSERT_EQ(pictures.size(), 1U);
  EXPECT_EQ(pictures[0].name, "latency_x_system_reboot_id_2r");
  const std::string script = script_text(pictures[0]);
  EXPECT_THAT(script, Not(HasSubstr("\n!")));
  EXPECT_THAT(script, HasSubstr("''; system(''reboot''); ''`id`"));
}

TEST(Plots, FilesWithTheExpectedSeries) {
  if (const auto reason = no_gnuplot()) GTEST_SKIP() << *reason;
  const Folder folder("draw");
  const auto written = plot(samples::small_run(), folder.path());
  ASSERT_TRUE(written) << written.error().message();
  const std::vector<Picture> pictures = pictures_of(samples::small_run());
  const std::vector<Record> records = samples::small_run();
  const std::vector<Chart> charts = plot_charts(make_view(records));
  EXPECT_GT(charts.size(), pictures.size());
  EXPECT_EQ(written->size(), 4 * charts.size());
  for (const Chart& chart : charts) {
    const std::string svg = read(folder.path() / (chart.name + ".svg"));
    EXPECT_EQ(times_found(svg, "<g id=\"gnuplot_plot_[0-9]+\""), chart_blocks(chart).size())
        << chart.name;
  }
  for (const std::string& file : *written) EXPECT_GT(fs::file_size(file), 0U) << file;
  for (const Picture& picture : pictures) {
    const std::string svg = read(folder.path() / (picture.name + ".svg"));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    for (const Series& series : picture.series) {
      EXPECT_THAT(svg, HasSubstr("<title>" + series.label + "</title>")) << picture.name;
    }
    for (const Series& guide : picture.guides) {
      EXPECT_THAT(svg, HasSubstr("<title>" + guide.label + "</title>")) << picture.name;
    }
    EXPECT_EQ(times_found(svg, "<g id=\"gnuplot_plot_[0-9]+\""),
              times_found(script_text(picture), "data index [0-9]+"));
    EXPECT_EQ(read(folder.path() / (picture.name + ".png")).substr(1, 3), "PNG");
    EXPECT_FALSE(fs::exists(folder.path() / (picture.name + ".log")));
  }
}

TEST(Plots, ScriptsCanBeRunAgainElsewhere) {
  if (const auto reason = no_gnuplot()) GTEST_SKIP() << *reason;
  const Folder folder("first");
  const Folder copy("second");
  ASSERT_TRUE(plot(samples::small_run(), folder.path()));
  fs::create_directories(copy.path());
  for (const Picture& picture : pictures_of(samples::small_run())) {
    for (const char* ending : {".gp", ".dat"}) {
      fs::copy_file(folder.path() / (picture.name + ending), copy.path() / (picture.name + ending));
    }
    const fs::path before = fs::current_path();
    fs::current_path(copy.path());
    const int status = std::system(("gnuplot " + picture.name + ".gp 2>gnuplot.log").c_str());
    fs::current_path(before);
    EXPECT_EQ(status, 0) << read(copy.path() / "gnuplot.log");
    EXPECT_EQ(read(copy.path() / "gnuplot.log"), "");  // not even a warning
    EXPECT_EQ(read(copy.path() / (picture.name + ".svg")),
              read(folder.path() / (picture.name + ".svg")));
  }
}

TEST(Plots, OddSeriesAreDrawn) {
  if (const auto reason = no_gnuplot()) GTEST_SKIP() << *reason;
  const Folder folder("odd");
  std::vector<Record> records = {samples::record("latency", "reduce", "one_point", 2, 64, 2000),
                                 samples::record("latency", "reduce", "no_ci", 2, 64, 2000, 3)};
  Record hostile = samples::record("latency", "reduce", "<&'\"{}_^\\n größe", 2, 128, 2000);
  records.push_back(hostile);
  records.push_back(samples::record("latency", "bro|ken\n", "x", 1, 64, 1e-3 * 1e3));
  const auto written = plot(records, folder.path());
  ASSERT_TRUE(written) << written.error().message();
  const std::string svg = read(folder.path() / "latency_reduce_2r.svg");
  EXPECT_THAT(svg, HasSubstr("one_point"));
  EXPECT_THAT(svg, HasSubstr("no_ci"));
  EXPECT_THAT(svg, HasSubstr("größe"));
  EXPECT_THAT(svg, Not(HasSubstr("<&'")));
}

TEST(Plots, NothingToDrawWritesNothing) {
  if (const auto reason = no_gnuplot()) GTEST_SKIP() << *reason;
  const Folder folder("nothing");
  const auto written = plot({}, folder.path());
  ASSERT_TRUE(written);
  EXPECT_TRUE(written->empty());
  EXPECT_FALSE(fs::exists(folder.path()));
}

TEST(Plots, WithoutGnuplotNothingIsWritten) {
  const Folder folder("missing");
  const PathVariable nowhere("/proc/nonexistent");
  const auto written = plot(samples::small_run(), folder.path());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(written.error().message(), HasSubstr("gnuplot-nox"));
  EXPECT_FALSE(fs::exists(folder.path()));
}

TEST(Plots, FailingGnuplotLeavesNoHalfPicture) {
  const Folder folder("failing");
  const Folder programs("programs");
  fs::create_directories(programs.path());
  std::ofstream(programs.path() / "gnuplot") << "#!/bin/sh\necho 'no such terminal' >&2\nexit 1\n";
  fs::permissions(programs.path() / "gnuplot", fs::perms::owner_all);
  const PathVariable only(programs.path().string());
  const auto written = plot(samples::small_run(), folder.path());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kSystem);
  EXPECT_THAT(written.error().message(), HasSubstr("no such terminal"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Plots, FolderThatCannotBeMade) {
  if (const auto reason = no_gnuplot()) GTEST_SKIP() << *reason;
  const Folder folder("file");
  std::ofstream(folder.path()) << "a file";
  const auto written = plot(samples::small_run(), folder.path() / "plots");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kConfig);
  EXPECT_EQ(plot(samples::small_run(), {}).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace plumbline
