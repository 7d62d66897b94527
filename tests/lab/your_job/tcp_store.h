// Keys and values at MASTER_ADDR:MASTER_PORT, kept by rank 0, for gloo's rendezvous: as torch's
// TCPStore a job has one port that all must reach, on any address of rank 0's host. Each request is
// one connection that stays: a word of one byte, lengths in 4 bytes, the bytes.
#pragma once

#include <gloo/rendezvous/store.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace your_job {

class TcpStoreServer {
 public:
  // Throws std::runtime_error when the port is taken.
  explicit TcpStoreServer(int port);
  ~TcpStoreServer();

  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;

 private:
  void accept_all();
  void serve(int socket);

  int listener_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
  std::thread thread_;
};

class TcpStore : public gloo::rendezvous::Store {
 public:
  // Tries again until there is an answer or the time is over; then throws.
  TcpStore(const std::string& host, const std::string& port, std::chrono::milliseconds timeout);
  ~TcpStore() override;

  TcpStore(const TcpStore&) = delete;
  TcpStore& operator=(const TcpStore&) = delete;

  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;

 private:
  std::string ask(char what, const std::string& key, const std::string& value);

  int socket_ = -1;
};

}  // namespace your_job
