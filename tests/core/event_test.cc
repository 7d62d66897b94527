// Lines of events.jsonl: what goes in comes out, and what others wrote may be anything.
#include "core/record/event.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "core/host/process_facts.h"
#include "core/json.h"
#include "tests/support/references.h"

namespace plumbline {
namespace {

SoakEvent sample() {
  SoakEvent event;
  event.run_id = "r1";
  event.time = "2026-11-20T05:06:07.123Z";
  event.at_ns = 5'700'000'000'000;
  event.round = 20;
  event.host = "node2";
  event.kind = "link";
  event.subject = "en1";
  event.text = "en1 speed 10000 -> 1000 Mb/s";
  return event;
}

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "plumbline-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

TEST(SoakEvents, RoundTripKeepsEverything) {
  SoakEvent event = sample();
  event.text = "quotes \" and \n newlines and \xff bytes";
  const std::string line = to_line(event);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Expected<SoakEvent> back = event_from_line(line);
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(to_line(*back), line);
}

TEST(SoakEvents, TheSchemaHasEveryFieldAndNoOther) {
  const auto schema = nlohmann::json::parse(event_schema_json());
  const auto line = nlohmann::json::parse(to_line(sample()));
  for (const auto& item : line.items()) EXPECT_TRUE(schema["properties"].contains(item.key()));
  EXPECT_EQ(schema["properties"].size(), line.size());
  EXPECT_EQ(schema["required"].size(), line.size());
  EXPECT_EQ(event_fields().size(), line.size());
}

TEST(SoakEvents, LinesThatAreNone) {
  const std::string line = to_line(sample());
  for (const std::string& bad : {std::string(), std::string("{}"), std::string("[1]"),
                                 std::string("null"), line.substr(0, line.size() - 2),
                                 std::string(100'000, '['), std::string(R"({"schema":2})")}) {
    EXPECT_FALSE(event_from_line(bad)) << bad.substr(0, 100);
  }
}

TEST(SoakEvents, AFileOfSeveralWritersHoldsWholeLines) {
  const Folder folder;
  const std::string path = folder.file("events.jsonl");
  {
    Expected<EventFile> file = EventFile::open(path);
    ASSERT_TRUE(file);
    std::vector<std::thread> writers;
    for (int i = 0; i < 4; ++i) {
      writers.emplace_back([&] {
        for (int k = 0; k < 100; ++k) EXPECT_TRUE(file->append(sample()));
      });
    }
    for (std::thread& writer : writers) writer.join();
  }
  std::ofstream(path, std::ios::app) << "{\"schema\":1,\"run";  // torn
  size_t count = 0;
  ASSERT_TRUE(for_each_event(path, [&](const SoakEvent& event) {
    EXPECT_EQ(event.round, 20);
    ++count;
  }));
  EXPECT_EQ(count, 400u);
  std::ofstream(path, std::ios::app) << "\n";
  const Status bad = for_each_event(path, [](const SoakEvent&) {});
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message().find("events.jsonl:401"), std::string::npos);
  EXPECT_FALSE(for_each_event(folder.file("none"), [](const SoakEvent&) {}));
  EXPECT_FALSE(EventFile::open(folder.file("no/such/folder")));
}

TEST(OwnMemory, GrowsWhenSomethingIsHeld) {
  const auto before = resident_bytes();
  if (!before) GTEST_SKIP() << "this system does not tell the memory of a process";
  std::vector<char> held(64u << 20, 'x');
  const auto after = resident_bytes();
  ASSERT_TRUE(after);
  EXPECT_GT(*after, *before + (48u << 20)) << held[held.size() / 2];
}

}  // namespace
}  // namespace plumbline
