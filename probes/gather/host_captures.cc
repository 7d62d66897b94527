#include "probes/gather/host_captures.h"

#include <filesystem>
#include <fstream>

#include "core/file_word.h"
#include "core/json.h"
#include "probes/gather/gather.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr int64_t kShortMs = 3000;       // requests that only open something
constexpr int64_t kAnalyseMs = 10'000;   // stopping analyses what was captured
constexpr int kSnapBytes = 128;          // headers only
constexpr int64_t kMaxBytes = 16 << 20;  // of one host's capture
constexpr int64_t kMaxMs = 120'000;
constexpr int kCaptureSettleMs = 60;  // for the last packets to reach the captures
constexpr size_t kPieceBytes = 512 << 10;

std::string from_base64(const std::string& text) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned value = 0;
  int bits = 0;
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string::npos) break;
    value = (value << 6) | static_cast<unsigned>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>((value >> bits) & 0xff);
  }
  return out;
}

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
    const Json params = {{"id", id_},       {"own", own_[i]},           {"peers", peers},
                         {"ports", ports_}, {"snap_bytes", kSnapBytes}, {"max_bytes", kMaxBytes},
                         {"max_ms", kMaxMs}};
    batch.ask(i, "capture.start", params, kShortMs, [this, i](const Json& reply) {
      if (reply.value("running", false)) {
        running_.push_back(i);
      } else {
        context_.evidence.hosts[i].unreadable.push_back("packets: " + reply.value("reason", ""));
      }
    });
  }
  batch.collect();
}

std::map<size_t, TraceSummary> HostCaptures::stop(bool keep) {
  std::map<size_t, TraceSummary> summaries;
  AgentBatch batch(context_);
  for (const size_t host : running_) {
    const Json params = {{"id", id_}, {"settle_ms", kCaptureSettleMs}, {"keep", keep}};
    batch.ask(host, "capture.stop", params, kAnalyseMs, [&summaries, host](const Json& reply) {
      summaries[host] = reply.at("summary").get<TraceSummary>();
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
    const Json params = {{"id", id_}, {"offset", bytes.size()}, {"bytes", kPieceBytes}};
    end = true;
    batch.ask(host, "capture.read", params, kShortMs, [&](const Json& reply) {
      const std::string piece = from_base64(reply.at("base64").get<std::string>());
      bytes += piece;
      end = reply.value("end", true) || piece.empty();
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
