// Somebody's own job as `doctor --job` shows it before its findings: which ranks there are, where,
// and what they do and listen on. Plain values, cleaned where they are written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

struct DoctorJobRank {
  std::optional<int> rank;           // absent: the job gives no numbers, or it is at its edge
  std::string host, program, doing;  // "sleeps in recvfrom"
  int64_t pid = 0;
  std::vector<std::string> listens;  // "10.0.0.1:29500"
  std::vector<std::string> peers;    // of its connections, each once
  int connections = 0;
};

struct DoctorJob {
  std::string asked;  // in the user's words
  std::optional<int> size;
  std::vector<DoctorJobRank> ranks;
  std::vector<std::string> unseen;  // what could not be seen, and why
};

void to_json(nlohmann::json& json, const DoctorJob& job);
// A line for each, ready to be wrapped.
std::vector<std::string> job_lines(const DoctorJob& job);

}  // namespace plumbline
