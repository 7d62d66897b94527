#include "collectives/engines/pmi_server.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {
namespace {

constexpr const char* kSpace = "plumbline";  // the one name space
constexpr const char* kMapping = "PMI_process_mapping";
constexpr int kLongestKey = 64, kLongestValue = 1024;

}  // namespace

std::string pmi_word(const std::string& line, const std::string& key) {
  // A value is the last word of its line where it may hold spaces; none of MPICH's does.
  const std::string wanted = key + "=";
  size_t at = 0;
  while (at < line.size()) {
    const size_t end = std::min(line.find(' ', at), line.size());
    if (line.compare(at, wanted.size(), wanted) == 0) {
      return line.substr(at + wanted.size(), end - at - wanted.size());
    }
    at = end + 1;
  }
  return {};
}

std::string process_mapping(const std::vector<std::string>& machines) {
  std::vector<std::string> nodes;
  std::string text = "(vector";
  for (size_t rank = 0; rank < machines.size();) {
    auto node = std::find(nodes.begin(), nodes.end(), machines[rank]);
    if (node == nodes.end()) node = nodes.insert(nodes.end(), machines[rank]);
    const size_t first = rank;
    while (rank < machines.size() && machines[rank] == *node) ++rank;
    text += fmt::format(",({},1,{})", node - nodes.begin(), rank - first);
  }
  return text + ")";
}

PmiServer::PmiServer(ModuleHost& host, const std::string& mapping)
    : host_(host), known_({{kMapping, mapping}}) {}

Expected<std::string> PmiServer::answer(const std::string& line) {
  const std::string command = pmi_word(line, "cmd");
  if (command == "init")
    return std::string("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
  if (command == "get_maxes") {
    return fmt::format("cmd=maxes kvsname_max={} keylen_max={} vallen_max={} rc=0", kLongestKey,
                       kLongestKey, kLongestValue);
  }
  if (command == "get_appnum") return std::string("cmd=appnum appnum=0 rc=0");
  if (command == "get_universe_size")
    return fmt::format("cmd=universe_size size={} rc=0", host_.size());
  if (command == "get_my_kvsname") return fmt::format("cmd=my_kvsname kvsname={} rc=0", kSpace);
  if (command == "finalize") return std::string("cmd=finalize_ack rc=0");
  if (command == "barrier_in") return barrier();
  const std::string key = pmi_word(line, "key");
  if (command == "put" && !key.empty()) {
    fresh_[key] = pmi_word(line, "value");
    return std::string("cmd=put_result rc=0 msg=success");
  }
  if (command == "get" && !key.empty()) {
    const auto found = known_.find(key);
    if (found == known_.end())
      return std::string("cmd=get_result rc=-1 msg=key_not_found value=unknown");
    return fmt::format("cmd=get_result rc=0 msg=success value={}", found->second);
  }
  return fail(ErrorCode::kProtocol,
              "MPICH asks its process manager for what we do not know: '" + command + "'");
}

// Everybody's news, as lines of "key value".
Expected<std::string> PmiServer::barrier() {
  std::string mine;
  for (const auto& [key, value] : fresh_) mine += key + " " + value + "\n";
  fresh_.clear();
  const auto all = host_.gather(mine);
  if (!all) return fail(all.error());
  for (const std::string& told : *all) {
    if (const Status taken = take(told); !taken) return fail(taken.error());
  }
  return std::string("cmd=barrier_out rc=0");
}

Status PmiServer::take(const std::string& told) {
  for (size_t at = 0; at < told.size();) {
    const size_t space = told.find(' ', at), end = told.find('\n', at);
    if (space == std::string::npos || end == std::string::npos || space > end ||
        end - at > kLongestKey + kLongestValue + 1) {
      return fail(ErrorCode::kProtocol, "a rank told what is no key and value");
    }
    known_[told.substr(at, space - at)] = told.substr(space + 1, end - space - 1);
    at = end + 1;
  }
  return {};
}

}  // namespace plumbline
