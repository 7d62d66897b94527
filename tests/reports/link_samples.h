// Synthetic link records: N hosts, equal links, and what a test makes worse.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/record/record.h"

namespace plumbline::samples {

// One record of `measure` over `ranks` hosts a, b, c ...; `change` may spoil each link. Values
// differ by some percent, always the same.
inline Record link_record(const std::string& measure, int ranks,
                          const std::function<void(LinkResult&)>& change = {}) {
  Record record;
  record.run_id = "run";
  record.cell.kind = CellKind::kLink;
  record.cell.op = "link";
  record.cell.measure = measure;
  record.cell.ranks = ranks;
  record.cell.bytes = 64;
  record.cell.rate_bps = measure == "udp" ? 50'000'000 : 0;
  record.measurement.resolved.transport = "tcp";
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      LinkResult link;
      link.from = from;
      link.to = to;
      link.from_host = std::string(1, static_cast<char>('a' + from));
      link.to_host = std::string(1, static_cast<char>('a' + to));
      link.direct = true;
      const double wobble = 1 + 0.01 * ((from * 7 + to * 3) % 5);
      if (measure == "latency") link.rtt = LinkRtt{1000, 9e4, 1e5 * wobble, 1.5e5, 2e5};
      if (measure == "udp") link.udp = LinkUdp{2600, 2600, 0, 0, 0, 2000.0, 6.25e6};
      if (measure == "loaded_rtt") {
        link.rtt = LinkRtt{1000, 9e4, 1e5, 1.5e5, 2e5};
        link.loaded_rtt = LinkRtt{100, 9e4, 5e6, std::nullopt, 1e7};
      }
      if (measure != "latency" && measure != "udp") {
        link.rate_Bps = 25e6 * wobble;
        link.streams = {{12'500'000, 0, {6'000'000, 6'500'000}}};
      }
      if (change) change(link);
      record.measurement.links.push_back(std::move(link));
    }
  }
  return record;
}

}  // namespace plumbline::samples
