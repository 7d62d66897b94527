// Importers: what each field of another tool's output becomes, what is refused, and that nothing in
// a foreign file can do worse than be refused. Files named iperf3_* (but _stream) and gbench.json
// are real output of Debian's iperf3 3.12 and of our kernels_bench; the others are written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/json.h"
#include "reports/picture.h"
#include "reports/utc.h"
#include "reports/view.h"
#include "tests/reports/exchange_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using samples::import_of;
using samples::sample_path;
using testing::HasSubstr;

ImportResult imported(const std::string& name, const std::vector<std::string>& words = {}) {
  const auto assume = parse_assumptions(words);
  EXPECT_TRUE(assume);
  const auto out = import_file(sample_path(name), *assume);
  EXPECT_TRUE(out) << out.error().message();
  if (!out || !*out) {
    ADD_FAILURE() << name << " was not imported";
    return {};
  }
  return **out;
}

const Reported& told(const Record& record) { return *record.measurement.reported; }

std::string error_of(const std::string& text, const std::vector<std::string>& words = {}) {
  const auto assume = parse_assumptions(words);
  const auto out = import_of(text, assume ? *assume : Assumptions{});
  return out ? "no error" : out.error().message();
}

TEST(Import, EverySampleIsRecognisedByItsOwnRowAlone) {
  const std::map<std::string, std::string> rows = {{"iperf3_tcp.json", "iperf3"},
                                                   {"iperf3_udp.json", "iperf3"},
                                                   {"iperf3_bidirectional.json", "iperf3"},
                                                   {"iperf3_reverse.json", "iperf3"},
                                                   {"iperf3_server.json", "iperf3"},
                                                   {"iperf3_refused.json", "iperf3"},
                                                   {"iperf3_stream.jsonl", "iperf3"},
                                                   {"nccl_tests.json", "nccl-tests-json"},
                                                   {"nccl_tests.txt", "nccl-tests"},
                                                   {"gbench.json", "google-benchmark"},
                                                   {"osu.txt", "osu"},
                                                   {"imb.txt", "imb"},
                                                   {"perftest_bw.json", "perftest-json"},
                                                   {"perftest_lat.json", "perftest-json"},
                                                   {"perftest_bw.txt", "perftest"},
                                                   {"perftest_lat.txt", "perftest"}};
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(sample_path(""))) {
    const std::string name = entry.path().filename().string();
    ASSERT_TRUE(rows.contains(name)) << name;
    const std::string text = samples::file_text(entry.path().string());
    for (const ImportRow& row : import_table()) {
      EXPECT_EQ(row.recognise(text), row.descriptor.name == rows.at(name))
          << name << " by " << row.descriptor.name;
    }
    ++files;
  }
  EXPECT_EQ(files, rows.size());
}

TEST(Import, Iperf3TcpIsTheReceiversRate) {
  const ImportResult out = imported("iperf3_tcp.json");
  ASSERT_EQ(out.records.size(), 1U);
  const Record& r = out.records[0];
  EXPECT_EQ(r.cell.kind, "bandwidth");
  EXPECT_EQ(r.cell.op, "stream");
  EXPECT_EQ(r.cell.engine, "iperf3");
  EXPECT_EQ(r.cell.transport, "tcp");
  EXPECT_EQ(r.cell.bytes, 131072U);
  EXPECT_EQ(r.cell.params.at("streams"), "2");
  EXPECT_DOUBLE_EQ(*r.algbw_Bps, 22207476296.885555 / 8);
  EXPECT_EQ(r.busbw_Bps, r.algbw_Bps);
  EXPECT_FALSE(r.time_ns.p50);  // no samples: nothing becomes a median
  EXPECT_EQ(told(r).version, "3.12");
  EXPECT_EQ(r.measurement.elapsed_ns, 2'001'256'000);
  EXPECT_EQ(r.noise.verdict, "unknown");
  EXPECT_EQ(r.time.substr(0, 11), "2026-11-22T");
  EXPECT_EQ(r.measurement.resolved.address_pairs.size(), 2U);
  EXPECT_TRUE(r.measurement.extra.contains("retransmits_segments"));
  EXPECT_TRUE(r.measurement.extra.contains("rtt_mean_ns"));
}

TEST(Import, Iperf3OtherForms) {
  const Record udp = imported("iperf3_udp.json").records.at(0);
  EXPECT_EQ(udp.cell.transport, "udp");
  EXPECT_EQ(udp.cell.params.at("target_bitrate"), "50000000");
  EXPECT_EQ(udp.measurement.extra.at("sent_datagrams"), 191);
  EXPECT_EQ(udp.measurement.extra.at("lost_datagrams"), 0);
  EXPECT_NEAR(udp.measurement.extra.at("jitter_ns"), 7093.36, 0.01);
  const Record both = imported("iperf3_bidirectional.json").records.at(0);
  EXPECT_EQ(both.cell.op, "bidirectional");
  EXPECT_DOUBLE_EQ(*both.algbw_Bps, 8908233561.35475 / 8);  // the slower direction
  const Record refused = imported("iperf3_refused.json").records.at(0);
  EXPECT_EQ(refused.measurement.outcome, Outcome::kError);
  EXPECT_THAT(refused.measurement.reason, HasSubstr("Connection refused"));
  EXPECT_EQ(imported("iperf3_reverse.json").records.at(0).cell.params.at("reverse"), "1");
  // The server's file of the same test knows only what it sent.
  EXPECT_NEAR(*imported("iperf3_server.json").records.at(0).algbw_Bps, 23273336885.9 / 8, 1);
  const Record stream = imported("iperf3_stream.jsonl").records.at(0);
  EXPECT_DOUBLE_EQ(*stream.algbw_Bps, 999000000);
  EXPECT_EQ(stream.measurement.extra.at("rtt_mean_ns"), 123000);
  EXPECT_EQ(stream.measurement.extra.at("cpu_host_percent"), 50.5);
}

TEST(Import, Iperf3StreamWithoutItsEndSaysSo) {
  std::string text = samples::file_text(sample_path("iperf3_stream.jsonl"));
  text.resize(text.find("{\"event\":\"end\""));
  EXPECT_THAT(error_of(text), HasSubstr("was the test stopped?"));
  EXPECT_THAT(error_of(text + "{\"event\":\"end\",\"data\":{\"sum_"),
              HasSubstr("FILE:3: the JSON that begins here is cut off"));
}

TEST(Import, NcclTestsJson) {
  const ImportResult out = imported("nccl_tests.json");
  ASSERT_EQ(out.records.size(), 3U);  // the in-place side of the second row is "nan"
  const Record& first = out.records[0];
  EXPECT_EQ(first.cell.op, "allgather");
  EXPECT_EQ(first.cell.ranks, 4);
  EXPECT_EQ(first.cell.kind, "latency");
  EXPECT_EQ(first.cell.root, -1);
  EXPECT_EQ(first.cell.dtype, "f32");
  EXPECT_EQ(first.measurement.samples_ns, (std::vector<int64_t>{25250, 20000, 19500, 21000}));
  EXPECT_EQ(first.time_ns.p50, 20500);    // of the samples
  EXPECT_EQ(told(first).time_ns, 20480);  // what it printed
  EXPECT_EQ(told(first).statistic, "mean");
  EXPECT_EQ(first.measurement.wrong, 0U);
  const Record& wrong = out.records[1];
  EXPECT_EQ(wrong.cell.placement, "in");
  EXPECT_EQ(wrong.measurement.outcome, Outcome::kFailed);
  EXPECT_EQ(wrong.measurement.wrong, 2U);
  const Record& large = out.records[2];
  EXPECT_EQ(large.cell.kind, "bandwidth");
  EXPECT_FALSE(large.measurement.wrong);  // not checked is not right
  EXPECT_FALSE(large.measurement.verified);
  EXPECT_DOUBLE_EQ(*large.algbw_Bps, 9.998341e9);
  EXPECT_DOUBLE_EQ(*large.busbw_Bps, 7.498756e9);
}

// One device a process is listed, whatever a process drives.
TEST(Import, NcclTestsRanksFromItsDevices) {
  const std::string text = samples::file_text(sample_path("nccl_tests.json"));
  const auto ranks_of = [&](const std::string& devices, int gpus) {
    nlohmann::json doc = nlohmann::json::parse(text);
    doc["config"]["devices"] = nlohmann::json::parse(devices);
    doc["config"]["ngpus"] = gpus;
    const auto out = import_of(doc.dump());
    return out ? out->records.at(0).cell.ranks : -1;
  };
  EXPECT_EQ(ranks_of(R"([{"rank":0}])", 8), 8);
  EXPECT_EQ(ranks_of(R"([{"rank":0},{"rank":1},{"rank":2}])", 1), 3);
  EXPECT_EQ(ranks_of(R"([{"rank":0},{"rank":4}])", 4), 8);
  EXPECT_EQ(ranks_of(R"([{"rank":0},{"rank":-4}])", 4), 2);
  EXPECT_EQ(ranks_of("[]", 4), 0);
}

TEST(Import, NcclTestsTable) {
  const ImportResult out = imported("nccl_tests.txt");
  ASSERT_EQ(out.records.size(), 5U);
  EXPECT_TRUE(out.notes.empty());
  const Record& first = out.records[0];
  EXPECT_EQ(first.cell.op, "allreduce");
  EXPECT_EQ(first.cell.redop, "sum");
  EXPECT_EQ(first.cell.ranks, 2);
  EXPECT_EQ(first.measurement.iterations, 20U);
  EXPECT_EQ(told(first).version, "2.19.6");
  EXPECT_EQ(told(first).time_ns, 10000);
  EXPECT_DOUBLE_EQ(*first.algbw_Bps, 8e5);  // the table has 0.00
  EXPECT_FALSE(out.records[3].measurement.wrong);
  EXPECT_DOUBLE_EQ(*out.records[4].busbw_Bps, 134217728 / 6710.9e3 * 1e9);
}

TEST(Import, NcclTestsTableWithoutItsPreamble) {
  const std::string text = samples::file_text(sample_path("nccl_tests.txt"));
  const std::string table = text.substr(text.find("#       size"));
  EXPECT_THAT(error_of(table), HasSubstr("say --assume op="));
  const auto out = import_of(table, *parse_assumptions({"op=broadcast", "ranks=8"}));
  ASSERT_TRUE(out) << out.error().message();
  EXPECT_EQ(out->records.at(0).cell.op, "broadcast");
  EXPECT_EQ(out->records.at(0).cell.ranks, 8);
  EXPECT_THAT(import_of(table, *parse_assumptions({"op=reduce"}))->notes.at(0),
              HasSubstr("--assume ranks=N"));
}

TEST(Import, GoogleBenchmarkRepetitions) {
  const ImportResult out = imported("gbench.json");
  ASSERT_EQ(out.records.size(), 6U);  // three repetitions of two; aggregates are left out
  const nlohmann::json doc = nlohmann::json::parse(samples::file_text(sample_path("gbench.json")));
  std::set<std::string> ids;
  for (size_t i = 0; i < 6; ++i) {
    const Record& r = out.records[i];
    EXPECT_EQ(r.cell.op, "pattern_fill");
    EXPECT_EQ(r.cell.repeat, static_cast<int>(i % 3));
    EXPECT_EQ(told(r).statistic, "mean");
    ids.insert(cell_id(r));
  }
  EXPECT_EQ(ids.size(), 6U);
  EXPECT_EQ(out.records[0].cell.params.at("arguments"), "f32/32KiB");
  EXPECT_EQ(told(out.records[0]).time_ns, doc["benchmarks"][0]["real_time"].get<double>());
  EXPECT_EQ(out.records[0].algbw_Bps, doc["benchmarks"][0]["bytes_per_second"].get<double>());
}

TEST(Import, GoogleBenchmarkNamesUnitsErrorsAndNaN) {
  const auto out = import_of(R"({"context":{"caches":[]},"benchmarks":[
    {"name":"copy/bytes:4096/threads:2","run_type":"iteration","iterations":10,"real_time":1.5,
     "cpu_time":-nan,"time_unit":"ms","bytes_per_second":Infinity},
    {"name":"broken","run_type":"iteration","error_occurred":true,"error_message":"no device",
     "real_time":0,"cpu_time":0,"time_unit":"ns"},
    {"name":"empty","run_type":"iteration","real_time":NaN,"time_unit":"ns"}]})");
  ASSERT_TRUE(out) << out.error().message();
  ASSERT_EQ(out->records.size(), 3U);
  EXPECT_EQ(out->records[0].cell.bytes, 4096U);
  EXPECT_EQ(out->records[0].cell.ranks, 2);
  EXPECT_EQ(told(out->records[0]).time_ns, 1.5e6);
  EXPECT_FALSE(out->records[0].algbw_Bps);  // Infinity is no rate
  EXPECT_FALSE(out->records[0].measurement.extra.contains("cpu_time_ns"));
  EXPECT_EQ(out->records[1].measurement.reason, "no device");
  EXPECT_EQ(out->records[2].measurement.outcome, Outcome::kError);
}

TEST(Import, OsuTables) {
  EXPECT_THAT(error_of(samples::file_text(sample_path("osu.txt"))),
              HasSubstr("FILE:6: OSU's table does not say how many ranks took part"));
  const ImportResult out = imported("osu.txt", {"ranks=4"});
  ASSERT_EQ(out.records.size(), 9U);
  const Record& small = out.records[0];
  EXPECT_EQ(small.cell.op, "allreduce");
  EXPECT_EQ(small.cell.dtype, "f32");
  EXPECT_EQ(small.cell.count, 1U);
  EXPECT_EQ(told(small).time_ns, 7930);
  EXPECT_EQ(told(small).statistic, "mean over ranks");
  EXPECT_EQ(small.measurement.extra.at("slowest_rank_mean_ns"), 9120);
  EXPECT_EQ(small.measurement.iterations, 1000U);
  EXPECT_EQ(out.records[1].cell.kind, "bandwidth");
  EXPECT_EQ(out.records[2].cell.bytes, 4096U);  // 1024 of each of four ranks
  EXPECT_EQ(out.records[3].cell.op, "barrier");
  EXPECT_EQ(told(out.records[3]).time_ns, 8320);
  EXPECT_EQ(told(out.records[5]).time_ns, 3000);  // half a round trip was printed
  EXPECT_THAT(told(out.records[5]).note, HasSubstr("doubled"));
  EXPECT_EQ(out.records[5].cell.ranks, 2);
  EXPECT_DOUBLE_EQ(*out.records[6].algbw_Bps, 12254.16e6);
  EXPECT_DOUBLE_EQ(*out.records[7].algbw_Bps, 10000e6);  // of both directions
  EXPECT_EQ(out.records[8].cell.op, "multiple_bandwidth_message_rate");
  EXPECT_EQ(out.records[8].measurement.extra.at("messages_per_s"), 5e6);
}

// Old versions do not print the type.
TEST(Import, OsuReducesFloatsAndMovesBytes) {
  const char* table = "# OSU MPI %s Latency Test v5.8\n# Size       Avg Latency(us)\n1024  5.0\n";
  for (const auto& [name, type, count] :
       {std::tuple{"Allreduce", "f32", 256U}, {"Broadcast", "u8", 1024U}}) {
    std::string text = table;
    text.replace(text.find("%s"), 2, name);
    const auto out = import_of(text, *parse_assumptions({"ranks=2"}));
    ASSERT_TRUE(out) << out.error().message();
    EXPECT_EQ(out->records.at(0).cell.dtype, type);
    EXPECT_EQ(out->records.at(0).cell.count, count);
  }
}

TEST(Import, ImbTables) {
  const ImportResult out = imported("imb.txt");
  ASSERT_EQ(out.records.size(), 5U);
  EXPECT_EQ(told(out.records[1]).time_ns, 25000);  // the slowest rank
  EXPECT_EQ(told(out.records[1]).statistic, "mean of the slowest rank");
  EXPECT_EQ(out.records[1].cell.ranks, 4);
  EXPECT_EQ(told(out.records[1]).version, "2021.3");
  EXPECT_EQ(told(out.records[2]).time_ns, 3000);  // doubled
  EXPECT_EQ(out.records[2].cell.ranks, 2);
  EXPECT_EQ(out.records[4].cell.op, "barrier");
  EXPECT_EQ(told(out.records[4]).time_ns, 4000);
}

TEST(Import, PerftestJsonNeedsTheUnit) {
  const std::string text = samples::file_text(sample_path("perftest_bw.json"));
  EXPECT_THAT(error_of(text), HasSubstr("say --assume unit=MiB/s"));
  const ImportResult gb = imported("perftest_bw.json", {"unit=Gb/s"});
  EXPECT_DOUBLE_EQ(*gb.records.at(0).algbw_Bps, 92.25e9 / 8);
  EXPECT_EQ(gb.records.at(0).cell.op, "stream");
  EXPECT_EQ(gb.records.at(0).cell.params.at("verb"), "write");
  EXPECT_EQ(gb.records.at(0).cell.params.at("device"), "dev0");
  EXPECT_THAT(gb.notes.at(0), HasSubstr("text before the JSON"));
  const ImportResult mib = imported("perftest_bw.json", {"unit=MiB/s"});
  EXPECT_DOUBLE_EQ(*mib.records.at(0).algbw_Bps, 92.25 * 1048576);
  const Record latency = imported("perftest_lat.json").records.at(0);  // microseconds: no question
  EXPECT_EQ(told(latency).statistic, "median");
  EXPECT_EQ(told(latency).time_ns, 1600);  // half a round trip was printed
  EXPECT_EQ(latency.cell.op, "pingpong");
  EXPECT_EQ(latency.measurement.extra.at("p99_ns"), 2500);
}

TEST(Import, PerftestTables) {
  const ImportResult rates = imported("perftest_bw.txt");
  ASSERT_EQ(rates.records.size(), 3U);
  EXPECT_DOUBLE_EQ(*rates.records[0].algbw_Bps, 4020.54 * 1048576);
  EXPECT_EQ(rates.records[0].cell.params.at("connection"), "RC");
  EXPECT_EQ(rates.records[0].cell.params.at("device"), "dev0");
  EXPECT_EQ(rates.records[0].cell.params.at("link"), "Ethernet");
  EXPECT_DOUBLE_EQ(rates.records[1].measurement.extra.at("peak_Bps"), 11030.78 * 1048576);
  EXPECT_EQ(rates.records[2].cell.op, "bidirectional");
  EXPECT_DOUBLE_EQ(*rates.records[2].algbw_Bps, 184e9 / 8 / 2);
  EXPECT_EQ(rates.records[2].cell.params.at("device"), "dev1");
  const ImportResult times = imported("perftest_lat.txt");
  ASSERT_EQ(times.records.size(), 2U);
  EXPECT_EQ(times.records[0].cell.op, "rdma_read");
  EXPECT_EQ(told(times.records[0]).time_ns, 1700);  // a read is measured by one side: all of it
  EXPECT_EQ(times.records[0].measurement.extra.at("p999_ns"), 7250);
  EXPECT_EQ(told(times.records[1]).statistic, "mean");
  EXPECT_EQ(told(times.records[1]).time_ns, 1800);
}

TEST(Import, PerftestServiceLevelColumn) {
  const auto out = import_of(
      " RDMA_Write BW Test\n"
      " #bytes    #sl      #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 64        3        1000           10.00              8.00                 0.131072\n");
  ASSERT_TRUE(out) << out.error().message();
  EXPECT_DOUBLE_EQ(*out->records.at(0).algbw_Bps, 8 * 1048576.0);
  EXPECT_EQ(out->records.at(0).measurement.iterations, 1000U);
  EXPECT_THAT(
      error_of(" #bytes #iterations BW peak[kB] BW average[kB/s] MsgRate[Mpps]\n 1 1 1 1 1\n"),
      HasSubstr("unknown unit"));
}

TEST(Import, UnknownContentListsTheFormats) {
  const std::string path = testing::TempDir() + "plumbline_import_unknown";
  for (const std::string& text : {std::string("hello\n"), std::string("{\"a\":1}\n"),
                                  std::string("\x7f"
                                              "ELF\0\0",
                                              6),
                                  std::string("<html>")}) {
    std::ofstream(path, std::ios::binary) << text;
    const auto out = import_file(path, {});
    ASSERT_FALSE(out) << text;
    EXPECT_THAT(out.error().message(), HasSubstr(path + ": holds no results"));
    for (const ImportRow& row : import_table()) {
      EXPECT_THAT(out.error().message(), HasSubstr(row.descriptor.help));
    }
  }
  // Our own records, also broken ones, and nothing at all are left to the reader of records.
  Record ours = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
  for (const std::string& text :
       {to_line(ours) + "\n", to_line(ours).substr(0, 300), std::string(), std::string("\n\n")}) {
    std::ofstream(path, std::ios::binary) << text;
    const auto out = import_file(path, {});
    ASSERT_TRUE(out) << out.error().message();
    EXPECT_FALSE(*out);
  }
  fs::remove(path);
}

TEST(Import, AssumptionsAreChecked) {
  EXPECT_THAT(parse_assumptions({"size=1"}).error().message(), HasSubstr("ranks, unit, op"));
  for (const char* bad : {"ranks=0", "ranks=", "ranks=4x", "ranks=99999999999999999999", "unit=GB",
                          "op=nothing", "ranks"}) {
    EXPECT_FALSE(parse_assumptions({bad})) << bad;
  }
}

// A result that came in goes through our own record format and out again unchanged.
TEST(Import, RecordsReportAndReaderKeepWhatWasReported) {
  ReportInput input;
  ASSERT_TRUE(read_report_input({sample_path("osu.txt"), sample_path("iperf3_tcp.json")}, input,
                                *parse_assumptions({"ranks=4"})));
  ASSERT_EQ(input.records.size(), 10U);
  const std::string path = testing::TempDir() + "plumbline_imported.jsonl";
  std::ofstream(path) << samples::report_text("records", input);
  std::vector<std::string> warnings;
  const auto again = read_records(path, &warnings);
  fs::remove(path);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  ASSERT_EQ(again->size(), 10U);
  for (size_t i = 0; i < again->size(); ++i) {
    EXPECT_EQ(to_line((*again)[i]), to_line(input.records[i]));
    EXPECT_EQ((*again)[i].algbw_Bps, input.records[i].algbw_Bps);
  }
}

// The purpose of it all: another tool's points beside ours, under its name and statistic.
TEST(Import, StandsInTheSameTableAndPictureAsOurs) {
  ReportInput input;
  ASSERT_TRUE(read_report_input({sample_path("osu.txt")}, input, *parse_assumptions({"ranks=4"})));
  for (const uint64_t bytes : {4U, 64U, 512U}) {
    input.records.push_back(samples::record("latency", "allreduce", "ring", 4, bytes, 20'000));
  }
  const View view = make_view(input.records);
  bool found = false;
  for (const Picture& picture : plan_pictures(view)) {
    if (picture.name != "latency_allreduce_4r") continue;
    ASSERT_EQ(picture.series.size(), 2U);
    std::string labels;
    for (const Series& series : picture.series) labels += series.label + ";";
    EXPECT_THAT(labels, HasSubstr("osu (mean)"));
    EXPECT_THAT(labels, HasSubstr("native"));
    found = true;
  }
  EXPECT_TRUE(found);
  const std::string text = samples::report_text("console", input);
  EXPECT_THAT(text,
              HasSubstr("imported from osu 7.1: time is the mean over ranks that it printed"));
  EXPECT_THAT(text, HasSubstr("7.93"));
  // Nobody watched the machine: no report says that it was clean.
  ReportInput foreign;
  ASSERT_TRUE(read_report_input({sample_path("imb.txt")}, foreign));
  for (const char* name : {"console", "markdown", "csv", "openmetrics"}) {
    const std::string shown = samples::report_text(name, foreign);
    EXPECT_THAT(shown, HasSubstr("imported")) << name;
    EXPECT_THAT(shown, testing::Not(HasSubstr("clean"))) << name;
  }
}

TEST(Import, TheSameCellTwiceIsARepetition) {
  const std::string table = "# OSU MPI Latency Test v7\n# Size  Latency (us)\n8  1.0\n8  2.0\n";
  const auto out = import_of(table);
  ASSERT_TRUE(out);
  ASSERT_EQ(out->records.size(), 2U);
  EXPECT_EQ(out->records[1].cell.repeat, 1);
  EXPECT_EQ(make_view(out->records).items.size(), 2U);
}

// --- attacks ---------------------------------------------------------------------------------

TEST(ImportAttack, EverySampleCutAnywhereIsReadOrRefused) {
  const Assumptions assume = *parse_assumptions({"ranks=4", "unit=Gb/s", "op=reduce"});
  for (const auto& entry : fs::directory_iterator(sample_path(""))) {
    const std::string text = samples::file_text(entry.path().string());
    for (size_t length = 0; length < text.size(); length += 1 + text.size() / 150) {
      const auto out = import_of(text.substr(0, length), assume);
      EXPECT_TRUE(out || !out.error().message().empty());
    }
  }
}

TEST(ImportAttack, WrongTypesEverywhere) {
  const Assumptions assume = *parse_assumptions({"ranks=4", "unit=Gb/s"});
  for (const char* name : {"iperf3_tcp.json", "iperf3_udp.json", "nccl_tests.json", "gbench.json",
                           "perftest_lat.json"}) {
    const std::string text = samples::file_text(sample_path(name));
    const nlohmann::json doc = nlohmann::json::parse(text);
    const nlohmann::json flat = doc.flatten();
    size_t i = 0;
    for (const auto& item : flat.items()) {
      if (++i % 5 != 0) continue;  // a fifth of the fields is many
      for (const char* value : {"null", "-1.5e99", "\"\\u0000\"", "[]", "{}", "1e308", "-1", "true",
                                "18446744073709551615", "[[[]]]"}) {
        nlohmann::json changed = doc;
        changed[nlohmann::json::json_pointer(item.key())] = nlohmann::json::parse(value);
        const auto out = import_of(changed.dump(), assume);
        if (!out) continue;
        for (const Record& record : out->records) {
          const auto again = record_from_line(to_line(record));
          EXPECT_TRUE(again) << name << " " << item.key() << " " << value << ": "
                             << again.error().message();
        }
      }
    }
  }
}

// 1e308 microseconds became infinite nanoseconds, null in the record, and the record unreadable.
TEST(ImportAttack, NumbersThatOverflowInOurUnits) {
  std::string text = samples::file_text(sample_path("perftest_lat.json"));
  text.replace(text.find("0.85"), 4, "1e308");  // t_avg
  const auto out = import_of(text);
  ASSERT_TRUE(out);
  EXPECT_FALSE(out->records.at(0).measurement.extra.contains("mean_ns"));
  EXPECT_TRUE(record_from_line(to_line(out->records.at(0))));
}

TEST(ImportAttack, DeepAndManyAndHuge) {
  const std::string deep = "{\"start\":{\"connected\":" + std::string(100'000, '[');
  EXPECT_THAT(error_of(deep), HasSubstr("nested deeper than"));
  std::string many = "{\"start\":{\"connected\":[";
  for (int i = 0; i < 4'100'000; ++i) many += "1,";
  EXPECT_THAT(error_of(many), HasSubstr("more than 4000000 values"));
  EXPECT_THAT(error_of("{\"start\":{\"connected\":1e999999}}"), HasSubstr("broken JSON"));
  std::string rows = "# OSU MPI Latency Test v7\n# Size  Latency (us)\n";
  for (size_t i = 0; i <= kMaxImportRecords; ++i) rows += "8 1.0\n";
  EXPECT_THAT(error_of(rows), HasSubstr("more than 100000 results"));
}

TEST(ImportAttack, AHundredMebibytesOfGarbage) {
  const std::string path = testing::TempDir() + "plumbline_import_garbage";
  for (const std::string& start :
       {std::string("# OSU MPI Latency Test v7\n"), std::string("xyz")}) {
    std::ofstream file(path, std::ios::binary);
    file << start;
    file << std::string(1 << 20, '\x93');
    file.close();
    fs::resize_file(path, 100 << 20);  // zeros, without the disk
    const auto out = import_file(path, {});
    ASSERT_FALSE(out);
    EXPECT_THAT(out.error().message(),
                HasSubstr(start[0] == '#' ? "more than 64 MiB of osu" : "holds no results"));
  }
  fs::remove(path);
}

TEST(ImportAttack, TextAroundJson) {
  const std::string text = samples::file_text(sample_path("iperf3_udp.json"));
  const auto behind = import_of(text + "\niperf3: the client has terminated\n");
  ASSERT_TRUE(behind);
  EXPECT_THAT(behind->notes.at(0), HasSubstr("text behind the JSON"));
  const auto twice = import_of(text + "\n" + text + "{\"start\":{\"cut");
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->records.size(), 2U);
  EXPECT_THAT(twice->notes.at(0), HasSubstr("cut off; left out"));
}

TEST(ImportAttack, HostileNamesAreShownHarmless) {
  const auto out = import_of(
      "{\"context\":{\"caches\":[],\"executable\":\"=x\"},\"benchmarks\":[{\"name\":"
      "\"=1+1<b>\\u001b[2J/"
      "`$(x)`\",\"run_type\":\"iteration\",\"real_time\":1,\"time_unit\":\"ns\"}]}");
  ASSERT_TRUE(out) << out.error().message();
  const ReportInput input = samples::input_of(out->records);
  EXPECT_THAT(samples::report_text("csv", input), HasSubstr("'=1+1<b>"));
  EXPECT_EQ(samples::report_text("console", input).find('\x1b'), std::string::npos);
  EXPECT_EQ(samples::report_text("markdown", input).find("<b>"), std::string::npos);
}

TEST(Utc, ReadsZonesAndRefusesTheRest) {
  EXPECT_EQ(epoch_ms("2026-11-20T20:42:23.433Z"), 1795207343433);
  EXPECT_EQ(epoch_ms("2026-11-20T20:42:23+01:00"), 1795203743000);
  EXPECT_EQ(epoch_ms("2026-11-20T20:42:23-0030"), 1795209143000);
  for (const char* bad : {"", "2026", "2026-11-20 20:42:23Z", "2026-11-20T20:42:23",
                          "2026-11-20T20:42:23+99:00", "2026-13-20T20:42:23Z"}) {
    EXPECT_FALSE(epoch_ms(bad)) << bad;
  }
  EXPECT_EQ(utc_text(1795207343), "2026-11-20T20:42:23Z");
  EXPECT_EQ(utc_text(-1), "");
  EXPECT_EQ(utc_text(INT64_MAX), "");
}

}  // namespace
}  // namespace plumbline
