#include "probes/gather/host_captures.h"

#include <filesystem>
#include <fstream>

#include "core/base64.h"
#include "core/file_word.h"
#include "probes/gather/gather.h"

namespace plumbline {
namespace {

constexpr int64_t kShortMs = 3000;       // requests that only open something
constexpr int64_t kAnalyseMs = 10'000;   // stopping analyses what was captured
constexpr int kSnapBytes = 128;          // headers only
constexpr int64_t kMaxBytes = 16 << 20;  // of one host's capture
constexpr int64_t kMaxMs = 120'000;
constexpr int kCaptureSettleMs = 60;  // for the last packets to reach the captures
constexpr int64_t kPieceBytes = 512 << 10;

}  // namespace

void HostCaptures::start() {
  running_.clear();
  AgentBatch batch(context_);
  for (size_t i = 0; i < own_.size(); ++i) {
    std::vector<std::string> peers;
    for (size_t k = 0; k < own_.size(); ++k) {
      if (k != i) peers.insert(peers.end(), own_[k].begin(), own_[k].end());
    }
    if (own_[i].empty() || peers.empty()) continue;
    const AskCaptureStart asked{id_, own_[i], peers, ports_, kSnapBytes, kMaxBytes, kMaxMs};
    batch.ask(i, asked, kShortMs, [this, i](const CaptureStarted& reply) {
      if (reply.running) {
        running_.push_back(i);
      } else {
        context_.evidence.hosts[i].unreadable.push_back("packets: " + reply.reason);
      }
    });
  }
  batch.collect();
}

std::map<size_t, TraceSummary> HostCaptures::stop(bool keep) {
  std::map<size_t, TraceSummary> summaries;
  AgentBatch batch(context_);
  for (const size_t host : running_) {
    const AskCaptureStop asked{id_, kCaptureSettleMs, keep};
    batch.ask(host, asked, kAnalyseMs, [&summaries, host](CaptureStopped reply) {
      summaries[host] = std::move(reply.summary);
    });
  }
  batch.collect();
  return summaries;
}

std::vector<std::string> HostCaptures::fetch(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::vector<std::string> paths;
  for (const size_t host : running_) {
    std::string path = fetch_one(host, folder);
    if (!path.empty()) paths.push_back(std::move(path));
  }
  return paths;
}

std::string HostCaptures::fetch_one(size_t host, const std::string& folder) {
  std::string bytes;
  bool end = false;
  while (!end && !context_.deadline.passed()) {
    AgentBatch batch(context_);
    const AskCaptureRead asked{id_, static_cast<int64_t>(bytes.size()), kPieceBytes};
    end = true;
    batch.ask(host, asked, kShortMs, [&](const CapturePiece& reply) {
      const std::string piece = from_base64(reply.base64).value_or("");
      bytes += piece;
      end = reply.end || piece.empty();
    });
    batch.collect();
  }
  if (bytes.empty()) return {};
  const std::string name = file_word(context_.evidence.hosts[host].name) + ".pcap";
  const std::string path = (std::filesystem::path(folder) / name).string();
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  return file.flush() ? path : std::string();
}

}  // namespace plumbline
