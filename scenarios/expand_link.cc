#include "core/record/link.h"
#include "scenarios/expand.h"
#include "scenarios/json_text.h"

namespace plumbline {
namespace {

// Of a message where the block names no size: of sockets, and perftest's of latency and of rates.
constexpr uint64_t kMessageBytes = 64, kVerbsBytes = 2, kVerbsRateBytes = 65'536;
constexpr int kParallelStreams = 4;  // where the block names no number

// What tells the cells of one measure apart.
struct Parameters {
  std::vector<uint64_t> bytes = {0};
  std::vector<int> streams = {1};
  std::vector<uint64_t> rates = {0};
};

Parameters parameters_of(const MatrixBlock& block, const std::string& measure) {
  const LinkMeasureRow* const row = find_link_measure(measure);
  Parameters out;
  if (row == nullptr) return out;
  const bool rates = measure.ends_with("bw");
  if (row->sized) {
    out.bytes = block.bytes;
    if (out.bytes.empty()) {
      out.bytes = {!row->verbs ? kMessageBytes : rates ? kVerbsRateBytes : kVerbsBytes};
    }
  }
  if (measure == "parallel" || (row->verbs && rates)) {
    out.streams = block.streams;
    if (out.streams.empty()) out.streams = {row->verbs ? 1 : kParallelStreams};
  }
  if (measure == "udp") {
    out.bytes = {block.datagram};
    out.rates = block.rate_bps;
  }
  return out;
}

}  // namespace

std::vector<Cell> link_cells(const MatrixBlock& block, const ExpandContext& context) {
  Cell first;
  first.kind = CellKind::kLink;
  first.op = kLinkOp;
  first.params = block.params;
  first.dtype = "u8";
  first.redop = "none";
  std::vector<Cell> cells;
  for (const std::string& measure : block.measure) {
    const Parameters parameters = parameters_of(block, measure);
    for (const Cell& placed : with_worlds(first, block, context)) {
      for (const std::string& transport : block.transport) {
        for (const uint64_t bytes : parameters.bytes) {
          for (const int streams : parameters.streams) {
            for (const uint64_t rate : parameters.rates) {
              for (int repeat = 0; repeat < block.repeat; ++repeat) {
                Cell cell = placed;
                cell.measure = measure;
                cell.transport = transport;
                cell.bytes = cell.count = bytes;
                cell.outstanding = streams;
                cell.rate_bps = rate;
                cell.repeat = repeat;
                cells.push_back(std::move(cell));
                if (cells.size() > kMaxPlanCells) return cells;
              }
            }
          }
        }
      }
    }
  }
  return cells;
}

bool check_link_block(const MatrixBlock& block, const Scenario& /*scenario*/,
                      const Vocabulary& /*vocabulary*/, Problems& problems) {
  if (block.op.size() != 1 || block.op.front() != kLinkOp) {
    problems.add(block.path + ".op", "a block of kind 'link' measures links and nothing else",
                 "write \"op\": \"link\"; other operations belong in blocks of their own");
  }
  for (const uint64_t bytes : block.bytes) {
    if (bytes > 0) continue;
    problems.add(block.path + ".bytes", "a round trip carries at least one byte", "use 1 or more");
    break;
  }
  return true;
}

}  // namespace plumbline
