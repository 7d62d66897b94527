// Where a record was measured is a line of its own, to which records refer by its hash: written,
// read, concatenated, mixed with version 1, torn, altered, hostile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/file.h"
#include "core/json.h"
#include "core/record/record.h"
#include "tests/support/places.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Record record_on(const std::string& host, uint64_t seed) {
  Record record;
  record.suite_version = "0.1.0";
  record.run_id = "00112233";
  record.seed = seed;
  record.cell.kind = CellKind::kLatency;
  record.cell.op = "allreduce";
  record.cell.ranks = 2;
  record.environment.hosts.emplace_back().hostname = host;
  record.environment.hosts.back().load1 = 1.0;
  record.environment.control = "pipes";
  recompute(record);
  return record;
}

std::string text_of_lines(const std::vector<Record>& records) {
  RecordLines lines;
  std::string text;
  for (const Record& record : records) text += lines.text_of(record);
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string with_change(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class RecordLinesTest : public ::testing::Test {
 protected:
  struct Read {
    std::vector<std::string> found;  // "host seed" of the records that came out
    std::vector<std::string> warnings;
    std::string error;
  };

  Read read(const std::string& content, Damage damage = Damage::kSkip) {
    std::ofstream(path_, std::ios::binary) << content;
    return read_file(damage);
  }

  Read read_file(Damage damage = Damage::kSkip) const {
    Read out;
    const auto take = [&](const Record& r) {
      const std::vector<HostFacts>& hosts = r.environment.hosts;
      out.found.push_back((hosts.empty() ? "" : hosts[0].hostname) + " " + std::to_string(r.seed));
    };
    const Status status = for_each_record(path_, &out.warnings, take, damage);
    if (!status) out.error = status.error().message();
    return out;
  }

  TemporaryFolder folder_;
  std::string path_ = (folder_.path() / "r.jsonl").string();
};

TEST_F(RecordLinesTest, AnEnvironmentStandsOnceAboveItsRecords) {
  const std::string text =
      text_of_lines({record_on("a", 1), record_on("a", 2), record_on("b", 3), record_on("a", 4)});
  const std::vector<std::string> lines = split(text);
  ASSERT_THAT(lines, SizeIs(7));
  for (const size_t i : {0u, 3u, 5u}) {
    const auto line = nlohmann::json::parse(lines[i]);
    EXPECT_THAT(lines[i], ::testing::StartsWith("{\"environment\":{"));
    EXPECT_EQ(line.size(), 3u);
    EXPECT_EQ(line["schema"], kRecordSchema);
    EXPECT_EQ(line["hash"], nlohmann::json::parse(lines[i + 1])["environment"]);
  }
  for (const Damage damage : {Damage::kSkip, Damage::kRefuse}) {
    const Read done = read(text, damage);
    EXPECT_THAT(done.found, ElementsAre("a 1", "a 2", "b 3", "a 4"));
    EXPECT_THAT(done.warnings, IsEmpty());
    EXPECT_EQ(done.error, "");
  }
}

// The hash is of the text that everybody can see.
TEST_F(RecordLinesTest, TheHashIsOfTheContent) {
  const Record record = record_on("a\x1b\xff\xe2\x80\xae", 1);
  const auto line = nlohmann::json::parse(split(text_of_lines({record}))[0]);
  EXPECT_EQ(line["hash"], environment_hash(record.environment));
  EXPECT_THAT(line["hash"].get<std::string>(), ::testing::MatchesRegex("[0-9a-f]{16}"));
  EXPECT_NE(environment_hash(record_on("a", 1).environment),
            environment_hash(record_on("b", 1).environment));
  EXPECT_THAT(read(text_of_lines({record})).warnings, IsEmpty());
}

TEST_F(RecordLinesTest, FilesMayBeConcatenatedAndLinesRepeated) {
  const std::string a = text_of_lines({record_on("a", 1), record_on("a", 2)});
  const std::string b = text_of_lines({record_on("b", 3)});
  EXPECT_THAT(read(a + b + a).found, ElementsAre("a 1", "a 2", "b 3", "a 1", "a 2"));
  const std::vector<std::string> lines = split(a);
  const std::string again = lines[0] + "\n" + lines[0] + "\n" + b + lines[1] + "\n";
  EXPECT_THAT(read(again, Damage::kRefuse).found, ElementsAre("b 3", "a 1"));
}

// Files of version 1 as they were written, and both in one file.
TEST_F(RecordLinesTest, VersionOneIsReadForGood) {
  const std::string old = file_text(test::source_dir() + "/tests/core/samples/records_v1.jsonl");
  ASSERT_THAT(old, HasSubstr("\"schema\":1,"));
  const Read alone = read(old, Damage::kRefuse);
  EXPECT_EQ(alone.error, "");
  EXPECT_THAT(alone.warnings, IsEmpty());
  EXPECT_EQ(alone.found.size(), split(old).size());
  const std::string now = text_of_lines({record_on("a", 1)});
  const std::string record = split(now)[1] + "\n";
  const Read mixed = read(now + old + record + old, Damage::kRefuse);
  EXPECT_EQ(mixed.error, "");
  EXPECT_EQ(mixed.found.size(), 2 * alone.found.size() + 2);
  EXPECT_EQ(mixed.found[alone.found.size() + 1], "a 1") << "not the environment of version 1";
  // Written again they say the same.
  std::vector<Record> records = read_records(path_).value();
  std::vector<Record> again;
  {
    std::ofstream(path_, std::ios::binary) << text_of_lines(records);
    again = read_records(path_).value();
  }
  ASSERT_EQ(again.size(), records.size());
  for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(to_line(again[i]), to_line(records[i]));
}

TEST_F(RecordLinesTest, AnUnknownEnvironmentIsAnErrorThatNamesTheLine) {
  const std::vector<std::string> a = split(text_of_lines({record_on("a", 1), record_on("a", 2)}));
  const std::vector<std::string> b = split(text_of_lines({record_on("b", 3)}));
  const std::string content = a[0] + "\n" + a[1] + "\n" + b[1] + "\n" + a[2] + "\n";
  for (const Damage damage : {Damage::kSkip, Damage::kRefuse}) {
    const Read done = read(content, damage);
    EXPECT_THAT(done.found, ElementsAre("a 1"));
    EXPECT_THAT(done.error,
                AllOf(HasSubstr("r.jsonl:3: "), HasSubstr("no line above holds the environment"),
                      HasSubstr(environment_hash(record_on("b", 3).environment))));
    EXPECT_THAT(read(a[1] + "\n", damage).error, HasSubstr("r.jsonl:1: "));
    EXPECT_THAT(read(a[1] + "\n" + a[0] + "\n", damage).error, HasSubstr("r.jsonl:1: "))
        << "it must stand above";
  }
  EXPECT_FALSE(record_from_line(a[1]));
  EXPECT_THAT(record_from_line(a[0]).error().what, HasSubstr("line of an environment"));
}

TEST_F(RecordLinesTest, ADamagedEnvironmentIsSaidToBeThatToo) {
  const std::vector<std::string> lines = split(text_of_lines({record_on("a", 1)}));
  const std::string damaged = lines[0].substr(0, 80) + "\n" + lines[1] + "\n";
  EXPECT_THAT(read(damaged).error, AllOf(HasSubstr(":2: "), HasSubstr("line 1: not a record")));
  EXPECT_THAT(read(damaged, Damage::kRefuse).error, HasSubstr("r.jsonl:1: not a record"));
  for (const char* key : {"\"control\":\"pipes\",", "\"auth\":\"\",", ",\"schema\":2"}) {
    const std::string less = with_change(lines[0], key, "");
    EXPECT_THAT(read(less + "\n" + lines[1] + "\n").error, HasSubstr(":2: ")) << key;
  }
}

TEST_F(RecordLinesTest, ATornEnvironmentIsCutOffAndWrittenAgain) {
  const std::string text = text_of_lines({record_on("a", 1), record_on("b", 2)});
  const std::vector<std::string> lines = split(text);
  const std::string before = lines[0] + "\n" + lines[1] + "\n";
  for (const size_t left : {size_t{1}, size_t{40}, lines[2].size() - 1, lines[2].size()}) {
    const std::string torn = before + lines[2].substr(0, left);
    EXPECT_THAT(read(torn).found, ElementsAre("a 1"));
    EXPECT_THAT(read(torn, Damage::kRefuse).warnings, ElementsAre(HasSubstr(":3: last line")));
    Expected<RecordFile> file = RecordFile::open(path_);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->append(record_on("b", 2)));
    EXPECT_EQ(file_text(path_), text) << left;
  }
}

TEST_F(RecordLinesTest, AResumedFileTellsAnotherEnvironmentOnly) {
  const auto append = [&](const Record& record) {
    Expected<RecordFile> file = RecordFile::open(path_);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->append(record));
  };
  append(record_on("a", 1));
  append(record_on("a", 2));
  EXPECT_EQ(file_text(path_), text_of_lines({record_on("a", 1), record_on("a", 2)}));
  append(record_on("b", 3));
  append(record_on("a", 4));
  EXPECT_THAT(split(file_text(path_)), SizeIs(7));
  EXPECT_THAT(read_file(Damage::kRefuse).found, ElementsAre("a 1", "a 2", "b 3", "a 4"));
  // A file of version 1 goes on in this one.
  std::ofstream(path_, std::ios::binary) << to_line(record_on("a", 5)) << "\n";
  append(record_on("a", 6));
  EXPECT_THAT(split(file_text(path_)), SizeIs(3));
  EXPECT_THAT(read_file(Damage::kRefuse).found, ElementsAre("a 5", "a 6"));
}

TEST_F(RecordLinesTest, AnAlteredEnvironmentIsTold) {
  const std::string text =
      with_change(text_of_lines({record_on("a", 1)}), "\"pipes\"", "\"other\"");
  const Read lenient = read(text);
  EXPECT_THAT(lenient.found, ElementsAre("a 1"));
  EXPECT_THAT(lenient.warnings, ElementsAre(AllOf(HasSubstr(":1: "), HasSubstr("altered"))));
  EXPECT_THAT(read(text, Damage::kRefuse).error, AllOf(HasSubstr(":1: "), HasSubstr("altered")));
}

TEST_F(RecordLinesTest, HostileHashesAreRefusedInPrintableWords) {
  const std::vector<std::string> lines = split(text_of_lines({record_on("a", 1)}));
  const std::string hash = "\"" + environment_hash(record_on("a", 1).environment) + "\"";
  for (const std::string& evil :
       {std::string("\"\""), std::string("5"), std::string("null"), std::string("[]"),
        std::string("{}"), std::string("\"0123456789ABCDEF\""),
        "\"" + std::string(100'000, '0') + "\"", std::string("\"\\u001b[31m\\u202e\""),
        std::string("\"../../etc/passwd\""), std::string("\"\xff\"")}) {
    const std::string environment = with_change(lines[0], hash, evil);
    const std::string reference = with_change(lines[1], hash, evil);
    for (const std::string& content :
         {environment + "\n" + lines[1] + "\n", lines[0] + "\n" + reference + "\n",
          environment + "\n" + reference + "\n"}) {
      const Read done = read(content);
      EXPECT_THAT(done.found, IsEmpty()) << evil.substr(0, 40);
      EXPECT_LT(done.error.size(), 1000u);
      for (const char c : done.error) EXPECT_TRUE(c >= ' ' && c <= '~') << int{c};
    }
  }
  const std::string deep = "{\"environment\":" + std::string(1'000'000, '[') +
                           std::string(1'000'000, ']') + ",\"hash\":" + hash + ",\"schema\":2}";
  EXPECT_THAT(read(deep + "\n").error, HasSubstr("nested too deep"));
}

TEST_F(RecordLinesTest, NewerEnvironmentsAreReadAsFarAsTheyAreUnderstood) {
  std::string text = text_of_lines({record_on("a", 1)});
  while (text.find("\"schema\":2") != std::string::npos) {
    text = with_change(text, "\"schema\":2", "\"schema\":3");
  }
  const Read done = read(with_change(text, "{\"environment\":{", "{\"environment\":{\"new\":{},"));
  EXPECT_THAT(done.found, ElementsAre("a 1"));
  EXPECT_THAT(done.warnings, ElementsAre(HasSubstr("altered"), HasSubstr("newer version")));
  EXPECT_THAT(read(text, Damage::kRefuse).error, AllOf(HasSubstr(":1: "), HasSubstr("schema 3")));
}

// What a run of four hosts left, in both versions.
TEST_F(RecordLinesTest, FilesAreSixtyPercentSmaller) {
  for (const char* name : {"records_v1.jsonl", "links_v1.jsonl"}) {
    const std::string path = std::string(test::source_dir() + "/tests/core/samples/") + name;
    const auto records = read_records(path);
    ASSERT_TRUE(records) << records.error().message();
    const double before = static_cast<double>(file_text(path).size());
    const double now = static_cast<double>(text_of_lines(*records).size());
    EXPECT_LE(now, 0.4 * before) << name;
  }
}

}  // namespace
}  // namespace plumbline
