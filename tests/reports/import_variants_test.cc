// Forms of other tools' output that look like what is known and mean something else, or stand
// behind a launcher's marks; and that what is left out is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/reports/import_samples.h"
#include "tests/reports/samples.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

using samples::error_of;
using samples::import_of;
using samples::sample_path;
using samples::told;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ImportResult read(const std::string& text, const std::vector<std::string>& words = {}) {
  const auto out = import_of(text, *parse_assumptions(words));
  EXPECT_TRUE(out) << out.error().message();
  return out ? *out : ImportResult{};
}

// Every line with something in front.
std::string marked(const std::string& text, const std::string& mark) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += mark + line + "\n";
  return out;
}

// Whatever is cut off, turned into another number or repeated: read or refused, and what is read is
// a record.
TEST(ImportVariants, BrokenFormsAreReadOrRefused) {
  const std::string texts[] = {
      "# OSU MPI All-to-All Personalized Exchange Latency Test v7.5\n"
      "# Size       Avg Latency(us)\n1024  33.52\n",
      "# Benchmarking Multi-Biband \n# ( 2 groups of 4 processes each running simultaneous ) \n"
      " Group #bytes #repetitions Mbytes/sec Msg/sec\n 0 1024 1000 1.00 5000\n",
      "[1,0]<stdout>:# Collective test starting: all_reduce_perf\n"
      "[1,0]<stdout>:#  size count type redop root time algbw busbw #wrong\n"
      "[1,0]<stdout>: 1024 256 float sum -1 10.0 1.0 1.0 0\n"};
  const Assumptions assume = *parse_assumptions({"ranks=4"});
  for (const std::string& text : texts) {
    for (size_t at = 0; at < text.size(); ++at) {
      for (const char* with : {"", "\n", "-", "1e308", "99999999999999999999", "\xFF", "]<", ":"}) {
        for (const std::string& broken :
             {text.substr(0, at) + with, text.substr(0, at) + with + text.substr(at)}) {
          const auto out = import_of(broken, assume);
          if (!out) continue;
          for (const Record& record : out->records) {
            EXPECT_TRUE(record_from_line(to_line(record))) << broken;
          }
        }
      }
    }
  }
}

// --- OSU ------------------------------------------------------------------------------------

TEST(ImportOsu, PersonalizedExchangeIsAlltoall) {
  const ImportResult out = read(
      "# OSU MPI All-to-All Personalized Exchange Latency Test v7.5\n# Datatype: MPI_CHAR.\n"
      "# Size       Avg Latency(us)        Validation\n1024  33.52  Pass\n",
      {"ranks=4"});
  ASSERT_EQ(out.records.size(), 1U);
  EXPECT_EQ(out.records[0].cell.op, "alltoall");
  EXPECT_EQ(out.records[0].cell.bytes, 4096U);  // S spans all ranks
  EXPECT_EQ(told(out.records[0]).time_ns, 33520);
  EXPECT_TRUE(out.records[0].measurement.verified);
  EXPECT_THAT(out.notes, IsEmpty());
  // Without the ranks S is not known.
  EXPECT_THAT(error_of("# OSU MPI All-to-All Personalized Exchange Latency Test v7.5\n"
                       "# Size       Avg Latency(us)\n1024  33.52\n"),
              HasSubstr("say --assume ranks=N"));
}

// The one with sizes of its own for each pair is another operation.
TEST(ImportOsu, AlltoallvKeepsItsName) {
  const ImportResult out = read(
      "# OSU MPI All-to-Allv Personalized Exchange Latency Test v7.5\n"
      "# Size       Avg Latency(us)\n1024  33.52\n",
      {"ranks=4"});
  ASSERT_EQ(out.records.size(), 1U);
  EXPECT_EQ(out.records[0].cell.op, "all_to_allv");
}

TEST(ImportOsu, ColumnsThatAreLeftOutAreSaidOnce) {
  const ImportResult out = read(
      "# OSU MPI Non-blocking Allreduce Latency Test v7.5\n"
      "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
      "1 10.54 5.85 4.89 4.31\n2 10.37 5.67 4.65 7.80\n");
  EXPECT_EQ(out.records.size(), 2U);
  EXPECT_THAT(out.notes, ElementsAre(HasSubstr("Compute(us), Pure Comm.(us)")));
}

// --- IMB ------------------------------------------------------------------------------------

constexpr const char* kImbHead = "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n";

// src_c/IMB_output.c of the benchmarks, IMB_print_header(): one group, and the columns of -multi 0.
TEST(ImportImb, MultiIsTheSlowestOfItsGroups) {
  const ImportResult out = read(std::string(kImbHead) +
                                "#---\n# Benchmarking Multi-PingPong \n"
                                "# ( 2 groups of 2 processes each running simultaneous ) \n"
                                "# Group  0:     0    1\n# \n# Group  1:     2    3\n# \n#---\n"
                                "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]"
                                "   Mbytes/sec\n"
                                "            8         1000         1.40         1.50         1.45"
                                "         5.33\n");
  ASSERT_EQ(out.records.size(), 1U);
  const Record& r = out.records[0];
  EXPECT_EQ(r.cell.op, "pingpong");
  EXPECT_EQ(r.cell.ranks, 2);
  EXPECT_EQ(r.cell.params.at("groups"), "2");
  EXPECT_EQ(told(r).time_ns, 3000);  // doubled
  EXPECT_THAT(told(r).note, HasSubstr("2 groups at once, the slowest of all"));
  EXPECT_THAT(out.notes, IsEmpty());
}

// -multi 1: the column Group, a row for each, an empty line between sizes.
TEST(ImportImb, MultiWithARowForEachGroup) {
  const ImportResult out =
      read(std::string(kImbHead) +
           "# Benchmarking Multi-Allreduce \n"
           "# ( 2 groups of 4 processes each running simultaneous ) \n#---\n"
           "        Group       #bytes #repetitions  t_min[usec]  t_max[usec]"
           "  t_avg[usec]\n"
           "\n            0         1024         1000         4.00         5.00"
           "         4.50\n"
           "            1         1024         1000         6.00         7.00"
           "         6.50\n");
  ASSERT_EQ(out.records.size(), 2U);
  EXPECT_EQ(out.records[0].cell.op, "allreduce");
  EXPECT_EQ(out.records[0].cell.ranks, 4);
  EXPECT_EQ(out.records[0].cell.bytes, 1024U);
  EXPECT_EQ(out.records[0].cell.params.at("group"), "0");
  EXPECT_EQ(told(out.records[0]).time_ns, 5000);
  EXPECT_EQ(out.records[1].cell.params.at("group"), "1");
  EXPECT_EQ(told(out.records[1]).time_ns, 7000);
  EXPECT_EQ(out.records[1].cell.repeat, 0);  // another cell, no repetition of the first
  EXPECT_THAT(told(out.records[1]).note, HasSubstr("2 groups at once"));
}

// Messages a second of all pairs and directions, by the user guide; "Mbytes/sec" is not needed.
TEST(ImportImb, UnibandAndBibandAreRatesOfOnePairAndDirection) {
  const ImportResult out = read(std::string(kImbHead) +
                                "# Benchmarking Uniband \n# #processes = 2 \n#---\n"
                                "       #bytes #repetitions   Mbytes/sec      Msg/sec\n"
                                "            0         1000         0.00      2189915\n"
                                "      1048576           40     10485.76        10000\n"
                                "# Benchmarking Biband \n# #processes = 8 \n#---\n"
                                "       #bytes #repetitions   Mbytes/sec      Msg/sec\n"
                                "      1048576           40     83886.08        80000\n");
  ASSERT_EQ(out.records.size(), 2U);
  const Record& one = out.records[0];
  EXPECT_EQ(one.cell.op, "stream");
  EXPECT_EQ(one.cell.kind, CellKind::kBandwidth);
  EXPECT_DOUBLE_EQ(*one.algbw_Bps, 10000.0 * 1048576);
  EXPECT_EQ(one.measurement.iterations, 40U);
  EXPECT_FALSE(told(one).time_ns);
  const Record& both = out.records[1];
  EXPECT_EQ(both.cell.op, "bidirectional");
  EXPECT_EQ(both.cell.params.at("pairs"), "4");
  EXPECT_DOUBLE_EQ(*both.algbw_Bps, 80000.0 / 4 / 2 * 1048576);
  EXPECT_EQ(both.measurement.extra.at("messages_per_s"), 80000);
  EXPECT_THAT(told(both).note, HasSubstr("sum of all pairs and both directions"));
  EXPECT_THAT(out.notes, ElementsAre(HasSubstr("messages without bytes have no bandwidth")));
}

TEST(ImportImb, RowsWithoutANumberAreSaid) {
  const ImportResult out =
      read(std::string(kImbHead) +
           "# Benchmarking Alltoall \n# #processes = 4 \n"
           "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
           "            8         1000         1.00         2.00         1.50\n"
           "      4194304  time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over\n"
           "# Benchmarking Iallreduce \n# #processes = 4 \n"
           "       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]\n"
           "            8         1000         1.00         2.00         1.50        10.00\n");
  EXPECT_EQ(out.records.size(), 1U);
  EXPECT_THAT(out.notes, ElementsAre(HasSubstr("FILE:6: a row without t and t_max is left out "
                                               "(time-out)"),
                                     HasSubstr("FILE:10: a row without t and t_max")));
}

// --- Google Benchmark -------------------------------------------------------------------------

std::string aggregate(const std::string& statistic, const std::string& value,
                      const std::string& unit = "time") {
  return R"({"name":"copy/bytes:4096_)" + statistic +
         R"(","run_name":"copy/bytes:4096","run_type":"aggregate","repetitions":9,"iterations":9,)"
         R"("aggregate_name":")" +
         statistic + R"(","aggregate_unit":")" + unit + R"(","real_time":)" + value +
         R"(,"cpu_time":1,"time_unit":"us"})";
}

TEST(ImportGoogleBenchmark, AggregatesAloneAreTheMedianOverRepetitions) {
  const ImportResult out =
      read(R"({"context":{"caches":[]},"benchmarks":[)" + aggregate("mean", "12") + "," +
           aggregate("median", "11") + "," + aggregate("stddev", "0.5") + "," +
           aggregate("cv", "0.04", "percentage") + "]}");
  ASSERT_EQ(out.records.size(), 1U);
  const Record& r = out.records[0];
  EXPECT_EQ(r.cell.op, "copy");
  EXPECT_EQ(r.cell.bytes, 4096U);
  EXPECT_EQ(told(r).time_ns, 11000);
  EXPECT_EQ(told(r).statistic, "median over repetitions");
  EXPECT_EQ(r.measurement.extra.at("mean_ns"), 12000);
  EXPECT_EQ(r.measurement.extra.at("stddev_ns"), 500);
  EXPECT_EQ(r.measurement.extra.at("cv"), 0.04);
  EXPECT_EQ(r.measurement.extra.at("repetitions"), 9);
  EXPECT_FALSE(r.time_ns.p50);  // no samples: nothing becomes a median of ours
  EXPECT_THAT(out.notes, IsEmpty());
}

TEST(ImportGoogleBenchmark, WithoutAMedianItIsTheMean) {
  const ImportResult out =
      read(R"({"context":{"caches":[]},"benchmarks":[)" + aggregate("mean", "12") + "]}");
  ASSERT_EQ(out.records.size(), 1U);
  EXPECT_EQ(told(out.records[0]).statistic, "mean over repetitions");
  EXPECT_EQ(told(out.records[0]).time_ns, 12000);
}

TEST(ImportGoogleBenchmark, WhatIsLeftOutIsSaid) {
  const ImportResult out =
      read(R"({"context":{"caches":[]},"benchmarks":[)"
           R"({"name":"copy/bytes:4096","run_name":"copy/bytes:4096","run_type":"iteration",)"
           R"("iterations":10,"real_time":11,"time_unit":"us"},)" +
           aggregate("mean", "12") + "," + aggregate("BigO", "3") + "]}");
  ASSERT_EQ(out.records.size(), 1U);
  EXPECT_EQ(told(out.records[0]).statistic, "mean");
  EXPECT_THAT(out.notes,
              ElementsAre(HasSubstr("1 aggregates are left out: the repetitions"),
                          HasSubstr("no mean, median, stddev or cv are left out: BigO")));
  const ImportResult spread =
      read(R"({"context":{"caches":[]},"benchmarks":[)" + aggregate("mean", "12") +
           R"(,{"name":"x_cv","run_name":"x",)"
           R"("run_type":"aggregate","aggregate_name":"cv","real_time":1}]})");
  EXPECT_EQ(spread.records.size(), 1U);
  EXPECT_THAT(spread.notes, ElementsAre(HasSubstr("of x there is neither a mean nor a median")));
}

// --- iperf3 -----------------------------------------------------------------------------------

std::string event(const std::string& name, const std::string& data) {
  return R"({"event":")" + name + R"(","data":)" + data + "}\n";
}
std::string start(const std::string& cookie) {
  return R"({"connected":[],"version":"iperf 3.21","cookie":")" + cookie +
         R"(","test_start":{"protocol":"TCP","num_streams":1,"blksize":131072}})";
}
constexpr const char* kEnd =
    R"({"sum_sent":{"bits_per_second":8e9,"seconds":1},"sum_received":{"bits_per_second":8e9,"seconds":1}})";

std::string whole(const std::string& cookie, const std::string& more = "") {
  return "{\n\t\"start\":\t" + start(cookie) + ",\n\t\"intervals\":\t[],\n\t\"end\":\t" + kEnd +
         more + "\n}\n";
}

TEST(ImportIperf3, StreamWithItsFullOutputIsOneRun) {
  const std::string streamed = event("start", start("a")) + event("end", kEnd);
  const ImportResult out = read(streamed + whole("a"));
  EXPECT_EQ(out.records.size(), 1U);
  EXPECT_EQ(*out.records.at(0).algbw_Bps, 1e9);
  EXPECT_THAT(out.notes, ElementsAre(HasSubstr("FILE:3: the summary of the test")));
  // Two such runs are two; so is a run of another cookie behind a stream.
  EXPECT_EQ(
      read(streamed + whole("a") + event("start", start("b")) + event("end", kEnd) + whole("b"))
          .records.size(),
      2U);
  EXPECT_EQ(read(streamed + whole("b")).records.size(), 2U);
  EXPECT_EQ(read(streamed + whole("a") + whole("a")).records.size(), 2U);
}

TEST(ImportIperf3, WithoutACookieTimeAndPortsTell) {
  const auto told_by = [](int seconds) {
    return R"({"connected":[{"local_port":5}],"timestamp":{"timesecs":)" + std::to_string(seconds) +
           R"(},"test_start":{"protocol":"TCP","blksize":131072}})";
  };
  const std::string streamed = event("start", told_by(7)) + event("end", kEnd);
  const auto full = [&](int seconds) {
    return "{\"start\":" + told_by(seconds) + ",\"end\":" + kEnd + "}";
  };
  EXPECT_EQ(read(streamed + full(7)).records.size(), 1U);
  EXPECT_EQ(read(streamed + full(8)).records.size(), 2U);
}

// After an error the events have no end, and the whole says what there is to say.
TEST(ImportIperf3, AStreamThatBrokeOffAndItsFullOutputAreOneRun) {
  const ImportResult out =
      read(event("start", start("a")) + event("error", "\"control socket has closed\"") +
           whole("a", ",\n\t\"error\":\t\"control socket has closed\""));
  ASSERT_EQ(out.records.size(), 1U);
  EXPECT_EQ(out.records[0].measurement.outcome, Outcome::kError);
  // One that never ended, and then another: neither hides the other.
  const ImportResult two =
      read(event("start", start("a")) + event("start", start("b")) + event("end", kEnd));
  EXPECT_EQ(two.records.size(), 1U);
  EXPECT_THAT(two.notes, ElementsAre(HasSubstr("was the test stopped?")));
}

// --- nccl-tests behind a launcher -------------------------------------------------------------

TEST(ImportNccl, TableBehindTheMarksOfALauncher) {
  const std::string plain = samples::file_text(sample_path("nccl_tests.txt"));
  const ImportResult expected = read(plain);
  // srun --label; with more than ten tasks; mpirun --tag-output of Open MPI 4 and 5; mpiexec -l.
  for (const char* mark : {"0: ", " 0: ", "[1,0]<stdout>:", "[1,0]<stdout>: ",
                           "[prterun-host1-4242@1,0]<stdout>: ", "[0] "}) {
    SCOPED_TRACE(mark);
    const ImportResult out = read(marked(plain, mark));
    ASSERT_EQ(out.records.size(), expected.records.size());
    EXPECT_THAT(out.notes, IsEmpty());
    for (size_t i = 0; i < out.records.size(); ++i) {
      EXPECT_EQ(cell_id(out.records[i]), cell_id(expected.records[i]));
      EXPECT_EQ(told(out.records[i]).time_ns, told(expected.records[i]).time_ns);
      EXPECT_EQ(out.records[i].measurement.wrong, expected.records[i].measurement.wrong);
      EXPECT_EQ(out.records[i].cell.ranks, 2);
    }
  }
}

// Lines of others between those of the one that prints the table do not harm it.
TEST(ImportNccl, OtherProcessesMaySpeakBetween) {
  std::string text;
  std::istringstream lines(samples::file_text(sample_path("nccl_tests.txt")));
  for (std::string line; std::getline(lines, line);) {
    text += "0: " + line + "\n1: host1:26:67 [1] NCCL INFO 12 coll channels\n1: 3 4 5\n";
  }
  const ImportResult out = read(text);
  EXPECT_EQ(out.records.size(), 5U);
  EXPECT_THAT(out.notes, IsEmpty());
}

// Built without MPI every process measures itself: two tables that are woven into each other.
TEST(ImportNccl, AProcessHasATableOfItsOwn) {
  std::string text;
  std::istringstream lines(samples::file_text(sample_path("nccl_tests.txt")));
  for (std::string line; std::getline(lines, line);) {
    text += "0: " + line + "\n1: " + line + "\n";
  }
  const ImportResult out = read(text);
  EXPECT_EQ(out.records.size(), 10U);
  for (const Record& record : out.records) EXPECT_EQ(record.cell.ranks, 2);
  EXPECT_THAT(out.notes, ElementsAre(HasSubstr("2 processes printed a table each")));
}

TEST(ImportNccl, WhatIsNoMarkStaysWhereItIs) {
  const std::string plain = samples::file_text(sample_path("nccl_tests.txt"));
  for (const char* mark : {"x: ", "0 ", "[1,x]<stdout>:", "[]", "[1,0]<other>:", ": "}) {
    SCOPED_TRACE(mark);
    EXPECT_FALSE(import_of(marked(plain, mark)));
  }
}

}  // namespace
}  // namespace plumbline
