// The best result of a kind, for whoever shows one number of many: a clean one before a noisy one,
// ours before those of other tools, whose statistic differs, and only then the better number.
#pragma once

#include <optional>
#include <string>

#include "reports/view.h"

namespace plumbline {

class Best {
 public:
  enum class Wanted { kLowest, kHighest };
  explicit Best(Wanted wanted) : wanted_(wanted) {}

  // A result that means nothing, or has no such number, is passed over.
  void offer(const Item& item, std::optional<double> value) {
    if (!item.valid() || !value || (item_ != nullptr && !better(item, *value))) return;
    item_ = &item;
    value_ = *value;
  }
  explicit operator bool() const { return item_ != nullptr; }
  const Item& item() const { return *item_; }
  double value() const { return value_; }
  bool noisy() const { return item_->verdict == Verdict::kNoisy; }
  // To stand behind the number: what nobody may overlook about it, or nothing.
  std::string remark() const { return noisy() ? "; noisy, as there is no clean result" : ""; }

 private:
  bool better(const Item& item, double value) const {
    const bool clean = item.verdict != Verdict::kNoisy;
    if (clean == noisy()) return clean;
    if (item.imported() != item_->imported()) return item_->imported();
    return wanted_ == Wanted::kLowest ? value < value_ : value > value_;
  }

  Wanted wanted_;
  const Item* item_ = nullptr;
  double value_ = 0;
};

}  // namespace plumbline
