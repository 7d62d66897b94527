// What the readers of host files share: what they are given, what they are called, and what a file
// may say about hosts, as bits, so that a conversion can tell what gets lost: each format's row
// says which of these it keeps. One file per format, one row in formats.cc.
#pragma once

#include <string>
#include <vector>

#include "scenarios/host_files/host_file.h"
#include "scenarios/json_text.h"

namespace plumbline {

constexpr int kMlxStartingPort = 32323;  // mlx.launch --starting-port

// A host file that is to be recognised and read.
struct HostText {
  const std::string& text;
  std::string file;
  Json* json;  // nullptr: it is not JSON. A reader may take it apart.
  int ranks;   // places on hosts that do not say it themselves; 0 = nobody has said, see below

  // What stands for a host without a number, where the format itself knows no other meaning.
  int usual_ranks() const { return ranks == 0 ? 1 : ranks; }
};

// The recognised one's hosts. When none fits, or something is wrong, `problems` has grown.
HostFile read_host_text(const HostText& in, Problems& problems);
// For the key hosts.hostfile of a scenario: problems carry the file's name, and a file that names
// no machines is one. `ranks` as in HostText.
HostFile hosts_of_file(const std::string& path, int ranks, Problems& problems);

// A host that the file does not name: "rank3".
ScenarioHost unnamed_host(size_t rank, int ranks);
// How to reach it, from what stands where one would write behind `ssh`; a name that no host in
// `others` has.
ScenarioHost host_behind(const std::string& destination, const std::vector<ScenarioHost>& others,
                         int ranks);
// The list of a file: `hosts` of an object, or the whole; nullptr when there is none.
Json* list_of_hosts(Json& root);
// {"hosts": [...]} in which an entry is one of MLX's.
bool has_mlx_entries(const Json& list);
bool has_own_entries(const Json& list);

// The value of `envs`: ["NAME=value", ...].
void read_envs(const Json& list, HostFile& out, Problems& problems);
// The value of `backend`.
void read_backend(const Json& text, HostFile& out, Problems& problems);
Json envs_json(const HostFile& file);

bool is_own_form(const HostText& in);
HostFile read_own_form(const HostText& in, Problems& problems);
Expected<std::string> write_own_form(const HostFile& file, int port);

bool is_mlx_object(const HostText& in);
bool is_mlx_array(const HostText& in);
HostFile read_mlx(const HostText& in, Problems& problems);
Expected<std::string> write_mlx_object(const HostFile& file, int port);
Expected<std::string> write_mlx_array(const HostFile& file, int port);

// One row of a device matrix as JSON, with its shape checked; `self` is the place of its own host,
// where [] is as good as null.
std::vector<std::vector<std::string>> read_device_row(const Json& row, size_t self,
                                                      const std::string& where, Problems& problems);
bool is_device_matrix(const HostText& in);
HostFile read_device_matrix(const HostText& in, Problems& problems);
Expected<std::string> write_device_matrix(const HostFile& file, int port);

bool is_ring_file(const HostText& in);
HostFile read_ring_file(const HostText& in, Problems& problems);
Expected<std::string> write_ring_file(const HostFile& file, int port);

bool is_mpi_list(const HostText& in);
HostFile read_mpi_list(const HostText& in, Problems& problems);
Expected<std::string> write_mpi_list(const HostFile& file, int port);

// JSON with one line per element of the list, as people write these files.
std::string lines_of(const Json& list, const std::string& indent);
Json cells_json(const ScenarioHost& host);  // its row of the device matrix

enum HostFact : unsigned {
  kFactName = 1,               // a name apart from the ssh destination
  kFactReach = 2,              // how to reach the machine
  kFactSshDetails = 4,         // port, key
  kFactBinary = 8,             // path of plumbline there
  kFactData = 16,              // data addresses
  kFactPrefix = 32,            // their prefix lengths
  kFactInterface = 64,         // the one interface to use
  kFactSpeed = 128,            // link speed
  kFactGroup = 256,            // who may talk to whom
  kFactRanks = 512,            // more than one rank
  kFactMatrix = 1024,          // RDMA devices
  kFactControl = 2048,         // `ips` that are not under test, beside the coordinator's
  kFactBackend = 4096,         // which backend
  kFactEnvs = 8192,            // environment of the ranks
  kFactPorts = 16384,          // ports of a ring
  kFactUser = 32768,           // user behind ssh, or in a namespace
  kFactCoordinator = 1 << 16,  // where rank 0 coordinates
  kFactFacing = 1 << 17,  // that data addresses face the host before, without a backend saying so
  kFactRingBackend = 1 << 18,  // the backend `ring`, and no other
};

// The facts in this file that `keeps` lacks, each with the hosts that say it.
std::vector<std::string> lost_facts(const HostFile& file, unsigned keeps);

}  // namespace plumbline
