// A plan as people see it: one row per series, the time in units that one can plan with.
#include "cli/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "reports/text.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

PlanCell cell(const std::string& kind, const std::string& op, uint64_t bytes, int ranks = 2) {
  PlanCell planned;
  planned.cell.kind = *cell_kind_from(kind);
  planned.cell.op = op;
  planned.cell.bytes = bytes;
  planned.cell.ranks = ranks;
  planned.estimated_s = 2;
  planned.id = cell_id(planned.cell);
  return planned;
}

Plan plan_of(std::vector<PlanCell> cells) {
  Plan plan;
  for (const PlanCell& planned : cells) plan.estimated_s += planned.estimated_s;
  plan.cells = std::move(cells);
  plan.seed = 7;
  plan.hash = std::string(64, 'a');
  return plan;
}

std::string text_of(const Plan& plan, int width = 0, bool every_cell = false) {
  std::ostringstream out;
  print_plan(plan, {every_cell, width, false}, out);
  return out.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(PlanText, CellsThatDifferInSizeAreOneRowAndAllRoofsAreOne) {
  const Plan plan = plan_of({cell("roof", "raw_pingpong", 8), cell("roof", "memcpy", 1 << 20),
                             cell("latency", "allreduce", 8), cell("latency", "allreduce", 4096),
                             cell("bandwidth", "allreduce", 1 << 20)});
  EXPECT_EQ(text_of(plan),
            "All cells: algorithm auto, transport auto, type f32, redop sum, place out\n"
            "kind       operation           sizes  ranks  cells  about\n"
            "roof       the bare path  8 B..1 MiB  2          2    4 s\n"
            "latency    allreduce      8 B..4 KiB  2          2    4 s\n"
            "bandwidth  allreduce           1 MiB  2          1    2 s\n"
            "5 cells, about 10 s; seed 7, plan hash aaaaaaaaaaaaaaaa; -v lists every cell\n");
}

TEST(PlanText, ListsThatAreCompleteAreOneRowToo) {
  std::vector<PlanCell> cells;
  for (const char* dtype : {"bf16", "f32", "i32"}) {
    for (const char* redop : {"sum", "max"}) {
      for (const int ranks : {2, 3, 4, 8}) {
        for (const char* place : {"in", "out"}) {
          // Rounded down to whole elements per rank.
          PlanCell planned = cell("check", "allreduce", ranks == 3 ? 996 : 1000, ranks);
          planned.cell.dtype = dtype;
          planned.cell.redop = redop;
          planned.cell.placement = place;
          cells.push_back(planned);
        }
      }
    }
  }
  const std::string all = text_of(plan_of(cells));
  EXPECT_THAT(all, HasSubstr("type bf16,f32,i32, redop max,sum, place in,out\n"));
  EXPECT_THAT(all, HasSubstr("check  allreduce  996 B..1000 B  2-4,8     48  2 min\n"));
  // One cell less, and the lists of one row would claim what is not planned.
  cells.pop_back();
  EXPECT_GT(lines_of(text_of(plan_of(cells))).size(), lines_of(all).size());
}

// Check rows, throughput in flight, sync, cache, placement looked the same.
TEST(PlanText, RowsThatDifferInOneFieldOnlyShowIt) {
  const std::pair<const char*, void (*)(Cell&)> fields[] = {
      {"sync window", [](Cell& c) { c.sync = "window"; }},
      {"cache hot", [](Cell& c) { c.cache = "hot"; }},
      {"1,4 in flight", [](Cell& c) { c.outstanding = 4; }},
      {"in,out", [](Cell& c) { c.placement = "in"; }},
      {"memory", [](Cell& c) { c.transport = "memory"; }},
      {"auto,ring", [](Cell& c) { c.algorithm = "ring"; }},
      {"bf16,f32", [](Cell& c) { c.dtype = "bf16"; }},
      {"max,sum", [](Cell& c) { c.redop = "max"; }},
      {"roots 0-1", [](Cell& c) { c.root = 1; }},
      {"2 times", [](Cell& c) { c.repeat = 1; }},
      {"2 host sets", [](Cell& c) { c.hosts = "a+b"; }},
      {"cyclic", [](Cell& c) { c.distribution = "cyclic"; }},
      {"spin_us=5", [](Cell& c) { c.params["spin_us"] = "5"; }}};
  for (const auto& [shown, change] : fields) {
    PlanCell one = cell("throughput", "reduce", 65536), other = one;
    one.cell.root = other.cell.root = 0;
    change(other.cell);
    other.id = cell_id(other.cell);
    for (const int width : {80, 120, 0}) {
      const Plan plan = plan_of({one, other});
      EXPECT_THAT(text_of(plan, width), HasSubstr(shown)) << width;
      const std::vector<std::string> rows = lines_of(text_of(plan, width, true));
      // Without their ids, which come first.
      size_t found = 0;
      std::string texts[2];
      for (const std::string& line : rows) {
        for (const PlanCell* planned : {&one, &other}) {
          if (line.rfind(planned->id, 0) == 0) texts[found++] = line.substr(planned->id.size());
        }
      }
      ASSERT_EQ(found, 2U);
      EXPECT_NE(texts[0], texts[1]) << shown << " " << width;
    }
  }
}

TEST(PlanText, EveryCellIsThereWhenAskedFor) {
  const Plan plan = plan_of({cell("latency", "allreduce", 8), cell("latency", "allreduce", 64)});
  const std::string text = text_of(plan, 80, true);
  for (const PlanCell& planned : plan.cells) EXPECT_THAT(text, HasSubstr("\n" + planned.id + "  "));
  EXPECT_THAT(text, Not(HasSubstr("-v")));
}

TEST(PlanText, SkippedCellsAreCountedWithTheirReasons) {
  std::vector<PlanCell> cells = {cell("check", "allgather", 8, 3),
                                 cell("check", "allgather", 8, 2)};
  cells[0].skip = "needs a power of two";
  cells[0].estimated_s = 0;
  const std::string text = text_of(plan_of(cells), 80);
  EXPECT_THAT(text, HasSubstr("- 1 skipped: needs a power of two\n"));
  EXPECT_THAT(text, HasSubstr("2 cells, 1 of them skipped, about 2 s;"));
}

TEST(PlanText, TimesAreInHoursAndMinutes) {
  const std::pair<double, const char*> times[] = {{0, "<1 s"},
                                                  {0.96, "1 s"},
                                                  {50.2, "50 s"},
                                                  {89.4, "89 s"},
                                                  {90, "2 min"},
                                                  {180, "3 min"},
                                                  {3569, "59 min"},
                                                  {3599, "1 h"},
                                                  {4800, "1 h 20 min"},
                                                  {86'400, "24 h"},
                                                  {2.126 * 86'400, "2 d 3 h"},
                                                  {30 * 86'400.0, "30 d"}};
  for (const auto& [seconds, expected] : times) EXPECT_EQ(rough_time(seconds), expected) << seconds;
}

TEST(PlanText, NoLineIsWiderThanTheTerminal) {
  std::vector<PlanCell> cells;
  for (const char* op : {"reduce_scatter", "allreduce"}) {
    for (int i = 0; i < 6; ++i) {
      PlanCell planned = cell("throughput", op, 1000u << i);
      planned.cell.outstanding = 1 + i;
      planned.cell.sync = i % 2 == 0 ? "none" : "window";
      planned.cell.algorithm = "recursive_doubling";
      planned.cell.params["socket_buffer_bytes"] = "\033[2J16777216";
      planned.cell.params["a_long_name"] = std::string(100, 'x');
      if (i == 3) planned.skip = "a reason of many words that goes on and on and on and on and on";
      cells.push_back(planned);
    }
  }
  for (const bool every_cell : {false, true}) {
    for (const int width : {40, 60, 80, 120}) {
      for (const std::string& line : lines_of(text_of(plan_of(cells), width, every_cell))) {
        EXPECT_LE(display_width(line), static_cast<size_t>(width)) << line;
        EXPECT_THAT(line, Not(HasSubstr("\033")));
      }
    }
  }
}

TEST(PlanText, ShippedScenariosAreRowsThatFitAndDiffer) {
  for (const char* name : {"quickstart", "benchmark_matrix", "nightly", "collective_check"}) {
    const Finished done =
        run_program(plumbline_argv({"plan", name, "--seed", "1"}), {"COLUMNS=80"});
    ASSERT_EQ(done.status, 0) << done.err;
    std::set<std::string> seen;
    size_t rows = 0, counts = 0;
    for (const std::string& line : lines_of(done.out)) {
      EXPECT_LE(line.size(), 80U) << line;
      if (line.rfind("kind ", 0) == 0) counts = line.find("cells");
      if (line.rfind("check ", 0) != 0 && line.rfind("latency ", 0) != 0 &&
          line.rfind("bandwidth ", 0) != 0 && line.rfind("throughput ", 0) != 0) {
        continue;
      }
      ++rows;
      // Without counts and times: those may differ where nothing else does.
      const std::string row = line.substr(0, counts);
      EXPECT_TRUE(seen.insert(row).second) << name << ": " << line;
    }
    EXPECT_GT(rows, 5U) << done.out;
    EXPECT_LT(rows, 60U) << done.out;
  }
  const Finished every =
      run_program(plumbline_argv({"run", "quickstart", "--dry-run", "-v", "--seed", "1"}));
  EXPECT_EQ(every.status, 0) << every.err;
  EXPECT_THAT(every.out, HasSubstr("\nfbfeb81efea09f38  "));
}

}  // namespace
}  // namespace plumbline
