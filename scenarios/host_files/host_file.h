// Host files: the lists of machines that people already have. Five programs write them in six
// shapes; each shape is one row of host_file_formats(), which reads it into the same HostFile and,
// where it can, writes one. What a shape cannot say is not guessed: a list of machines comes
// without addresses under test, a device matrix without machines. docs/host_files.md shows them
// all. Plain values and pure functions, but for load_host_file(), which reads one file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "scenarios/scenario.h"

namespace plumbline {

class Problems;
class TextPlaces;
struct HostText;  // formats.h
struct HostFileFormat;

// NAME, value.
using EnvironmentList = std::vector<std::pair<std::string, std::string>>;

struct HostFile {
  const HostFileFormat* row = nullptr;  // the format it was read from
  std::string file;                     // its name, for messages
  bool of_scenario = false;             // it is a scenario, whose own hosts these are
  std::vector<ScenarioHost> hosts;      // in the order of the ranks
  std::vector<std::string> places;      // where each of them stands: "$.hosts[0]", "hosts.txt:3"
  std::shared_ptr<const TextPlaces> lines;  // on which line that is; null where `places` say it
  std::string backend;  // MLX's, as the file says it, `ring` of a ring file; empty = it does not
  std::string coordinator;  // where rank 0 coordinates, of our own form; empty = it does not say
  EnvironmentList envs;     // what every rank gets, in file order
  // MLX's `ips` of each host, without ports: for JACCL the address under which rank 0 coordinates,
  // for a ring the addresses that face the host before. Empty = the format has none.
  std::vector<std::vector<std::string>> ips;
  std::vector<std::vector<int>> ports;  // of a ring file, beside `ips`
};

// Text of a host file in another format, and what of the original that format cannot say:
// "speed (mini1, mini2)".
struct WrittenHostFile {
  std::string text;
  std::vector<std::string> lost;
};

struct HostFileFormat {
  const char* name;
  const char* help;
  bool names_machines;  // says how to reach them, so that something can be run there
  unsigned keeps;       // HostFact bits (formats.h) that a written file holds
  bool (*recognise)(const HostText& in);
  HostFile (*read)(const HostText& in, Problems& problems);
  // `port`: the first one, where the format has ports; 0 = as in the file, else MLX's 32323.
  Expected<std::string> (*write)(const HostFile& file, int port);
};

std::span<const HostFileFormat> host_file_formats();
const HostFileFormat* find_host_file_format(const std::string& name);  // nullptr: none

// Any of the formats, or a scenario (then it is that one's hosts in our own form). All problems at
// once.
OrProblems<HostFile> load_host_file(const std::string& path);

// A place of this file with its line: "hosts.json:3:5: $.hosts[0].ssh".
std::string located(const HostFile& file, const std::string& where);

// Why nothing can be run on the hosts of this file, or empty.
std::string why_not_runnable(const HostFile& file);

// Fails, with what stands in the way, when the format cannot hold what it must.
Expected<WrittenHostFile> write_host_file(const HostFile& file, const HostFileFormat& as, int port);

// Is `data` of these hosts what the file's `ips` say (an MLX ring, not JACCL's coordinator)?
bool is_ring(const HostFile& file);
// The machine that an entry is about, as far as the file tells: two entries with the same text are
// one machine. Empty = the file names none.
std::string machine_of(const ScenarioHost& host);
// The addresses of host `i` that face the one before it, without prefix lengths: `ips`, or those
// data addresses that share a subnet with that host. Fails when there are none.
Expected<std::vector<std::string>> ring_addresses(const HostFile& file, size_t i);
// Where rank 0 waits for the others: what our own form names, its first `ips`, or its first data
// address.
Expected<std::string> coordinator_address(const HostFile& file);
// The same where the file names it beside the addresses under test; else empty.
std::string named_coordinator(const HostFile& file);

}  // namespace plumbline
