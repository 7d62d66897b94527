// Algorithms in blocks, with radices. Reduce-scatter: each round splits what a rank is still
// concerned with into one block for each rank of its group, sends every block to the one whose it
// is and reduces its own. Allgather is the same backwards, and allreduce one after the other. Every
// rank sends (n-1)/n of all data in each half, the least possible, in as few messages one after the
// other as there are rounds. 2x2x... is the algorithm of Rabenseifner ("Optimization of collective
// reduction operations", 2004); one radix sends everything straight to its owner and uses all links
// of a mesh at once; with the ranks of a host as first radix little crosses between hosts.
//
// Each element is reduced by one rank only, so that all ranks get the same bits.
#include <algorithm>
#include <functional>

#include "collectives/algorithms/radix.h"

namespace plumbline {
namespace {

// Blocks travel in pieces of at least this size, so that a piece is reduced and sent on while the
// next one arrives, and so that every rank of a group is heard at once.
constexpr uint64_t kPieceBytes = 64 * 1024;
constexpr int kMostPieces = 8;  // of one rank's part

// A piece of the data: where it lies, and the step that wrote `written`, which it is part of.
struct Piece {
  Range at, written;
  StepId step = kNoStep;
};

// How the data of one rank's part is cut.
struct Cut {
  bool in_pieces = false;  // a message is a piece, not a block
  int of_part = 1;         // pieces
};

// One piece fewer than a group has ranks is what it takes to hear all the others at once.
Cut cut_for(const ScheduleRequest& q, uint64_t part_bytes) {
  int widest = 2;
  for (const int radix : radices_of(q)) widest = std::max(widest, radix);
  const auto fitting = static_cast<int>(std::min<uint64_t>(part_bytes / kPieceBytes, kMostPieces));
  return {fitting > 0, std::clamp(fitting, 1, widest - 1)};
}

// Pieces are numbered in the order in which the rounds split them: those of a block follow one
// another. Where a message is a block, they must do so in memory too.
class Halving {
 public:
  // Where the newest value of a piece goes; `last` = it is finished.
  using Target = std::function<Range(int piece, bool last)>;

  // `data`: where the pieces lie at first.
  Halving(ScheduleBuilder& b, const ScheduleRequest& q, const Cut& cut,
          const std::vector<Range>& data, Target target)
      : b_(b),
        q_(q),
        cut_(cut),
        target_(std::move(target)),
        total_(q.size * cut.of_part),
        length_(total_) {
    for (const Range& range : data) pieces_.push_back({range, range});
  }

  // One round of the first half.
  void reduce(const RadixRound& round);
  // Between the halves: only this rank's own part is there.
  void begin_at(int place) {
    first_ = place * cut_.of_part;
    length_ = cut_.of_part;
  }
  // One round of the second half.
  void gather(const RadixRound& round);
  // A step has written these pieces.
  void note(int first, int number, bool last, StepId step) {
    const Range written = target(first, number, last);
    uint64_t begin = written.begin;
    for (int i = first; i < first + number; ++i) {
      Piece& piece = pieces_[static_cast<size_t>(i)];
      piece = {{written.buffer, begin, piece.at.count}, written, step};
      begin += piece.at.count;
    }
  }

 private:
  uint64_t count_of(int first, int number) const {
    uint64_t count = 0;
    for (int i = first; i < first + number; ++i) count += pieces_[static_cast<size_t>(i)].at.count;
    return count;
  }
  Range target(int first, int number, bool last) const {
    Range range = target_(first, last);
    range.count = count_of(first, number);
    return range;
  }
  Range newest(int first, int number) const {
    Range range = pieces_[static_cast<size_t>(first)].at;
    range.count = count_of(first, number);
    return range;
  }
  std::vector<StepId> writers(int first, int number) const {
    std::vector<StepId> steps;
    for (int i = first; i < first + number; ++i) {
      const StepId step = pieces_[static_cast<size_t>(i)].step;
      if (steps.empty() || steps.back() != step) steps.push_back(step);
    }
    return steps;
  }
  void send(int peer, uint32_t message, int first, int number) {
    const Range source = newest(first, number);
    const Piece& piece = pieces_[static_cast<size_t>(first)];
    if (piece.written == source) {
      b_.stream(peer, message, source, piece.step);
    } else {
      b_.send(peer, message, source, writers(first, number));
    }
  }
  void reduce_message(const RadixRound& round, int index, int first, int number, bool last);

  ScheduleBuilder& b_;
  const ScheduleRequest& q_;
  const Cut cut_;
  const Target target_;
  const int total_;         // pieces
  int first_ = 0, length_;  // those that this rank is concerned with
  std::vector<Piece> pieces_;
};

// A rank hears the others of its group in another order for each message, and sends in the order in
// which it is heard.
void Halving::reduce(const RadixRound& round) {
  const int others = round.radix - 1;
  const int block = length_ / round.radix, number = cut_.in_pieces ? 1 : block;
  for (int turn = 0; turn < others; ++turn) {
    for (int hop = 1; hop <= others; ++hop) {
      const int digit = wrap(round.digit() + hop, round.radix);
      for (int i = wrap(hop - 1 - turn, others); i < block / number; i += others) {
        const int first = first_ + digit * block + i * number;
        send(round.peer(digit), static_cast<uint32_t>(first), first, number);
      }
    }
  }
  first_ += round.digit() * block;
  length_ = block;
  for (int i = 0; i < block / number; ++i) {
    reduce_message(round, i, first_ + i * number, number, block == cut_.of_part);
  }
}

void Halving::reduce_message(const RadixRound& round, int index, int first, int number, bool last) {
  Fold fold;
  fold.peers = {q_.rank};
  const int others = round.radix - 1;
  for (int turn = 0; turn < others; ++turn) {
    const int hop = 1 + (index + turn) % others;
    fold.peers.push_back(round.peer(wrap(round.digit() - hop, round.radix)));
  }
  fold.own = q_.rank;
  fold.message = static_cast<uint32_t>(first);
  fold.have = newest(first, number);
  fold.sum = target(first, number, last);
  fold.last = last;
  fold.had = writers(first, number);
  const bool small = !cut_.in_pieces && fold.sum.count * q_.elem_size <= kGatheredBytes;
  note(first, number, last, small ? fold_gathered(b_, fold) : fold_from_wire(b_, fold));
}

void Halving::gather(const RadixRound& round) {
  const int number = cut_.in_pieces ? 1 : length_;
  const auto message = [&](int first) { return static_cast<uint32_t>(total_ + first); };
  for (int first = first_; first < first_ + length_; first += number) {
    for (int hop = 1; hop < round.radix; ++hop) {
      send(round.peer(wrap(round.digit() + hop, round.radix)), message(first), first, number);
    }
  }
  const int parent = first_ - round.digit() * length_;
  for (int hop = 1; hop < round.radix; ++hop) {
    const int digit = wrap(round.digit() - hop, round.radix);
    for (int i = 0; i < length_; i += number) {
      const int first = parent + digit * length_ + i;
      const Range arriving = target(first, number, true);
      note(first, number, true, b_.recv(round.peer(digit), message(first), arriving));
    }
  }
  first_ = parent;
  length_ *= round.radix;
}

// Where the part of a rank stands when the rounds have split everything.
int standing_of(const std::vector<RadixRound>& rounds, int rank, int ranks) {
  int place = 0;
  for (RadixRound round : rounds) {
    round.rank = rank;
    ranks /= round.radix;
    place += round.digit() * ranks;
  }
  return place;
}

// The pieces of blocks of `count` elements, one for each rank, in the order of the rounds.
std::vector<Range> pieces_of(BufferId buffer, const ScheduleRequest& q, const Cut& cut,
                             const std::vector<RadixRound>& rounds) {
  std::vector<Range> pieces(static_cast<size_t>(q.size * cut.of_part));
  for (int rank = 0; rank < q.size; ++rank) {
    int at = standing_of(rounds, rank, q.size) * cut.of_part;
    for (int i = 0; i < cut.of_part; ++i, ++at) {
      Range& piece = pieces[static_cast<size_t>(at)];
      piece = even_part(buffer, q.count, cut.of_part, i);
      piece.begin += q.count * static_cast<uint64_t>(rank);
    }
  }
  return pieces;
}

// Where parts belong to given ranks, a group's blocks lie together in memory only when the furthest
// ranks are split first; with messages of single pieces the nearest may be.
std::vector<RadixRound> rounds_for(const ScheduleRequest& q, const Cut& cut) {
  std::vector<RadixRound> rounds = radix_rounds(q);
  if (!cut.in_pieces) std::reverse(rounds.begin(), rounds.end());
  return rounds;
}

}  // namespace

Schedule build_allreduce_halving_doubling(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const std::vector<RadixRound> rounds = radix_rounds(q);
  const Cut cut = cut_for(q, q.count * q.elem_size / static_cast<uint64_t>(q.size));
  const int total = q.size * cut.of_part;
  std::vector<Range> data;
  for (int i = 0; i < total; ++i) data.push_back(even_part(BufferId::kIn, q.count, total, i));
  // Partial sums lie where the finished part arrives: it can only come back after they left.
  Halving halving(b, q, cut, data, [&](int piece, bool /*last*/) {
    return even_part(BufferId::kOut, q.count, total, piece);
  });
  for (const RadixRound& round : rounds) halving.reduce(round);
  for (size_t i = rounds.size(); i-- > 0;) halving.gather(rounds[i]);
  return b.finish();
}

Schedule build_reduce_scatter_recursive_halving(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Cut cut = cut_for(q, q.count * q.elem_size);
  const std::vector<RadixRound> rounds = rounds_for(q, cut);
  // Unfinished sums: of the block that is left after the first round.
  const int block = q.size / rounds[0].radix, own = rounds[0].digit() * block;
  const Range sums = b.scratch(block == 1 ? 0 : q.count * static_cast<uint64_t>(block));
  const auto target = [&](int piece, bool last) {
    const BufferId buffer = last ? BufferId::kOut : BufferId::kScratch;
    Range range = even_part(buffer, q.count, cut.of_part, piece % cut.of_part);
    if (last) return range;
    range.begin += sums.begin + q.count * static_cast<uint64_t>(piece / cut.of_part - own);
    return range;
  };
  Halving halving(b, q, cut, pieces_of(BufferId::kIn, q, cut, rounds), target);
  for (const RadixRound& round : rounds) halving.reduce(round);
  return b.finish();
}

// Blocks instead of whole arrays, and nothing is reduced: the second half of halving and doubling.
Schedule build_allgather_exchange(const ScheduleRequest& q) {
  if (q.size == 1) return copy_only(q);
  ScheduleBuilder b(q);
  const Cut cut = {q.count * q.elem_size >= kPieceBytes, 1};
  const std::vector<RadixRound> rounds = rounds_for(q, cut);
  const std::vector<Range> result = pieces_of(BufferId::kOut, q, cut, rounds);
  const int own = standing_of(rounds, q.rank, q.size);
  std::vector<Range> data = result;
  data[static_cast<size_t>(own)] = ScheduleBuilder::in(0, q.count);
  Halving halving(b, q, cut, data,
                  [&](int piece, bool /*last*/) { return result[static_cast<size_t>(piece)]; });
  halving.begin_at(own);
  for (size_t i = rounds.size(); i-- > 0;) {
    halving.gather(rounds[i]);
    if (i + 1 < rounds.size()) continue;
    const StepId copied =
        b.copy_own(data[static_cast<size_t>(own)], result[static_cast<size_t>(own)]);
    // From now on it travels together with others.
    if (!cut.in_pieces) halving.note(own, 1, true, copied);
  }
  return b.finish();
}

}  // namespace plumbline
