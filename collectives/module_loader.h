// Finds and opens the modules of engines (collectives/engine_module.h): shared objects beside the
// program, or where `cmake --install` puts them. A module stays open once it is: opening it again
// costs a look at the loader's list. What its library does to signals when it is loaded is undone.
// Thread-safe.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "collectives/engine_module.h"
#include "core/error.h"

namespace plumbline {

// Where this program looks, in this order.
std::vector<std::filesystem::path> module_folders();

// kUnsupported where there is none, where its library is not there, or where it is of another
// version of the interface.
Expected<EngineModule*> load_module(const std::string& engine);
// The same in other folders.
Expected<EngineModule*> load_module(std::span<const std::filesystem::path> folders,
                                    const std::string& engine);

// The dispositions of all signals as they were before; for around calls of libraries that install
// handlers of their own.
class KeptSignals {
 public:
  KeptSignals();
  ~KeptSignals();
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  struct Kept;
  std::vector<Kept> kept_;
};

}  // namespace plumbline
