// What `plumbline tune` has found, as a file: for one world of ranks over one transport the rates
// of its model and the algorithm that each operation should take at which size. It says which
// machines and which program it is about, because anywhere else it is wrong. Files may be
// anybody's: every value is checked where it is read. docs/tuning.md names the fields. Plain values
// and their text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/fit_model.h"
#include "core/error.h"
#include "core/host/host.h"

namespace plumbline {

// What a tuning is about, and where it may be used.
struct TuningPlace {
  std::string transport;  // name of its row
  // Of each rank: its host as the host file names it, kTunedHere for this machine; and what tells
  // that machine from others (machine_text). Machines are empty where they are not known yet.
  std::vector<std::string> hosts, machines;
};
inline constexpr const char* kTunedHere = "here";
// "mini1, Intel(R) Xeon(R) CPU, 16 cores, Linux 6.1.0 x86_64".
std::string machine_text(const HostFacts& facts);
// The host of each rank as a number: ranks with the same word are on the same one.
std::vector<int> numbers_of(const std::vector<std::string>& hosts);

struct TunedRow {
  TunedRange range;
  std::string usual;           // what auto takes there without this file
  std::optional<double> gain;  // measured: time of `usual` divided by that of the algorithm
};

struct Tuning {
  std::string version, made;  // of plumbline; RFC 3339 UTC
  TuningPlace place;
  FittedModel model;
  std::vector<TunedRow> table;  // ranges of an operation do not overlap

  int ranks() const { return static_cast<int>(place.hosts.size()); }
  std::vector<TunedRange> ranges() const;
};

std::string tuning_json(const Tuning& tuning);
// `file` is for errors, which name the place in it: kConfig.
Expected<Tuning> parse_tuning(const std::string& text, const std::string& file);
Expected<Tuning> read_tuning(const std::string& path);

// Why it cannot be used in this place, in words; empty = it can.
std::string why_not_used(const Tuning& tuning, const TuningPlace& place);

// What mends a tuning that cannot be used.
inline constexpr const char* kTuneAgain =
    "make it anew with plumbline tune, or leave it out with --tuning none";

}  // namespace plumbline
