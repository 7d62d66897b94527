
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/encode.h"
#include "core/file.h"
#include "core/ranges.h"
#include "probes/gather/gather.h"

namespace plumbline {
namespace {

// ---- captures ----

constexpr int64_t kShortMs = 3000;              // requests that only open something
constexpr int64_t kAnalyseMs = 10'000;          // stopping analyses what was captured
constexpr int kSnapBytes = 128;                 // headers only
constexpr int64_t kMaxCaptureBytes = 16 << 20;  // of one host's capture
constexpr int64_t kMaxMs = 120'000;
constexpr int kCaptureSettleMs = 60;  // for the last packets to reach the captures
constexpr int64_t kPieceBytes = 512 << 10;

// ---- datagrams ----

// As long as the paced streams beside them: about 1 Mbit/s, far below what any link carries.
constexpr int64_t kCount = 300, kPerSecond = 1250;
constexpr int64_t kCountAlone = 600, kPerSecondAlone = 400;
constexpr int64_t kCountDeep = 6000, kPerSecondDeep = 2500, kPerSecondDeepAlone = 1250;
constexpr int64_t kMarginMs = 1500;    // beyond what a request takes by itself
constexpr int64_t kSettleMs = 200;     // for the last ones to arrive
constexpr int64_t kSomeLost = 2;       // segments that call for a longer look
constexpr int64_t kSurelyLost = 3;     // of datagrams or segments: no accident
constexpr int64_t kWholeStream = 100;  // datagrams: none of them arrived
// Many times what a connection took, and enough for a busy machine.
constexpr int64_t kSilenceMs = 400, kSilenceRoundTrips = 20;

int64_t datagrams_of(bool deep, bool alone) {
  return deep ? kCountDeep : alone ? kCountAlone : kCount;
}
int64_t rate_of(bool deep, bool alone) {
  if (deep) return alone ? kPerSecondDeepAlone : kPerSecondDeep;
  return alone ? kPerSecondAlone : kPerSecond;
}

// Something comes through between the two: a port of ours answered, or an echo.
bool anything_passes(const PairEvidence* pair) {
  if (pair == nullptr) return false;
  const bool open = std::any_of(pair->ports.begin(), pair->ports.end(), is_ours);
  return open || (pair->ping && pair->ping->received > 0);
}

PairEvidence* pair_of(EvidenceSet& evidence, size_t from, size_t to) {
  const std::string &a = evidence.hosts[from].name, &b = evidence.hosts[to].name;
  const auto found =
      std::find_if(evidence.pairs.begin(), evidence.pairs.end(),
                   [&](const PairEvidence& pair) { return pair.from == a && pair.to == b; });
  return found == evidence.pairs.end() ? nullptr : &*found;
}

}  // namespace

size_t HostCaptures::start() {
  running_.clear();
  whole_.clear();
  AgentBatch batch(context_);
  for (size_t i = 0; i < own_.size(); ++i) {
    std::vector<std::string> peers;
    for (size_t k = 0; k < own_.size(); ++k) {
      if (k != i) peers.insert(peers.end(), own_[k].begin(), own_[k].end());
    }
    if (own_[i].empty() || peers.empty()) continue;
    const AskCaptureStart asked{id_, own_[i], peers, ports_, kSnapBytes, kMaxCaptureBytes, kMaxMs};
    batch.ask(i, asked, kShortMs, [this, i](const CaptureStarted& reply) {
      if (reply.running) {
        running_.push_back(i);
      } else {
        std::vector<std::string>& unreadable = context_.evidence.hosts[i].unreadable;
        const std::string line = "packets: " + reply.reason;
        if (!is_in(unreadable, line)) unreadable.push_back(line);
      }
    });
  }
  batch.collect();
  return running_.size();
}

std::map<size_t, TraceSummary> HostCaptures::stop(bool keep) {
  std::map<size_t, TraceSummary> summaries;
  AgentBatch batch(context_);
  for (const size_t host : running_) {
    const AskCaptureStop asked{id_, kCaptureSettleMs, keep};
    batch.ask(host, asked, kAnalyseMs, [this, &summaries, host](CaptureStopped reply) {
      if (!reply.cut && reply.dropped == 0 && reply.summary.problems.empty()) whole_.insert(host);
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

void LossSigns::add(const LossSigns& other) {
  tcp_some = tcp_some || other.tcp_some;
  tcp_sure = tcp_sure || other.tcp_sure;
  datagrams_some = datagrams_some || other.datagrams_some;
  datagrams_sure = datagrams_sure || other.datagrams_sure;
}

LossSigns loss_signs(const PairEvidence& pair) {
  LossSigns out;
  if (!pair.quality) return out;
  for (const StreamEvidence& stream : pair.quality->streams) {
    if (stream.kind != "paced") continue;
    const bool counted = stream.segments_in > 0;
    const int64_t lost = counted ? stream.segments_out - stream.segments_in
                                 : stream.retransmitted - stream.duplicate_reports;
    const bool broken = !stream.error.empty();
    out.tcp_some = out.tcp_some || broken || std::max(lost, stream.retransmitted) >= kSomeLost;
    out.tcp_sure = out.tcp_sure || broken || lost >= kSurelyLost;
  }
  for (const DatagramEvidence& stream : pair.quality->datagrams) {
    const int64_t lost = stream.sent - stream.received - stream.overflow;
    if (stream.received <= 0) continue;
    out.datagrams_some = out.datagrams_some || lost > 0 || stream.overflow > 0;
    out.datagrams_sure = out.datagrams_sure || lost >= kSurelyLost;
  }
  return out;
}

int64_t silence_that_tells_ms(const PairEvidence& pair) {
  if (!pair.quality) return 0;
  int64_t sent = 0, slowest_ns = 0;
  for (const DatagramEvidence& stream : pair.quality->datagrams) {
    if (stream.received > 0) return 0;
    sent += stream.sent;
  }
  if (sent < kWholeStream) return 0;
  for (const PortTry& attempt : pair.ports) {
    if (attempt.result == "connected") slowest_ns = std::max(slowest_ns, attempt.took_ns);
  }
  return std::max(kSilenceMs, kSilenceRoundTrips * (slowest_ns / kMillisecond));
}

void DatagramStreams::add(size_t from, size_t to, bool alone) {
  EvidenceSet& evidence = context_.evidence;
  PairEvidence *pair = pair_of(evidence, from, to), *back = pair_of(evidence, to, from);
  if (pair == nullptr || !pair->skipped.empty() || pair->same_machine) return;
  if (!anything_passes(pair) && !anything_passes(back)) return;
  Way way;
  way.pair = pair;
  way.from = from;
  way.to = to;
  way.id = fmt::format("{}>{}", pair->from, pair->to);
  way.way = way_of(evidence, *pair);
  if (const auto* carrier = carrier_of(evidence.hosts[to], pair->to_ip)) {
    way.to_interface = carrier->name;
  }
  way.result.alone = alone;
  ways_.push_back(std::move(way));
}

void DatagramStreams::open(const std::vector<std::pair<size_t, size_t>>& pairs, bool alone) {
  ways_.clear();
  for (const auto& [a, b] : pairs) {
    add(a, b, alone);
    add(b, a, alone);
  }
  AgentBatch batch(context_);
  for (Way& way : ways_) {
    const AskDatagramsOpen asked{way.id, way.pair->to_ip, way.to_interface};
    batch.ask(
        way.to, asked, kMarginMs,
        [&way](DatagramHub::Opened reply) {
          way.port = reply.port;
          way.token = std::move(reply.token);
        },
        [&way](const Error& error) { way.result.error = error.message(); });
  }
  batch.collect();
}

void DatagramStreams::send(AgentBatch& batch) {
  const bool deep = context_.evidence.job.deep;
  for (Way& way : ways_) {
    if (way.port == 0) continue;
    const bool alone = way.result.alone;
    const int64_t count = datagrams_of(deep, alone), rate = rate_of(deep, alone);
    const AskDatagramsSend asked{{way.way, way.port}, {way.token, count, rate}};
    batch.ask(
        way.from, asked, count * 1000 / rate + kMarginMs,
        [&way, alone](DatagramEvidence reply) {
          way.result = std::move(reply);
          way.result.alone = alone;
        },
        [&way](const Error& error) { way.result.error = error.message(); });
  }
}

void DatagramStreams::close() {
  AgentBatch batch(context_);
  for (Way& way : ways_) {
    if (way.port == 0) continue;
    const AskDatagramsClose asked{way.id, way.result.sent, kSettleMs};
    batch.ask(
        way.to, asked, kSettleMs + kMarginMs,
        [&way](const DatagramHub::Counted& reply) {
          way.result.received = reply.received;
          way.result.duplicates = reply.duplicates;
          way.result.overflow = reply.overflow;
        },
        [&way](const Error& error) {
          way.result.error = error.message();
          way.result.sent = 0;  // without a count nothing is known to be lost
        });
  }
  batch.collect();
  for (Way& way : ways_) {
    if (!way.pair->quality) way.pair->quality.emplace();
    way.pair->quality->datagrams.push_back(std::move(way.result));
  }
  ways_.clear();
}

}  // namespace plumbline
