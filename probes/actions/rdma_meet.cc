#include "probes/actions/rdma_meet.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/host/process_facts.h"
#include "core/units.h"
#include "probes/actions/ends.h"
#include "probes/actions/rdma_climb.h"
#include "transport/rdma/bare_verbs.h"
#include "transport/tcp/pair_talk.h"
#include "transport/tcp/socket.h"
#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

constexpr unsigned kTalkSeconds = 10, kTrySeconds = 6;
constexpr int64_t kTalkMs = 8000, kTryMs = 4000;
constexpr int64_t kAgainMs = 50;      // until a listener is there
constexpr int64_t kStrangerMs = 500;  // for the nonce of a connection
constexpr int64_t kRateNs = 100 * kMillisecond, kMeetQuietNs = 300 * kMillisecond;
constexpr size_t kEchoBytes = 4096;
constexpr int kEchoes = 200;
constexpr unsigned kStepsBetweenLooks = 256;

using EndWords = BareVerbs::EndWords;
constexpr size_t kWordSize = 8;

class Meeting {
 public:
  explicit Meeting(const AskRdmaMeet& asked) : asked_(asked) {}

  void run() {
    const bool all =
        take_rung("talk", kTalkSeconds, [&](auto&) { return talk(); }) &&
        take_rung("open", kTalkSeconds, [&](auto&) { return open(); }) &&
        take_rung("qp", kTalkSeconds, [&](auto&) { return make(); }) && tell_and_hear_ends() &&
        take_rung("rtr", kTrySeconds, [&](auto& found) { return connect(found); }) &&
        both_go_on() && take_rung("echo", kTrySeconds, [&](auto& found) { return echo(found); }) &&
        both_go_on() && take_rung("rate", kTrySeconds, [&](auto& found) { return stream(found); });
    // The connection of who calls ends first: no TIME-WAIT stays on a port of the job.
    std::array<uint64_t, 1> word{1};
    if (all && say(word)) static_cast<void>(hear(word));
    pair_.reset();
    if (asked_.listens && connection_.valid()) {
      char rest = 0;
      static_cast<void>(receive_some(connection_.get(), &rest, 1, within_ms(kStrangerMs)));
    }
  }

 private:
  static Patience within_ms(int64_t ms) { return {Deadline::after_ms(ms)}; }
  static std::string words_of(const Status& status) {
    return status ? std::string() : short_reason(status.error());
  }

  // ---- the connection ----

  std::string talk() {
    const Deadline deadline = Deadline::after_ms(kTalkMs);
    return asked_.listens ? listen(deadline) : call(deadline);
  }
  std::string listen(const Deadline& deadline) {
    auto own =
        make_socket_address(asked_.from_ip, static_cast<uint16_t>(asked_.port), asked_.interface);
    if (!own) return short_reason(own.error());
    const Expected<Fd> listener = listen_on(*own, {});
    if (!listener) return short_reason(listener.error());
    while (!deadline.passed()) {
      pollfd entry{listener->get(), POLLIN, 0};
      ::poll(&entry, 1, deadline.poll_timeout_ms(kAgainMs));
      Expected<Fd> came = accept_from(listener->get());
      if (!came) return short_reason(came.error());
      if (!came->valid()) continue;
      std::string said(asked_.nonce.size(), '\0');
      const Status read =
          receive_all(came->get(), said.data(), said.size(), within_ms(kStrangerMs));
      if (!read || said != asked_.nonce) continue;
      connection_ = std::move(*came);
      return {};
    }
    return fmt::format("nobody called on port {} within {} s", asked_.port, kTalkMs / 1000);
  }
  std::string call(const Deadline& deadline) {
    const auto ends = make_ends(asked_.from_ip, asked_.to_ip, asked_.interface, asked_.port);
    if (!ends) return short_reason(ends.error());
    std::string why;
    while (!deadline.passed()) {
      const Status called = call_once(*ends, deadline);
      if (called) return {};
      why = short_reason(called.error());
      ::poll(nullptr, 0, kAgainMs);
    }
    return why;
  }
  Status call_once(const PairEnds& ends, const Deadline& deadline) {
    Expected<Fd> fd =
        start_connect(ends.to, ends.from.length == 0 ? nullptr : &ends.from, ends.interface, {});
    if (!fd) return fail(fd.error());
    if (Status ready = await_ready(fd->get(), POLLOUT, {deadline}); !ready) return ready;
    if (Status stands = finish_connect(fd->get(), ends.to); !stands) return stands;
    if (Status said = send_all(fd->get(), asked_.nonce.data(), asked_.nonce.size(), {deadline});
        !said) {
      return said;
    }
    connection_ = std::move(*fd);
    return {};
  }

  Status say(std::span<const uint64_t> numbers) {
    std::vector<unsigned char> bytes(numbers.size() * kWordSize);
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<unsigned char>(numbers[i / kWordSize] >> (8 * (i % kWordSize)));
    }
    return send_all(connection_.get(), bytes.data(), bytes.size(), within_ms(kTryMs));
  }
  Status hear(std::span<uint64_t> numbers) {
    std::vector<unsigned char> bytes(numbers.size() * kWordSize);
    const Status heard =
        receive_all(connection_.get(), bytes.data(), bytes.size(), within_ms(kTalkMs));
    if (!heard) return heard;
    std::fill(numbers.begin(), numbers.end(), 0);
    for (size_t i = 0; i < bytes.size(); ++i) {
      numbers[i / kWordSize] |= uint64_t{bytes[i]} << (8 * (i % kWordSize));
    }
    return {};
  }

  // ---- the queue pair ----

  std::string open() {
    const auto verbs = shared_verbs(asked_.library);
    if (!verbs) return short_reason(verbs.error());
    static_cast<void>(rdma_devices(**verbs));
    const auto port = RdmaPort::open(*verbs, asked_.device, {}, asked_.from_ip);
    if (!port) return short_reason(port.error());
    port_ = *port;
    return {};
  }
  // With no more than the climb has seen.
  std::string make() {
    auto pair = BareVerbs::create(port_, VerbsMove::kSend, kEchoBytes, "the other host",
                                  port_->profile().requests);
    if (!pair) return short_reason(pair.error());
    pair_ = std::move(*pair);
    return {};
  }
  // An end that could not make or connect its pair has ended by itself, and says there why.
  bool go_on(const Status& heard) {
    if (heard) return true;
    return take_rung("talk", kTalkSeconds, [&](auto&) {
      return "the other end could not go on: " + short_reason(heard.error());
    });
  }
  bool tell_and_hear_ends() { return go_on(say(pair_->end())) && go_on(hear(theirs_)); }
  bool both_go_on() {
    std::array<uint64_t, 1> word{1};
    return go_on(say(word)) && go_on(hear(word));
  }

  std::string connect(std::string& found) {
    found =
        fmt::format("{} at index {}, {}", to_text(port_->gid()), port_->gid_index(), pair_->name());
    return words_of(pair_->connect(theirs_));
  }

  std::string echo(std::string& found) {
    const bool begins = !asked_.listens;
    std::vector<int64_t> times;
    if (Status done = pair_->round_trips(begins, 1, within_ms(kTryMs), nullptr); !done) {
      return short_reason(done.error());
    }
    if (!pair_->is_intact()) return "what came is not what was sent";
    if (Status done = pair_->round_trips(begins, kEchoes, within_ms(kTryMs), &times); !done) {
      return short_reason(done.error());
    }
    if (!begins) return {};
    std::sort(times.begin(), times.end());
    found = fmt::format("median of {} round trips: {}", kEchoes,
                        format_duration(static_cast<double>(times[times.size() / 2])));
    return {};
  }

  std::string stream(std::string& found) {
    return asked_.listens ? take_stream() : send_stream(found);
  }
  std::string send_stream(std::string& found) {
    const uint64_t before = pair_->begun();
    const int64_t start = monotonic_ns();
    const Deadline enough = Deadline::after_ns(kRateNs);
    const Patience patience = within_ms(kTryMs);
    for (unsigned steps = 1; !enough.passed() || pair_->ended() < pair_->begun(); ++steps) {
      if (Status done = pair_->step(enough.passed() ? 0 : UINT64_MAX); !done)
        return short_reason(done.error());
      if (steps % kStepsBetweenLooks == 0 && patience.over()) return "messages did not end in time";
    }
    const uint64_t sent = pair_->begun() - before;
    std::array<uint64_t, 1> word{sent};
    Status told = say(word);
    if (told) told = hear(word);
    if (!told) return short_reason(told.error());
    const auto seconds = static_cast<double>(monotonic_ns() - start) * 1e-9;
    if (word[0] != sent) return fmt::format("{} messages were sent, and {} came", sent, word[0]);
    found = fmt::format("messages of 4 KiB: {}",
                        format_rate(static_cast<double>(word[0] * kEchoBytes) / seconds));
    return {};
  }
  std::string take_stream() {
    std::optional<uint64_t> sent;
    Deadline quiet = Deadline::never();
    const Patience patience = within_ms(kTryMs);
    const uint64_t before = pair_->taken();
    for (unsigned steps = 1; !sent || (pair_->taken() - before < *sent && !quiet.passed());
         ++steps) {
      if (Status done = pair_->take(); !done) return short_reason(done.error());
      if (steps % kStepsBetweenLooks != 0) continue;
      if (patience.over()) return "the sender never ended";
      pollfd entry{connection_.get(), POLLIN, 0};
      if (sent || ::poll(&entry, 1, 0) <= 0) continue;
      std::array<uint64_t, 1> word{};
      if (Status heard = hear(word); !heard) return short_reason(heard.error());
      sent = word[0];
      quiet = Deadline::after_ns(kMeetQuietNs);
    }
    return words_of(say(std::array<uint64_t, 1>{pair_->taken() - before}));
  }

  const AskRdmaMeet& asked_;
  Fd connection_;
  std::shared_ptr<RdmaPort> port_;
  std::unique_ptr<BareVerbs> pair_;
  EndWords theirs_{};
};

}  // namespace

void meet_over_rdma(const AskRdmaMeet& asked) {
  std::signal(SIGPIPE, SIG_IGN);
  Meeting(asked).run();
}

Expected<RdmaClimb> meet_in_child(const AskRdmaMeet& asked, const AgentCall& call) {
  const Expected<std::string> program = own_program_path();
  if (!program) return fail(program.error());
  std::vector<std::string> words = {*program,      "rdma-meet",
                                    "--device",    asked.device,
                                    "--tcp-port",  std::to_string(asked.port),
                                    "--own",       asked.from_ip,
                                    "--peer",      asked.to_ip,
                                    "--interface", asked.interface,
                                    "--role",      asked.listens ? "listens" : "calls"};
  if (!asked.library.empty()) words.insert(words.end(), {"--library", asked.library});
  return run_rungs({asked.device, 1, asked.library}, words, asked.nonce + "\n", call);
}

}  // namespace plumbline
