// How long an operation should take: what its schedule costs (messages one behind the other, bytes,
// bytes reduced and copied) at the speeds of the path and of the machine. The model is Hockney's
// alpha and beta with a gamma for arithmetic (Hockney, The communication challenge for MPP,
// Parallel Computing 20, 1994; Thakur, Rabenseifner and Gropp, Optimization of collective
// communication operations in MPICH, IJHPCA 19, 2005), and one more speed for local copies:
//
//     T = depth * alpha + bytes / beta + reduced / gamma + copied / memory
//
// It is a sum: what overlaps is counted in full, and what ranks lose by waiting for one another is
// not in it. Pure; everything is checked for what it is used for, so that a speed of zero, or one
// that is not known, makes no prediction instead of an infinite one.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

namespace plumbline {

struct OperationCost {
  double depth = 0;         // messages in the longest chain over all ranks
  double wire_bytes = 0;    // of the rank and direction that carries most
  double reduce_bytes = 0;  // results of arithmetic, of the rank that has most
  double copy_bytes = 0;    // copied inside the rank that copies most
};

// What the model knows of the path and the machine; absent = not measured.
struct Speeds {
  std::optional<double> alpha_ns;    // one small message, one way
  std::optional<double> beta_Bps;    // of a connection, in one direction
  std::optional<double> gamma_Bps;   // results of the operation's reduction
  std::optional<double> memory_Bps;  // memcpy
};

// What a time is spent on; the word that stands in reports.
enum class Term : uint8_t { kLatency, kBandwidth, kReduce, kMemory, kSync };
inline constexpr std::array kTermNames = {"latency", "bandwidth", "reduce", "memory", "sync"};
inline const char* to_string(Term term) { return kTermNames[static_cast<size_t>(term)]; }

struct Prediction {
  // ns, by Term; waiting for other ranks is not predicted but measured, so its place holds 0.
  std::array<double, kTermNames.size()> terms{};

  double& operator[](Term term) { return terms[static_cast<size_t>(term)]; }
  double operator[](Term term) const { return terms[static_cast<size_t>(term)]; }
  double total_ns() const {
    double sum = 0;
    for (const double term : terms) sum += term;
    return sum;
  }
  // The largest one; of equal ones the first.
  Term dominating() const {
    return static_cast<Term>(std::max_element(terms.begin(), terms.end()) - terms.begin());
  }
};

// Nothing where a speed that the cost needs is not known, or a number cannot be.
inline std::optional<Prediction> predict(const OperationCost& cost, const Speeds& speeds) {
  Prediction prediction;
  bool known = true;
  // `amount` at `ns_per` each.
  const auto add = [&](Term term, double amount, std::optional<double> ns_per) {
    if (amount == 0) return;
    known = known && amount > 0 && ns_per && *ns_per >= 0 && std::isfinite(amount * *ns_per);
    if (known) prediction[term] = amount * *ns_per;
  };
  const auto ns_per_byte = [](const std::optional<double>& rate) {
    return rate && *rate > 0 ? std::optional(1e9 / *rate) : std::nullopt;
  };
  add(Term::kLatency, cost.depth, speeds.alpha_ns);
  add(Term::kBandwidth, cost.wire_bytes, ns_per_byte(speeds.beta_Bps));
  add(Term::kReduce, cost.reduce_bytes, ns_per_byte(speeds.gamma_Bps));
  add(Term::kMemory, cost.copy_bytes, ns_per_byte(speeds.memory_Bps));
  if (!known || !(prediction.total_ns() > 0)) return std::nullopt;
  return prediction;
}

}  // namespace plumbline
