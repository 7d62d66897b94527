// The time-sequence plot: its script holds every kind of point, and nothing foreign gets out of its
// quotes.
#include "reports/charts/trace_plot.h"

#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "core/host/requirement.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

TracePoints connection() {
  TracePoints points;
  points.a = "10.0.0.1:4000";
  points.b = "10.0.0.2:80";
  points.points.push_back({0, TracePointKind::kSyn, true, 0, 1, false, 0, 0});
  points.points.push_back({100'000, TracePointKind::kSyn, false, 0, 1, true, 1, 64'001});
  points.points.push_back({200'000, TracePointKind::kData, true, 1, 1001, true, 1, 64'001});
  points.points.push_back({300'000, TracePointKind::kAck, false, 1, 1, true, 1001, 65'001});
  points.points.push_back(
      {400'000, TracePointKind::kRetransmission, true, 1, 1001, true, 1, 64'001});
  points.points.push_back({500'000, TracePointKind::kZeroWindow, false, 1, 1, true, 1001, 1001});
  return points;
}

TEST(TracePlot, DrawsWhatThereIs) {
  const std::string script = trace_plot_script(connection(), "x.svg");
  EXPECT_THAT(script, HasSubstr("set terminal svg"));
  EXPECT_THAT(script, HasSubstr("10.0.0.1:4000 -> 10.0.0.2:80"));
  for (const char* label :
       {"data", "acknowledged", "end of the window", "sent again", "SYN", "window closed"}) {
    EXPECT_THAT(script, HasSubstr("title '" + std::string(label) + "'"));
  }
  for (const char* label : {"out of order", "FIN", "RST", "duplicate ACK"}) {
    EXPECT_THAT(script, Not(HasSubstr("title '" + std::string(label) + "'")));
  }
  EXPECT_THAT(trace_plot_script(connection(), "x.png"), HasSubstr("set terminal pngcairo"));
}

// "pt 5 ... '#D55E00'" of the curve with this title.
std::pair<std::string, std::string> looks(const std::string& script, const std::string& title) {
  const size_t end = script.find(" title '" + title + "'");
  if (end == std::string::npos) return {"no " + title, "no " + title};
  const std::string curve = script.substr(0, end);
  const size_t symbol = curve.rfind(" pt ") + 4, colour = curve.rfind(" rgb '") + 6;
  return {curve.substr(symbol, curve.find(' ', symbol) - symbol), curve.substr(colour, 7)};
}

TEST(TracePlot, NoTwoMarksLookAlike) {
  TracePoints points = connection();
  using Kind = TracePointKind;
  for (const Kind kind : {Kind::kOutOfOrder, Kind::kProbe, Kind::kFin, Kind::kRst}) {
    points.points.push_back({700'000, kind, true, 1001, 1002, true, 1, 64'001});
  }
  points.points.push_back({800'000, Kind::kDuplicateAck, false, 1, 1, true, 1001, 65'001});
  const std::string script = trace_plot_script(points, "x.svg");
  std::set<std::string> symbols, colours;
  for (const char* title : {"sent again", "out of order", "keepalive or probe", "duplicate ACK",
                            "window closed", "SYN", "FIN", "RST"}) {
    const auto [symbol, colour] = looks(script, title);
    EXPECT_TRUE(symbols.insert(symbol).second) << title << " has the symbol of another";
    // The three that begin and end a connection share black.
    if (colour != "#000000") {
      EXPECT_TRUE(colours.insert(colour).second) << title << " has the colour of another";
    }
  }
  EXPECT_EQ(colours.size(), 5u);
}

TEST(TracePlot, OnePanelForEachDirectionThatMatters) {
  TracePoints points = connection();
  EXPECT_THAT(trace_plot_script(points, "x.svg"), HasSubstr("multiplot layout 1,1"));
  points.points.push_back({600'000, TracePointKind::kData, false, 1, 901, true, 1001, 65'001});
  EXPECT_THAT(trace_plot_script(points, "x.svg"), HasSubstr("multiplot layout 2,1"));
}

TEST(TracePlot, NothingForeignGetsOutOfItsQuotes) {
  TracePoints points = connection();
  points.a = "'; system('touch /tmp/x'); '\n!touch /tmp/y\n";
  const std::string script = trace_plot_script(points, "a'b.svg");
  EXPECT_THAT(script, HasSubstr("set output 'a''b.svg'"));
  EXPECT_THAT(script, HasSubstr("'''; system(''touch /tmp/x''); '' !touch /tmp/y"));
  EXPECT_THAT(script, Not(HasSubstr("\n!touch")));
}

TEST(TracePlot, RefusesWhatItCannotDraw) {
  EXPECT_EQ(write_trace_plot(connection(), "x.gif").error().code, ErrorCode::kUsage);
  EXPECT_EQ(write_trace_plot(TracePoints(), "x.svg").error().code, ErrorCode::kUsage);
  EXPECT_EQ(write_trace_plot(connection(), ".svg").error().code, ErrorCode::kUsage);
}

TEST(TracePlot, WritesBothKinds) {
  static constexpr std::array kNeeds = {"gnuplot"};
  if (const auto reason = unmet(kNeeds)) GTEST_SKIP() << *reason;
  for (const char* ending : {".svg", ".png"}) {
    const std::string path = testing::TempDir() + "trace_plot_test" + ending;
    const Status written = write_trace_plot(connection(), path);
    ASSERT_TRUE(written) << written.error().message();
    std::ifstream file(path, std::ios::binary);
    std::string start(8, '\0');
    file.read(start.data(), 8);
    EXPECT_THAT(start, HasSubstr(ending == std::string(".svg") ? "<?xml" : "PNG"));
    std::filesystem::remove(path);
  }
  EXPECT_EQ(write_trace_plot(connection(), "/proc/nonexistent/x.svg").error().code,
            ErrorCode::kConfig);
}

}  // namespace
}  // namespace plumbline
