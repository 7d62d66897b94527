// The link cells of a set of records as N x N matrices: one LinkWorld per world of ranks, with one
// grid per quantity (round trip, rate, loss ...) of every cell, and what stands out of them. A
// LinkWorld points into the records that it was made from. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/record/record.h"
#include "reports/document.h"
#include "reports/links/link_outliers.h"
#include "reports/view.h"

namespace plumbline {

enum class LinkUnit { kTime, kRate, kShare, kMessages };  // ns, bytes/s, fraction, 1/s
inline bool higher_is_better(LinkUnit unit) {
  return unit == LinkUnit::kRate || unit == LinkUnit::kMessages;
}

struct LinkGrid {
  std::string measure;  // "stream"
  std::string name;     // word for files: "stream", "latency_p50_64B"
  std::string title;    // "One-way stream"
  LinkUnit unit = LinkUnit::kRate;
  bool fills = false;  // a rate that a link alone was asked for, one way, in large pieces
  LinkValues values;   // [from * ranks + to]
};

struct LinkWorld {
  std::string title;  // "4 ranks, tcp"
  int ranks = 0;
  std::vector<std::string> names;  // of ranks: their hosts, with the rank where a host has several
  std::vector<const Record*> records;  // of kind link, in file order
  std::vector<LinkGrid> grids;
  std::vector<std::string> skipped;  // "a > c: reason", once per pair
  std::vector<std::string> failed;   // the errors of pairs
  bool shared_cores = false;         // several of its hosts are one machine

  const LinkGrid* find(const std::string& measure, LinkUnit unit) const;
  // Both directions were measured or named in some record, and the addresses lie in one subnet.
  std::vector<bool> direct() const;  // [a * ranks + b], symmetric
};

std::vector<LinkWorld> link_worlds(const View& view);

// The rates and latencies that links are judged by: one stream where there is one.
const LinkGrid* rate_grid(const LinkWorld& world);
const LinkGrid* latency_grid(const LinkWorld& world);

// One sentence of the verdict. `pair` for machine readers: unordered for what concerns both ways.
struct LinkVerdict {
  std::string kind;        // "slow host", "slow sender", "slow receiver", "slow link", "late link",
                           // "lossy link", "slow everywhere" ...
  int from = -1, to = -1;  // as in LinkOutlier (link_outliers.h)
  std::string text;        // "slow link a > b: 20.1 Mb/s (0.00251 GB/s), 2 % of the link's 1 Gb/s"
  bool fails = false;      // far below a speed that was stated: the cluster is not sound
};
struct LinkVerdicts {
  std::vector<LinkVerdict> list;     // outliers of rate, latency and loss
  std::vector<LinkVerdict> uneven;   // asymmetric pairs
  std::vector<std::string> unknown;  // what cannot be told from what is there
  std::vector<std::string> notes;    // which rule was used, what could not be judged

  bool fails() const;
};
// What every output says of the links: console, page, topology, exit status.
LinkVerdicts judge_world(const LinkWorld& world);
// A link far below the speed that the host file states, in any of these worlds.
bool links_fail(const std::vector<LinkWorld>& worlds);

// "193 Mb/s (0.0241 GB/s)": bits as networks are sold, bytes as programs see them.
std::string both_rates(double bytes_per_second);
// Of a grid's cell: "193 Mb/s", "41.2 us", "2.1 %"; "" without a value.
std::string grid_text(LinkUnit unit, const std::optional<double>& value);

// The links of a run as tables and sentences, for console and Markdown.

// What stands out of one world and by which rule; what is known of its pairs beside the matrices,
// and ring orders.
void add_link_verdicts(const LinkWorld& world, Document& document);
void add_link_details(const LinkWorld& world, Document& document);
// Link cells without a matrix, with the reason; nobody may overlook them.
std::vector<std::string> links_without_results(const View& view);
// All of it, with the matrices as numbers. Nothing when the view has no link cells.
void add_links(const View& view, Document& document);

// How the hosts of a link matrix hang together: which pairs share a subnet and so talk directly,
// the shape of that graph, and the graph as Graphviz DOT and as an SVG of our own.

// Undirected edges with the slower direction's rate; pairs that are outliers in red; pairs that
// were measured through others dashed.
std::string topology_dot(const LinkWorld& world, const LinkVerdicts& verdicts);
std::string topology_svg(const LinkWorld& world, const LinkVerdicts& verdicts);

}  // namespace plumbline
