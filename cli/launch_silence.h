// `plumbline launch --on-silence`: when no rank has written for so long, the launch is looked at as
// `doctor --job` would, once, beside the ranks, which go on. Used by one thread; the look runs in
// one of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/options/options.h"
#include "runs/hosts/reach.h"
#include "scenarios/scenario.h"

namespace plumbline {

class SilenceWatch {
 public:
  struct Subject {
    std::string run_id, file;  // of the launch; of its hosts
    std::vector<ScenarioHost> hosts;
    const OptionSet* options = nullptr;  // outlive the watch
    const Reach* reach = nullptr;
    int width = 0;  // of the terminal
  };
  // `after_ns` 0: never looks.
  SilenceWatch(Subject subject, int64_t after_ns);
  SilenceWatch(const SilenceWatch&) = delete;
  SilenceWatch& operator=(const SilenceWatch&) = delete;
  // A look that is going on ends soon.
  ~SilenceWatch();

  // A rank has written something.
  void heard();
  // To be called again and again: begins the look in time, and gives its verdict, once.
  std::optional<std::string> verdict();

 private:
  std::string look() const;

  Subject subject_;
  int64_t after_ns_;
  int64_t heard_ns_;
  bool told_ = false;
  std::string text_;  // written by the thread before it is done
  std::atomic<bool> done_{false}, give_up_{false};
  std::thread looking_;
};

}  // namespace plumbline
