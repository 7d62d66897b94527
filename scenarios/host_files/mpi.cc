// MPI's lists of hosts: one per line, with Open MPI's `slots=N max_slots=M` or MPICH's `HOST:N`,
// and comments behind #. A host on several lines has the slots of all of them. Without `slots` a
// host of Open MPI's has `max_slots`, or else as many as it has cores; once it stands there again,
// each line without a number is one. In a list with HOST:N, MPICH's, a host without a number has
// one slot. They say nothing about addresses. Sources: Open MPI's documentation "Scheduling
// processes across hosts" and orte/util/hostfile/hostfile.c of version 4.1, MPICH's "Using the
// Hydra Process Manager".
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>

#include "core/json.h"
#include "core/number.h"
#include "scenarios/host_files/formats.h"
#include "scenarios/host_words.h"
#include "scenarios/json_text.h"

namespace plumbline {
namespace {

constexpr int kMostSlots = 1024;  // as many as `ranks` of a scenario
constexpr size_t kMostLines = 10'000;

const std::vector<std::string> kSlotWords = {"slots", "slot", "count", "cpus"};
const std::vector<std::string> kMostWords = {"max_slots", "max-slots", "slots_max", "cpus_max"};

// Words of a line without its comment; "slots = 4" is one word.
std::vector<std::string> words_of(const std::string& line) {
  std::string tight;
  bool behind_equals = false;
  for (const char c : line.substr(0, line.find('#'))) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (space && behind_equals) continue;
    if (c == '=') tight.resize(tight.find_last_not_of(" \t") + 1);
    tight += space ? ' ' : c;
    behind_equals = c == '=';
  }
  std::istringstream in(tight);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(std::move(word));
  return words;
}

std::optional<int> slots_from(const std::string& text) { return parse_whole(text, 1, kMostSlots); }

bool is_host_name(const std::string& text) {
  return !text.empty() && text.size() <= 255 && destination_problem(text).empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return c < 0x80 &&
                  (std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == '@');
         });
}

struct Line {
  std::string host;
  std::optional<int> slots, most;
};

class MpiReader {
 public:
  MpiReader(const HostText& in, Problems& problems) : in_(in), problems_(problems) {}

  HostFile read() {
    size_t number = 0;
    for (size_t from = 0; from <= in_.text.size();) {
      const size_t to = std::min(in_.text.find('\n', from), in_.text.size());
      where_ = fmt::format("{}:{}", in_.file, ++number);
      if (number > kMostLines) {
        problems_.add(where_, fmt::format("has more than {} lines", kMostLines), "");
        break;
      }
      line(words_of(in_.text.substr(from, to - from)));
      from = to + 1;
    }
    if (out_.hosts.empty() && problems_.empty()) {
      problems_.add(in_.file, "names no host", "a line is HOST slots=N, or HOST:N");
    }
    const bool here = all_local(out_.hosts);
    for (ScenarioHost& host : out_.hosts) {
      if (here) host.data = {"127.0.0.1/8"};
      if (host.ranks_of_cores && (mpich_ || in_.ranks > 0)) {
        host.ranks_of_cores = false;
        host.ranks = in_.usual_ranks();
      }
    }
    return std::move(out_);
  }

 private:
  void line(const std::vector<std::string>& words) {
    if (words.empty()) return;
    Line line{words[0], {}, {}};
    const size_t colon = line.host.find(':');
    if (colon != std::string::npos) {
      slots(line, line.host.substr(colon + 1));
      mpich_ = true;
      line.host.resize(colon);
    }
    if (line.host[0] == '+' || line.host[0] == '^') {
      problems_.add(where_, fmt::format("{} is no host by name", in_quotes(words[0])),
                    "relative (+n1) and excluded (^name) hosts are not followed; name the hosts");
      return;
    }
    if (!is_host_name(line.host)) {
      problems_.add(where_, fmt::format("{} is no name of a host", in_quotes(words[0])),
                    "a line is HOST slots=N, or HOST:N, and # begins a comment");
      return;
    }
    for (size_t i = 1; i < words.size(); ++i) setting(line, words[i]);
    add(line);
  }

  void setting(Line& line, const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (contains(kSlotWords, name)) {
      slots(line, value);
    } else if (!contains(kMostWords, name)) {
      problems_.add(where_, fmt::format("unknown word {}", in_quotes(name)),
                    hint_for(name, {"slots", "max_slots"}));
    } else if (line.most = slots_from(value); !line.most || *line.most < line.slots.value_or(1)) {
      problems_.add(
          where_, fmt::format("{} {} is less than its slots, or no number", name, in_quotes(value)),
          "");
    }
  }

  void slots(Line& line, const std::string& text) {
    const std::optional<int> number = slots_from(text);
    if (number && !line.slots) {
      line.slots = number;
      return;
    }
    problems_.add(where_,
                  number ? std::string("says twice how many slots")
                         : fmt::format("{} is no number of slots", in_quotes(text)),
                  fmt::format("write a whole number from 1 to {}", kMostSlots));
  }

  void add(const Line& line) {
    const bool here = names_this_machine(line.host);
    const std::optional<int> said = line.slots ? line.slots : line.most;
    for (ScenarioHost& host : out_.hosts) {
      if (here ? !host.local : host.ssh != line.host) continue;
      host.ranks = std::min(host.ranks + said.value_or(in_.usual_ranks()), kMostSlots);
      host.ranks_of_cores = false;
      return;
    }
    if (out_.hosts.size() >= kMaxListLength) {
      problems_.add(where_, fmt::format("is host {}", out_.hosts.size() + 1),
                    fmt::format("at most {} are accepted", kMaxListLength));
      return;
    }
    out_.hosts.push_back(host_behind(line.host, out_.hosts, said.value_or(in_.usual_ranks())));
    out_.hosts.back().ranks_of_cores = !said;
    out_.places.push_back(where_);
  }

  const HostText& in_;
  Problems& problems_;
  HostFile out_;
  std::string where_;
  bool mpich_ = false;  // HOST:N was there
};

}  // namespace

bool is_mpi_list(const HostText& in) { return in.json == nullptr; }

HostFile read_mpi_list(const HostText& in, Problems& problems) {
  return MpiReader(in, problems).read();
}

Expected<std::string> write_mpi_list(const HostFile& file, int) {
  std::string out;
  for (const ScenarioHost& host : file.hosts) {
    const std::string name = host.local ? "localhost" : without_user(host.ssh);
    if (!is_host_name(name)) {
      return fail(ErrorCode::kConfig,
                  host.netns.empty()
                      ? fmt::format("write {} for MPI: {} is no host name there", file.file,
                                    in_quotes(host.ssh))
                      : fmt::format("write {} for MPI: {} is a network namespace, which mpirun "
                                    "cannot reach",
                                    file.file, host.name),
                  "name the host by `ssh` as in ~/.ssh/config");
    }
    out += name + (host.ranks_of_cores ? "\n" : fmt::format(" slots={}\n", host.ranks));
  }
  return out;
}

}  // namespace plumbline
