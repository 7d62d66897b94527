// What the tests of host files share: samples of every format, and short ways to read them.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "scenarios/host_files/host_file.h"
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {

using Texts = std::vector<std::string>;
using Cells = std::vector<Texts>;

// Four Macs, every two of them joined by a cable, as mlx.distributed_config writes it.
inline constexpr const char* kMesh = R"({
  "backend": "jaccl",
  "envs": ["MLX_METAL_FAST_SYNCH=1", "HF_TOKEN=s3cret=x", "EMPTY="],
  "hosts": [
    {"ssh": "mac1.local", "ips": ["192.168.4.11"], "rdma": [null, "rdma_en3", "rdma_en4", "rdma_en5"]},
    {"ssh": "me@mac2.local", "ips": [], "rdma": ["rdma_en4", null, "rdma_en3", "rdma_en5"]},
    {"ssh": "mac3.local", "rdma": ["rdma_en3", "rdma_en5", null, "rdma_en4"]},
    {"ssh": "mac4.local", "ips": [], "rdma": ["rdma_en5", "rdma_en4", "rdma_en3", null]}
  ]
})";

// Two cables between neighbours, none across.
inline constexpr const char* kRails = R"([
  {"ssh": "a", "ips": ["10.1.0.1"],
   "rdma": [null, ["rdma_en3", "rdma_en4"], null, ["rdma_en5", "rdma_en6"]]},
  {"ssh": "b", "ips": [],
   "rdma": [["rdma_en3", "rdma_en4"], null, ["rdma_en5", "rdma_en6"], null]},
  {"ssh": "c", "ips": [],
   "rdma": [null, ["rdma_en3", "rdma_en4"], null, ["rdma_en5", "rdma_en6"]]},
  {"ssh": "d", "ips": [],
   "rdma": [["rdma_en3", "rdma_en4"], null, ["rdma_en5", "rdma_en6"], null]}
])";

inline constexpr const char* kRing = R"({"backend": "ring", "hosts": [
  {"ssh": "a", "ips": ["10.0.3.2"]}, {"ssh": "b", "ips": ["10.0.0.2"]},
  {"ssh": "c", "ips": ["10.0.1.2"]}, {"ssh": "d", "ips": ["10.0.2.2"]}]})";

inline constexpr const char* kRingFile =
    R"([["10.0.1.1:32323", "10.0.2.1:32324"], ["10.0.1.2:40000", "10.0.2.2:40001"]])";

inline constexpr const char* kMpi =
    "# the cluster\r\n"
    "node1 slots=4 max_slots=8\n"
    "\n"
    "node2 slots = 2   # half of it\n"
    "node3:3\n"
    "node1 slots=1\n"
    "node4\n";

inline constexpr const char* kOwn = R"({"hosts": [
  {"name": "hub", "ssh": "me@hub.local", "port": 2222, "data": ["10.0.0.1/24", "10.0.1.1/24"],
   "group": ["left", "right"], "ranks": 2},
  {"name": "l", "ssh": "l.local", "data": "10.0.0.2/24", "group": "left", "speed": "40Gbit"},
  {"name": "r", "netns": "r", "data": "10.0.1.2/24", "group": "right"}]})";

struct Loaded {
  tl::expected<HostFile, std::vector<ScenarioProblem>> file;
  std::string problems;
};

inline Loaded load(const std::string& text) {
  const TempFolder folder;
  const std::string path = folder.write("h", text);
  auto file = load_host_file(path);
  Loaded out{std::move(file), {}};
  if (!out.file) out.problems = all_lines(out.file.error());
  // Independent of the folder.
  for (size_t at; (at = out.problems.find(path)) != std::string::npos;) {
    out.problems.replace(at, path.size(), "FILE");
  }
  return out;
}

inline HostFile read(const std::string& text) {
  Loaded loaded = load(text);
  EXPECT_TRUE(loaded.file) << text << "\n" << loaded.problems;
  return loaded.file ? *loaded.file : HostFile{};
}

inline std::string name_of(const HostFile& file) {
  return file.row == nullptr ? "none" : file.row->name;
}

inline Texts names(const HostFile& file) {
  Texts out;
  for (const ScenarioHost& host : file.hosts) out.push_back(host.name);
  return out;
}

}  // namespace plumbline::scenario_test
