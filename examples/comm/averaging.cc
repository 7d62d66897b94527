#include "averaging.h"

#include <plumbline/communicator.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;
constexpr auto kPatience = 20s;

// A file for each rank's endpoint. It gets its name when it is whole, so that nobody reads half.
plumbline::ErrorOr<std::vector<std::string>> exchange_files(const fs::path& folder, int rank,
                                                            int size, const std::string& mine) {
  const auto file_of = [&](int of) { return folder / ("endpoint" + std::to_string(of)); };
  const fs::path unfinished = folder / ("unfinished" + std::to_string(rank));
  std::ofstream(unfinished, std::ios::binary) << mine;
  fs::rename(unfinished, file_of(rank));
  std::vector<std::string> all;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (static_cast<int>(all.size()) < size) {
    std::ifstream file(file_of(static_cast<int>(all.size())), std::ios::binary);
    if (file) {
      all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    } else if (std::chrono::steady_clock::now() > until) {
      return plumbline::Error{plumbline::ErrorCode::kTimeout,
                              "rank " + std::to_string(all.size()) + " has left no endpoint",
                              0,
                              "start all ranks",
                              {}};
    } else {
      std::this_thread::sleep_for(5ms);
    }
  }
  return all;
}

std::string average_in(plumbline::Communicator& group, std::vector<float>& values) {
  const plumbline::Done done = group.allreduce(values, plumbline::RedOp::kAvg).wait(kPatience);
  return done ? "" : done.error().message();
}

// In the group of those with the same colour. The sums and the number of those who have given
// something to them come in one operation.
std::string average_in_pair(plumbline::Communicator& group, std::vector<float>& values) {
  auto pair = group.split(group.rank() / 2);
  if (!pair) return pair.error().message();
  std::vector<float> givers = {1};
  const plumbline::Done done = (*pair)->allreduce_coalesced({values, givers}).wait(kPatience);
  if (!done) return done.error().message();
  for (float& value : values) value /= givers[0];
  return "";
}

using InGroup = std::string(plumbline::Communicator& group, std::vector<float>& values);

// What went wrong on any of `size` ranks that are threads.
std::string in_threads(int size, std::vector<std::vector<float>>& values, InGroup* work) {
  auto ranks = plumbline::local_ranks(size);
  if (!ranks) return ranks.error().message();
  std::vector<std::string> wrong(ranks->size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks->size(); ++i) {
    threads.emplace_back([&, i] { wrong[i] = work((*ranks)[i], values[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  std::string all;
  for (const std::string& one : wrong) all += one;
  return all;
}

}  // namespace

std::string average(int rank, int size, const std::string& folder, std::vector<float>& values) {
  auto group = plumbline::Communicator::connect(rank, size, [&](const std::string& mine) {
    return exchange_files(folder, rank, size, mine);
  });
  return group ? average_in(*group, values) : group.error().message();
}

std::string average_of_threads(int size, std::vector<std::vector<float>>& values) {
  return in_threads(size, values, average_in);
}

std::string average_of_pairs(int size, std::vector<std::vector<float>>& values) {
  return in_threads(size, values, average_in_pair);
}
