# plumbline for Homebrew, built from source. Any clone of this repository is a tap (docs/install.md):
#   brew tap plumbline/local /path/to/the/clone
#   brew install --HEAD plumbline/local/plumbline
# What it depends on is the groups build and run of scripts/packages.sh, less what tests need
# (tests/house/packages_test.py). It was never run: no Mac was at hand.
class Plumbline < Formula
  desc "Network diagnostics and collective benchmarks for small clusters"
  license "MIT"
  # The tap is the whole repository, so the sources are beside this file, wherever it was cloned from.
  head "file://#{File.expand_path("..", __dir__)}", using: :git, branch: "main"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "highway" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "tl-expected" => :build
  depends_on "fmt"
  depends_on "gnuplot"
  depends_on "spdlog"

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DPLUMBLINE_TESTS=OFF",
           "-DPLUMBLINE_BENCHMARKS=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    system bin/"plumbline", "selftest"
  end
end
