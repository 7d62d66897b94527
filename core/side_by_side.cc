#include "core/side_by_side.h"

#include <system_error>
#include <thread>
#include <vector>

namespace plumbline {

void side_by_side(size_t count, const std::function<void(size_t)>& task) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    while (threads.size() < count) {
      threads.emplace_back([&task, i = threads.size()] { task(i); });
    }
  } catch (const std::system_error&) {
  }
  for (size_t i = threads.size(); i < count; ++i) task(i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace plumbline
