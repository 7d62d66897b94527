#include "reports/doctor_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/json.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kMostLines = 32, kMostPorts = 4;

std::string rank_line(const DoctorJobRank& rank) {
  std::string text = rank.rank ? fmt::format("rank {}", *rank.rank) : std::string("process");
  text += fmt::format(" on {}: PID {}, {}, {}", rank.host, rank.pid, rank.program, rank.doing);
  std::vector<std::string> listens = rank.listens;
  if (listens.size() > kMostPorts) {
    listens.resize(kMostPorts);
    listens.emplace_back("...");
  }
  if (!listens.empty()) text += "; listens on " + join(listens, ", ");
  text += fmt::format("; {} connection{}", rank.connections, rank.connections == 1 ? "" : "s");
  return text;
}

}  // namespace

void to_json(nlohmann::json& json, const DoctorJob& job) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const DoctorJobRank& rank : job.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"host", rank.host},
                     {"pid", rank.pid},
                     {"program", rank.program},
                     {"doing", rank.doing},
                     {"listens", rank.listens},
                     {"peers", rank.peers}});
  }
  json = {{"asked", job.asked}, {"size", job.size}, {"ranks", ranks}, {"unseen", job.unseen}};
}

std::vector<std::string> job_lines(const DoctorJob& job) {
  std::set<std::string> hosts;
  size_t numbered = 0;
  for (const DoctorJobRank& rank : job.ranks) {
    hosts.insert(rank.host);
    numbered += rank.rank ? 1 : 0;
  }
  std::string head = fmt::format("job {}: ", job.asked);
  head +=
      numbered > 0
          ? fmt::format("{}{} ranks", numbered, job.size ? fmt::format(" of {}", *job.size) : "")
          : fmt::format("{} process{}", job.ranks.size(), job.ranks.size() == 1 ? "" : "es");
  head += fmt::format(" on {} host{}", hosts.size(), hosts.size() == 1 ? "" : "s");
  std::vector<std::string> lines = {head};
  for (const DoctorJobRank& rank : job.ranks) {
    if (lines.size() > kMostLines) {
      lines.push_back(fmt::format("... and {} more", job.ranks.size() - kMostLines));
      break;
    }
    lines.push_back(rank_line(rank));
  }
  for (const std::string& line : job.unseen) lines.push_back("not seen: " + line);
  return lines;
}

}  // namespace plumbline
