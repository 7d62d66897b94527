// Blocks that ask a server of language models: one cell for each model, way of asking, size of the
// question, length of the answer, and number of requests at a time.
#include <algorithm>
#include <utility>

#include "core/json.h"
#include "scenarios/expand.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

constexpr int64_t kUsualTimeNs = 10'000'000'000;
constexpr int kUsualTokens = 64;
constexpr size_t kMostText = 200;  // bytes of what a scenario names

using EndpointCells = std::vector<Cell>;

// Every cell so far once for each value.
template <typename Values, typename Set>
void times(EndpointCells& cells, const Values& values, Set set) {
  EndpointCells out;
  for (const Cell& cell : cells) {
    for (const auto& value : values) {
      if (out.size() > kMaxPlanCells) break;
      set(out.emplace_back(cell), value);
    }
  }
  cells = std::move(out);
}

}  // namespace

void read_endpoint_keys(const Json& block, const std::string& /*where*/, Problems& /*problems*/,
                        MatrixBlock& out) {
  out.url = string_member(block, "url");
  out.answer_has = string_member(block, "answer_has");
  out.key_from = string_member(block, "key_from");
  if (block.contains("model")) out.model = texts(block["model"]);
  if (block.contains("api")) out.api = texts(block["api"]);
  if (block.contains("answer")) out.answer = texts(block["answer"]);
  if (!block.contains("max_tokens")) out.max_tokens = {kUsualTokens};
  if (!block.contains("time")) out.throughput_time_ns = kUsualTimeNs;
  if (!block.contains("ranks")) out.ranks = {1};
}

EndpointCells endpoint_cells(const MatrixBlock& block, const ExpandContext& context) {
  Cell first;
  first.kind = CellKind::kEndpoint;
  first.op = kEndpointOp;
  first.params = block.params;
  first.dtype = "u8";
  first.redop = "none";
  first.sync = "none";
  first.url = block.url;
  first.answer_has = block.answer_has;
  first.key_from = block.key_from;
  EndpointCells cells = with_worlds(first, block, context);
  const std::vector<uint64_t> sizes =
      block.bytes.empty() ? std::vector<uint64_t>{0} : block.bytes;  // 0: as long as it has to be
  times(cells, block.model, [](Cell& cell, const std::string& name) { cell.model = name; });
  times(cells, block.api, [](Cell& cell, const std::string& api) { cell.api = api; });
  times(cells, block.answer, [](Cell& cell, const std::string& way) { cell.answer = way; });
  times(cells, sizes, [](Cell& cell, uint64_t bytes) { cell.bytes = cell.count = bytes; });
  times(cells, block.max_tokens, [](Cell& cell, int most) { cell.max_tokens = most; });
  times(cells, block.outstanding, [](Cell& cell, int n) { cell.outstanding = n; });
  std::vector<int> repeats;
  for (int i = 0; i < block.repeat; ++i) repeats.push_back(i);
  times(cells, repeats, [](Cell& cell, int i) { cell.repeat = i; });
  return cells;
}

bool check_endpoint_block(const MatrixBlock& block, const Scenario& /*scenario*/,
                          const Vocabulary& /*vocabulary*/, Problems& problems) {
  if (block.op.size() != 1 || block.op.front() != kEndpointOp) {
    problems.add(block.path + ".op", "a block of kind 'endpoint' asks a server and nothing else",
                 "write \"op\": \"endpoint\"; operations belong in blocks of their own");
  }
  check_server(block.url, block.key_from, block.path, problems);
  for (const int ranks : block.ranks) {
    if (ranks == 1) continue;
    problems.add(block.path + ".ranks",
                 "one rank asks a server, as so many clients as "
                 "'outstanding' says",
                 "leave 'ranks' out; 'hosts' says from where it is asked");
    break;
  }
  constexpr uint64_t kMostPrompt = 1 << 20;
  for (const uint64_t bytes : block.bytes) {
    if (bytes <= kMostPrompt) continue;
    problems.add(block.path + ".bytes", "a question has 1 MiB at most", "use smaller ones");
    break;
  }
  const auto too_long = [](const std::string& text) { return text.size() > kMostText; };
  const bool long_model = std::any_of(block.model.begin(), block.model.end(), too_long);
  if (long_model || too_long(block.answer_has)) {
    problems.add(block.path, "'model' or 'answer_has' is longer than 200 bytes", "shorten it");
  }
  return true;
}

}  // namespace plumbline
