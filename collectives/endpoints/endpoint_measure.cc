#include "collectives/endpoints/endpoint_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "core/stats/stats.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr int64_t kAskedFirstMs = 5000;           // to find the addresses, and the models
constexpr int64_t kEndpointLookMs = 20;           // how soon an interruption is seen
constexpr int64_t kSilencesWaited = 4;            // for what is under way when the time is over
constexpr int64_t kPauseNs = 100 * kMillisecond;  // behind a request that was turned away
constexpr size_t kMostAnswers = 200'000;
constexpr size_t kEndpointSamplesKept = 10'000;  // in the record; all go into the histogram
constexpr std::string_view kFiller = " Take your time.";

// All clients of one cell.
class Clients {
 public:
  Clients(const Cell& cell, const MeasureSettings& settings, EndpointPlace place)
      : place_(std::move(place)),
        silence_ns_(settings.endpoint_silence_ms * kMillisecond),
        begun_ns_(monotonic_ns()),
        until_(Deadline::after_ns(settings.throughput_time_ns)),
        last_(Deadline::at_ns(until_.at_ns() + kSilencesWaited * silence_ns_)) {
    call_.api = endpoint_api_from(cell.api).value_or(EndpointApi::kChat);
    call_.stream = cell.answer != "whole";
    call_.model = cell.model;
    call_.prompt = endpoint_prompt(call_.api, cell.bytes);
    call_.max_tokens = std::max(1, cell.max_tokens);
  }

  void run(int clients, const std::function<bool()>& stop) {
    if (call_.model.empty()) take_first_model();
    begun_ns_ = monotonic_ns();
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; ++i) {
      threads.emplace_back([this] {
        ask_again_and_again();
        --working_;
      });
      ++working_;
    }
    while (working_ > 0) {
      if (stop()) stopped_ = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(kEndpointLookMs));
    }
    for (std::thread& thread : threads) thread.join();
  }

  const std::vector<EndpointAnswer>& answers() const { return answers_; }
  // Until the last answer was there.
  int64_t elapsed_ns() const { return ended_ns_ - begun_ns_; }
  bool stopped() const { return stopped_; }

 private:
  Patience patience() const {
    return {last_, [this] { return stopped_.load(); }};
  }

  void take_first_model() {
    const EndpointAnswer listed =
        list_models(place_, patience().within(kAskedFirstMs * kMillisecond));
    if (!listed.models.empty()) call_.model = listed.models.front();
  }

  // Each client asks once at least.
  void ask_again_and_again() {
    do {
      EndpointAnswer answer = ask_completion(place_, call_, silence_ns_, patience());
      const bool turned_away = answer.end == AnswerEnd::kBusy;
      const bool hopeless = !answer.answered() && !turned_away;
      if (stopped_) return;  // cut off by us
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (answers_.size() < kMostAnswers) answers_.push_back(std::move(answer));
        ended_ns_ = monotonic_ns();
      }
      // One failure is told; a hundred of them would only load whoever is in trouble.
      if (hopeless) return;
      if (turned_away) std::this_thread::sleep_for(std::chrono::nanoseconds(kPauseNs));
    } while (!until_.passed());
  }

  const EndpointPlace place_;
  CompletionCall call_;
  const int64_t silence_ns_;
  int64_t begun_ns_;
  const Deadline until_, last_;
  std::atomic<bool> stopped_{false};
  std::atomic<int> working_{0};
  std::mutex mutex_;
  std::vector<EndpointAnswer> answers_;
  int64_t ended_ns_ = 0;
};

// Under this key, where there are enough values for it.
void take_quantile(std::vector<int64_t>& values, double q, const char* key, Measurement& result) {
  if (!quantile_supported(values.size(), q) && q > 0.5) return;
  std::sort(values.begin(), values.end());
  if (!values.empty()) result.extra[key] = static_cast<double>(quantile_sorted(values, q));
}

bool is_wrong(const Cell& cell, const EndpointAnswer& answer) {
  return answer.answered() && answer.text.find(cell.answer_has) == std::string::npos;
}

const char* cause_of_end(AnswerEnd end) {
  switch (end) {
    case AnswerEnd::kUnreachable:
      return "endpoint.unreachable";
    case AnswerEnd::kBusy:
      return "endpoint.busy";
    case AnswerEnd::kRefused:
    case AnswerEnd::kMalformed:
      return "endpoint.wrong_answer";
    default:
      return "endpoint.stalled";
  }
}

// The worst that happened decides; a full queue only where nobody was served.
void take_outcome(const Cell& cell, const std::vector<EndpointAnswer>& answers,
                  Measurement& result) {
  const EndpointAnswer* worst = nullptr;
  for (const EndpointAnswer& answer : answers) {
    if (worst == nullptr || answer.end > worst->end) worst = &answer;
  }
  if (worst == nullptr) {
    result.outcome = Outcome::kSkipped;
    result.reason = "interrupted before an answer came";
    return;
  }
  const bool some = result.iterations > 0;
  if (worst->end > AnswerEnd::kBusy || (worst->end == AnswerEnd::kBusy && !some)) {
    result.outcome = Outcome::kFailed;
    result.cause = cause_of_end(worst->end);
    result.reason = worst->error;
  } else if (result.wrong.value_or(0) > 0) {
    result.outcome = Outcome::kFailed;
    result.cause = "endpoint.wrong_answer";
    result.reason = fmt::format("{} of {} answers do not contain {}", *result.wrong,
                                result.iterations, in_quotes(cell.answer_has));
  }
}

void take_rates(const std::vector<EndpointAnswer>& answers, int64_t elapsed_ns,
                Measurement& result) {
  std::vector<int64_t> gaps, whole;
  std::vector<double> rates;
  int64_t tokens = 0;
  for (const EndpointAnswer& answer : answers) {
    if (!answer.answered()) continue;
    tokens += answer.tokens;
    whole.push_back(answer.took_ns);
    gaps.insert(gaps.end(), answer.gaps_ns.begin(), answer.gaps_ns.end());
    int64_t streamed = 0;
    for (const int64_t gap : answer.gaps_ns) streamed += gap;
    if (answer.tokens > 1 && streamed > 0) {
      rates.push_back(static_cast<double>(answer.tokens - 1) * 1e9 / static_cast<double>(streamed));
    }
  }
  const double seconds = static_cast<double>(std::max<int64_t>(elapsed_ns, 1)) * 1e-9;
  auto& extra = result.extra;
  extra[kEndpointTokens] = static_cast<double>(tokens);
  if (whole.empty()) return;
  result.ops_per_s = static_cast<double>(whole.size()) / seconds;
  extra[kEndpointTokenRate] = static_cast<double>(tokens) / seconds;
  if (!rates.empty()) extra[kEndpointAnswerRate] = median(rates);
  take_quantile(whole, 0.5, kEndpointAnswerTime, result);
  take_quantile(gaps, 0.5, kEndpointGap50, result);
  take_quantile(gaps, 0.99, kEndpointGap99, result);
}

Measurement without_address(const Error& error) {
  Measurement result;
  result.outcome = Outcome::kFailed;
  result.cause = "endpoint.unreachable";
  result.reason = error.message();
  return result;
}

}  // namespace

std::string endpoint_prompt(EndpointApi api, uint64_t bytes) {
  std::string prompt = api == EndpointApi::kChat
                           ? "Count from 1 to 10000. Write nothing but the numbers."
                           : "1, 2, 3, 4, 5, 6, 7,";
  std::string filler;
  while (prompt.size() + filler.size() < bytes) filler += kFiller;
  if (!filler.empty()) filler.resize(static_cast<size_t>(bytes) - prompt.size());
  return filler + prompt;
}

Measurement judge_answers(const Cell& cell, const std::vector<EndpointAnswer>& answers,
                          int64_t elapsed_ns) {
  Measurement result;
  std::map<std::string, double> counts;
  uint64_t wrong = 0;
  for (const EndpointAnswer& answer : answers) {
    ++counts[endpoint_count_key(to_string(answer.end))];
    if (is_wrong(cell, answer)) ++wrong;
    if (!answer.answered()) continue;
    ++result.iterations;
    const bool streamed = cell.answer != "whole";
    if (streamed && !answer.first_token_ns) continue;  // an answer without a word
    const int64_t sample = streamed ? *answer.first_token_ns : answer.took_ns;
    if (result.samples_ns.size() < kEndpointSamplesKept) result.samples_ns.push_back(sample);
    result.hist.add(sample);
  }
  result.extra.insert(counts.begin(), counts.end());
  result.extra[kEndpointRequests] = static_cast<double>(answers.size());
  result.elapsed_ns = elapsed_ns;
  result.stop_reason = "time";
  result.warmup_converged = true;
  if (!cell.answer_has.empty()) result.wrong = wrong;
  if (wrong > 0) result.extra[kEndpointWrong] = static_cast<double>(wrong);
  result.resolved.transport = "tcp";
  result.resolved.algorithm = "none";
  take_rates(answers, elapsed_ns, result);
  take_outcome(cell, answers, result);
  result.verified = result.iterations > 0 && wrong == 0;
  return result;
}

Expected<Measurement> measure_endpoint(const Cell& cell, const MeasureSettings& settings,
                                       const MeasureContext& context) {
  Expected<HttpUrl> url = parse_http_url(cell.url);
  if (!url) return fail(url.error());
  EndpointPlace place{std::move(*url), {}, settings.endpoint_key};
  auto addresses = resolve_url(place.url, Deadline::after_ms(kAskedFirstMs));
  if (!addresses) return without_address(addresses.error());
  place.addresses = std::move(*addresses);
  Clients clients(cell, settings, std::move(place));
  clients.run(std::max(1, cell.outstanding),
              [&context] { return context.interrupted && context.interrupted(); });
  Measurement result = judge_answers(cell, clients.answers(), clients.elapsed_ns());
  if (clients.stopped()) result.stop_reason = "interrupted";
  return result;
}

int64_t endpoint_cell_limit_ms(const Cell& /*cell*/, const MeasureSettings& settings) {
  return 2 * kAskedFirstMs + (kSilencesWaited + 1) * settings.endpoint_silence_ms;
}

}  // namespace plumbline
