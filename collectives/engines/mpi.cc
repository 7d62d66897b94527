// The module of an MPI: its nonblocking collectives, asked again and again whether they have ended,
// because a blocking one could not be given up when a rank is lost. Built once per MPI
// (mpi_start.h). Errors come back as codes (MPI_ERRORS_RETURN); the process is never ended.
#include "collectives/engines/mpi_start.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace plumbline {
namespace {

constexpr int kTag = 1;

MPI_Datatype type_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return MPI_FLOAT;
    case DType::kF64:
      return MPI_DOUBLE;
    case DType::kI32:
      return MPI_INT32_T;
    case DType::kI64:
      return MPI_INT64_T;
    case DType::kU8:
      return MPI_UINT8_T;
    case DType::kBool:
      return MPI_C_BOOL;
    case DType::kF16:
    case DType::kBf16:
      break;
  }
  return MPI_DATATYPE_NULL;
}

MPI_Op reduction_of(DType dtype, RedOp redop) {
  if (dtype == DType::kBool) return redop_on_truth(redop) == RedOp::kMax ? MPI_LOR : MPI_LAND;
  switch (redop) {
    case RedOp::kSum:
      return MPI_SUM;
    case RedOp::kMin:
      return MPI_MIN;
    case RedOp::kMax:
      return MPI_MAX;
    case RedOp::kProduct:
      return MPI_PROD;
    case RedOp::kAvg:
      break;
  }
  return MPI_OP_NULL;
}

class MpiWork : public ModuleWork {
 public:
  explicit MpiWork(const ModuleOperation& operation)
      : q_(operation),
        count_(static_cast<int>(q_.count)),
        type_(type_of(q_.dtype)),
        reduction_(reduction_of(q_.dtype, q_.redop)) {
    MPI_Comm_rank(all_, &rank_);
    MPI_Comm_size(all_, &size_);
  }

  Status start(const void* in, void* out) override {
    in_ = in;
    out_ = out;
    phase_ = 0;
    return checked(begin());
  }

  Expected<bool> poll(Deadline /*deadline*/) override {
    int ended = 0;
    const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &ended,
                                 MPI_STATUSES_IGNORE);
    if (const Status fine = checked(code); !fine) return fail(fine.error());
    if (ended == 0) return false;
    if (!goes_on()) return true;
    ++phase_;
    if (const Status fine = checked(begin()); !fine) return fail(fine.error());
    return false;
  }

  std::string algorithm() const override {
    switch (q_.op) {
      case Op::kAllreduce:
        return "MPI_Iallreduce";
      case Op::kReduceScatter:
        return "MPI_Ireduce_scatter_block";
      case Op::kAllgather:
        return "MPI_Iallgather";
      case Op::kBroadcast:
        return "MPI_Ibcast";
      case Op::kReduce:
        return "MPI_Ireduce";
      case Op::kGather:
        return "MPI_Igather";
      case Op::kScatter:
        return "MPI_Iscatter";
      case Op::kAlltoall:
        return "MPI_Ialltoall";
      case Op::kBarrier:
        return "MPI_Ibarrier";
      default:
        return "MPI_Isend";
    }
  }

 private:
  static Status checked(int code) {
    if (code == MPI_SUCCESS) return {};
    return fail(mpi_error(code, "the operation"));
  }

  int begin() {
    const bool root = rank_ == q_.root;
    const void* in = q_.in_place ? MPI_IN_PLACE : in_;
    MPI_Request* request = &requests_[0];
    switch (q_.op) {
      case Op::kAllreduce:
        return MPI_Iallreduce(in, out_, count_, type_, reduction_, all_, request);
      case Op::kReduceScatter:
        return MPI_Ireduce_scatter_block(in, out_, count_, type_, reduction_, all_, request);
      case Op::kAllgather:
        return MPI_Iallgather(in, count_, type_, out_, count_, type_, all_, request);
      case Op::kBroadcast:
        return broadcast(request);
      case Op::kReduce:
        return MPI_Ireduce(root ? in : in_, out_, count_, type_, reduction_, q_.root, all_,
                           request);
      case Op::kGather:
        return MPI_Igather(root ? in : in_, count_, type_, out_, count_, type_, q_.root, all_,
                           request);
      case Op::kScatter:
        return MPI_Iscatter(in_, count_, type_, root && q_.in_place ? MPI_IN_PLACE : out_, count_,
                            type_, q_.root, all_, request);
      case Op::kAlltoall:
        return MPI_Ialltoall(in_, count_, type_, out_, count_, type_, all_, request);
      case Op::kBarrier:
        return MPI_Ibarrier(all_, request);
      case Op::kPingpong:
        return there_and_back(count_);
      case Op::kStream:
        return there_and_back(0);
      case Op::kBidirectional:
        return rank_ > 1 ? MPI_SUCCESS : swap(1 - rank_, 1 - rank_);
      case Op::kSendrecv:
        return swap((rank_ + 1) % size_, (rank_ + size_ - 1) % size_);
    }
    return MPI_ERR_OP;
  }

  // MPI broadcasts one array; out of place, the root's own copy is part of the operation.
  int broadcast(MPI_Request* request) {
    if (rank_ != q_.root || q_.in_place) {
      return MPI_Ibcast(out_, count_, type_, q_.root, all_, request);
    }
    std::memcpy(out_, in_, q_.count * q_.width);
    return MPI_Ibcast(const_cast<void*>(in_), count_, type_, q_.root, all_, request);
  }

  int send(const void* data, int count, int to, size_t which) {
    return MPI_Isend(data, count, type_, to, kTag, all_, &requests_[which]);
  }
  int receive(void* data, int count, int from, size_t which) {
    return MPI_Irecv(data, count, type_, from, kTag, all_, &requests_[which]);
  }
  int swap(int to, int from) {
    const int code = receive(out_, count_, from, 1);
    return code != MPI_SUCCESS ? code : send(in_, count_, to, 0);
  }
  // Rank 0 to 1 in phase 0, so many elements back in phase 1.
  int there_and_back(int back) {
    if (rank_ > 1) return MPI_SUCCESS;
    if (rank_ == 0) return phase_ == 0 ? send(in_, count_, 1, 0) : receive(out_, back, 1, 0);
    return phase_ == 0 ? receive(out_, count_, 0, 0) : send(out_, back, 0, 0);
  }
  bool goes_on() const {
    const bool answered = q_.op == Op::kPingpong || q_.op == Op::kStream;
    return answered && phase_ == 0 && rank_ <= 1;
  }

  const ModuleOperation q_;
  const int count_;
  const MPI_Datatype type_;
  const MPI_Op reduction_;
  const MPI_Comm all_ = MPI_COMM_WORLD;
  int rank_ = 0, size_ = 1;
  const void* in_ = nullptr;
  void* out_ = nullptr;
  int phase_ = 0;
  std::array<MPI_Request, 2> requests_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

class MpiEngine : public ModuleEngine {
 public:
  Expected<std::unique_ptr<ModuleWork>> prepare(const ModuleOperation& operation) override {
    return std::make_unique<MpiWork>(operation);
  }
  std::string library() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    std::string words;
    for (const char c : std::string(text.data(), static_cast<size_t>(length))) {
      if (c == ',' || c == '\n') break;
      const bool space = c == ' ' || c == '\t';
      if (!space || (!words.empty() && words.back() != ' ')) words += space ? ' ' : c;
    }
    return words;
  }
  std::string transport() const override { return mpi_transport(); }
  void broken() override {}  // it is closed with its process
};

class MpiModule : public EngineModule {
 public:
  std::string unavailable() const override { return mpi_unavailable(); }
  bool waits() const override { return false; }

  std::string unsupported(const ModuleOperation& operation, int ranks) const override {
    if (type_of(operation.dtype) == MPI_DATATYPE_NULL) return "MPI has no such element type";
    const bool reduces = operation.op == Op::kAllreduce || operation.op == Op::kReduce ||
                         operation.op == Op::kReduceScatter;
    if (reduces && operation.redop == RedOp::kAvg) return "MPI has no average";
    if (operation.op == Op::kReduceScatter && operation.in_place) {
      return "MPI leaves the result of a reduce_scatter in place at the start of the array, not at "
             "this rank's part";
    }
    if (operation.count > static_cast<uint64_t>(std::numeric_limits<int>::max())) {
      return "MPI counts elements with 31 bits";
    }
    return mpi_unsupported(ranks);
  }

  Expected<std::unique_ptr<ModuleEngine>> open(ModuleHost& host, Deadline deadline) override {
    int up = 0;
    MPI_Initialized(&up);
    if (up == 0) {
      if (const Status started = start_mpi(host, deadline); !started) return fail(started.error());
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank = -1, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != host.rank() || size != host.size()) {
      return fail(ErrorCode::kMismatch,
                  "MPI takes this rank for " + std::to_string(rank) + " of " + std::to_string(size),
                  "start plumbline anew for another number of ranks");
    }
    return std::make_unique<MpiEngine>();
  }
};

}  // namespace
}  // namespace plumbline

uint32_t plumbline_engine_module_version() { return plumbline::kEngineModuleVersion; }

plumbline::EngineModule* plumbline_engine_module() {
  static plumbline::MpiModule module;
  return &module;
}
