// "-" holds whatever a file may hold: records, or another tool's output. It read records only.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "tests/reports/import_samples.h"
#include "tests/reports/samples.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// The standard input is this descriptor for as long as the object lives.
class StandardInput {
 public:
  explicit StandardInput(int fd) : before_(::dup(STDIN_FILENO)) {
    ::dup2(fd, STDIN_FILENO);
    ::close(fd);
  }
  ~StandardInput() {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;

 private:
  int before_;
};

struct PipeResult {
  ReportInput input;
  std::string error;
};

// Through a pipe, which cannot be read twice, in pieces that fit no line.
PipeResult piped(const std::string& text, const std::vector<std::string>& assume = {}) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  std::thread writer([&, to = ends[1]] {
    for (size_t at = 0; at < text.size();) {
      const ssize_t put = ::write(to, text.data() + at, std::min<size_t>(10'007, text.size() - at));
      if (put <= 0) break;
      at += static_cast<size_t>(put);
    }
    ::close(to);
  });
  PipeResult out;
  {
    const StandardInput in(ends[0]);
    const Status read = read_report_input({"-"}, out.input, *parse_assumptions(assume));
    if (!read) out.error = read.error().message();
  }
  writer.join();
  return out;
}

TEST(ReadStdin, OutputOfAnotherTool) {
  const PipeResult iperf3 = piped(samples::file_text(samples::sample_path("iperf3_tcp.json")));
  EXPECT_EQ(iperf3.error, "");
  ASSERT_EQ(iperf3.input.records.size(), 1U);
  EXPECT_EQ(iperf3.input.records[0].cell.engine, "iperf3");
  const std::string osu = samples::file_text(samples::sample_path("osu.txt"));
  EXPECT_EQ(piped(osu, {"ranks=4"}).input.records.size(), 9U);
  EXPECT_THAT(piped(osu).error, HasSubstr("standard input:6: OSU's table does not say"));
}

// Larger than what was looked at to find out what it is.
TEST(ReadStdin, RecordsComeWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    Record record = samples::record("latency", "allreduce", "ring", 2, 64, 1000 + i, 200);
    record.cell.repeat = i;
    text += to_line(record) + "\n";
  }
  ASSERT_GT(text.size(), 3 * kImportStart);
  const PipeResult out = piped(text);
  EXPECT_EQ(out.error, "");
  ASSERT_EQ(out.input.records.size(), 300U);
  EXPECT_EQ(out.input.records[299].cell.repeat, 299);
  EXPECT_TRUE(out.input.notes.empty()) << out.input.notes.front();
}

// The line of an environment comes first, and may be longer than what was looked at.
TEST(ReadStdin, AnEnvironmentMayBeLongerThanTheStart) {
  Record record = samples::record("latency", "allreduce", "ring", 2, 64, 1000, 200);
  record.environment.command = {"plumbline", std::string(2 * kImportStart, 'x')};
  RecordLines lines;
  std::string text = lines.text_of(record);
  record.cell.repeat = 1;
  text += lines.text_of(record);
  const PipeResult out = piped(text);
  EXPECT_EQ(out.error, "");
  ASSERT_EQ(out.input.records.size(), 2U);
  EXPECT_EQ(out.input.records[1].environment.command, record.environment.command);
  const PipeResult headless = piped(text.substr(text.find('\n') + 1));
  EXPECT_THAT(headless.error, HasSubstr("standard input:1: "));
}

TEST(ReadStdin, WhatIsNeitherIsNamed) {
  EXPECT_THAT(piped("hello\n").error, HasSubstr("standard input: holds no results"));
  EXPECT_THAT(piped("hello\n").error, HasSubstr("iperf3 -J"));
  EXPECT_THAT(piped("").error, HasSubstr("standard input holds no record"));
  EXPECT_THAT(piped("\n\n").error, HasSubstr("standard input holds no record"));
  EXPECT_THAT(piped("{\"start\":{\"connected\":[").error, HasSubstr("standard input:1:"));
}

TEST(ReadStdin, AnotherToolsOutputIsBounded) {
  const std::string path = testing::TempDir() + "plumbline_stdin_large";
  std::ofstream(path) << "# OSU MPI Latency Test v7\n";
  fs::resize_file(path, 100 << 20);  // zeros, without the disk
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ReportInput input;
  const StandardInput in(fd);
  const Status read = read_report_input({"-"}, input);
  fs::remove(path);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), HasSubstr("standard input: more than 64 MiB of osu"));
  EXPECT_EQ(::lseek(STDIN_FILENO, 0, SEEK_CUR), static_cast<off_t>(kMaxImportBytes) + 1);
}

}  // namespace
}  // namespace plumbline
