#include "transport/tcp/bulk_stream.h"

#include <utility>

#include "transport/tcp/striped_stream.h"

namespace plumbline {
namespace {

class BulkStream : public ByteStream {
 public:
  BulkStream(std::unique_ptr<ByteStream> main, std::unique_ptr<ByteStream> bulk)
      : main_(std::move(main)), bulk_(std::move(bulk)) {}

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    return main_->write_some(buffers);
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    return main_->read_some(buffers);
  }
  ByteStream* bulk() override { return bulk_.get(); }
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    return main_->add_to(poll, reads, writes);
  }
  ByteStream* settled() override { return main_.get(); }
  StreamStats stats() const override { return sum_of({main_->stats(), bulk_->stats()}); }
  void close() override {
    main_->close();
    bulk_->close();
  }

 private:
  const std::unique_ptr<ByteStream> main_, bulk_;
};

}  // namespace

std::unique_ptr<ByteStream> make_bulk_stream(std::unique_ptr<ByteStream> main,
                                             std::unique_ptr<ByteStream> bulk) {
  return std::make_unique<BulkStream>(std::move(main), std::move(bulk));
}

}  // namespace plumbline
