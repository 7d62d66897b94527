// average RANK SIZE FOLDER: one rank of SIZE that were started with the same folder.
// average SIZE: that many ranks as threads. average SIZE pairs: each two of them by themselves.
// Rank r brings the numbers r and 2 r; each prints the means.
#include <cstdlib>
#include <iostream>

#include "averaging.h"

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: average RANK SIZE FOLDER | average SIZE [pairs]\n";
    return 1;
  }
  const auto numbers_of = [](int rank) {
    return std::vector<float>{static_cast<float>(rank), static_cast<float>(2 * rank)};
  };
  std::vector<std::vector<float>> values;
  std::string wrong;
  if (argc < 4) {
    const int size = std::atoi(argv[1]);
    for (int rank = 0; rank < size; ++rank) values.push_back(numbers_of(rank));
    wrong = argc == 2 ? average_of_threads(size, values) : average_of_pairs(size, values);
  } else {
    values.push_back(numbers_of(std::atoi(argv[1])));
    wrong = average(std::atoi(argv[1]), std::atoi(argv[2]), argv[3], values.front());
  }
  if (!wrong.empty()) {
    std::cerr << wrong << "\n";
    return 2;
  }
  for (const std::vector<float>& means : values) std::cout << means[0] << " " << means[1] << "\n";
  return 0;
}
