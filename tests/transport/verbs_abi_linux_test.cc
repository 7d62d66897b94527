// The structures of transport/rdma/verbs_abi.h against those of libibverbs-dev, size by size and
// place by place.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include "transport/rdma/verbs_abi.h"

namespace plumbline {
namespace {

#define SAME_SIZE(ours, theirs) EXPECT_EQ(sizeof(ours), sizeof(theirs)) << #theirs
// NOLINTBEGIN(bugprone-sizeof-expression): of pointers, too
#define SAME_PLACE(ours, our_field, theirs, field)                         \
  EXPECT_EQ(offsetof(ours, our_field), offsetof(theirs, field)) << #field; \
  EXPECT_EQ(sizeof(ours::our_field), sizeof(theirs::field)) << #field

TEST(VerbsAbi, WhatIsHandedInAndOutHasTheLibrarysLayout) {
  SAME_SIZE(VerbsGid, ibv_gid);
  SAME_SIZE(VerbsDomain, ibv_pd);
  SAME_SIZE(VerbsRegion, ibv_mr);
  SAME_PLACE(VerbsRegion, local_key, ibv_mr, lkey);
  SAME_PLACE(VerbsRegion, remote_key, ibv_mr, rkey);
  SAME_SIZE(VerbsPiece, ibv_sge);
  SAME_SIZE(VerbsQpLimits, ibv_qp_cap);
  SAME_PLACE(VerbsQpLimits, inline_bytes, ibv_qp_cap, max_inline_data);
  SAME_SIZE(VerbsQpRequest, ibv_qp_init_attr);
  SAME_PLACE(VerbsQpRequest, limits, ibv_qp_init_attr, cap);
  SAME_PLACE(VerbsQpRequest, type, ibv_qp_init_attr, qp_type);
  SAME_PLACE(VerbsQpRequest, all_signalled, ibv_qp_init_attr, sq_sig_all);
  SAME_SIZE(VerbsAddress, ibv_ah_attr);
  SAME_PLACE(VerbsAddress, own_gid_index, ibv_ah_attr, grh.sgid_index);
  SAME_PLACE(VerbsAddress, hop_limit, ibv_ah_attr, grh.hop_limit);
  SAME_PLACE(VerbsAddress, lid, ibv_ah_attr, dlid);
  SAME_PLACE(VerbsAddress, is_global, ibv_ah_attr, is_global);
  SAME_PLACE(VerbsAddress, port, ibv_ah_attr, port_num);
  SAME_SIZE(VerbsQpAttributes, ibv_qp_attr);
  SAME_PLACE(VerbsQpAttributes, path_mtu, ibv_qp_attr, path_mtu);
  SAME_PLACE(VerbsQpAttributes, receive_psn, ibv_qp_attr, rq_psn);
  SAME_PLACE(VerbsQpAttributes, send_psn, ibv_qp_attr, sq_psn);
  SAME_PLACE(VerbsQpAttributes, peer_qp, ibv_qp_attr, dest_qp_num);
  SAME_PLACE(VerbsQpAttributes, access, ibv_qp_attr, qp_access_flags);
  SAME_PLACE(VerbsQpAttributes, address, ibv_qp_attr, ah_attr);
  SAME_PLACE(VerbsQpAttributes, pkey_index, ibv_qp_attr, pkey_index);
  SAME_PLACE(VerbsQpAttributes, reads_out, ibv_qp_attr, max_rd_atomic);
  SAME_PLACE(VerbsQpAttributes, reads_in, ibv_qp_attr, max_dest_rd_atomic);
  SAME_PLACE(VerbsQpAttributes, rnr_timer, ibv_qp_attr, min_rnr_timer);
  SAME_PLACE(VerbsQpAttributes, port, ibv_qp_attr, port_num);
  SAME_PLACE(VerbsQpAttributes, timeout, ibv_qp_attr, timeout);
  SAME_PLACE(VerbsQpAttributes, retries, ibv_qp_attr, retry_cnt);
  SAME_PLACE(VerbsQpAttributes, rnr_retries, ibv_qp_attr, rnr_retry);
  SAME_SIZE(VerbsSend, ibv_send_wr);
  SAME_PLACE(VerbsSend, pieces, ibv_send_wr, sg_list);
  SAME_PLACE(VerbsSend, piece_count, ibv_send_wr, num_sge);
  SAME_PLACE(VerbsSend, opcode, ibv_send_wr, opcode);
  SAME_PLACE(VerbsSend, flags, ibv_send_wr, send_flags);
  SAME_PLACE(VerbsSend, immediate, ibv_send_wr, imm_data);
  SAME_PLACE(VerbsSend, remote_address, ibv_send_wr, wr.rdma.remote_addr);
  SAME_PLACE(VerbsSend, remote_key, ibv_send_wr, wr.rdma.rkey);
  SAME_SIZE(VerbsReceive, ibv_recv_wr);
  SAME_PLACE(VerbsReceive, piece_count, ibv_recv_wr, num_sge);
  SAME_SIZE(VerbsCompletion, ibv_wc);
  SAME_PLACE(VerbsCompletion, status, ibv_wc, status);
  SAME_PLACE(VerbsCompletion, bytes, ibv_wc, byte_len);
  SAME_PLACE(VerbsCompletion, immediate, ibv_wc, imm_data);
  SAME_PLACE(VerbsCompletion, qp, ibv_wc, qp_num);
}

TEST(VerbsAbi, WhatTheLibraryMakesIsReadWhereItIs) {
  SAME_PLACE(VerbsContext, poll_cq, ibv_context, ops.poll_cq);
  SAME_PLACE(VerbsContext, request_notification, ibv_context, ops.req_notify_cq);
  SAME_PLACE(VerbsContext, post_send, ibv_context, ops.post_send);
  SAME_PLACE(VerbsContext, post_receive, ibv_context, ops.post_recv);
  SAME_PLACE(VerbsContext, command_fd, ibv_context, cmd_fd);
  SAME_PLACE(VerbsContext, event_fd, ibv_context, async_fd);
  SAME_PLACE(VerbsChannel, fd, ibv_comp_channel, fd);
  SAME_PLACE(VerbsCompletionQueue, channel, ibv_cq, channel);
  SAME_PLACE(VerbsCompletionQueue, entries, ibv_cq, cqe);
  SAME_PLACE(VerbsQueuePair, number, ibv_qp, qp_num);
  SAME_PLACE(VerbsQueuePair, state, ibv_qp, state);
  // Filled in by the library, which may know more than we ask for: never less room than it takes.
  EXPECT_GE(sizeof(VerbsPort), sizeof(ibv_port_attr));
  SAME_PLACE(VerbsPort, state, ibv_port_attr, state);
  SAME_PLACE(VerbsPort, active_mtu, ibv_port_attr, active_mtu);
  SAME_PLACE(VerbsPort, gids, ibv_port_attr, gid_tbl_len);
  SAME_PLACE(VerbsPort, max_message, ibv_port_attr, max_msg_sz);
  SAME_PLACE(VerbsPort, lid, ibv_port_attr, lid);
  SAME_PLACE(VerbsPort, link_layer, ibv_port_attr, link_layer);
  EXPECT_GE(sizeof(VerbsDeviceLimits), sizeof(ibv_device_attr));
  SAME_PLACE(VerbsDeviceLimits, vendor, ibv_device_attr, vendor_id);
  SAME_PLACE(VerbsDeviceLimits, max_qps, ibv_device_attr, max_qp);
  SAME_PLACE(VerbsDeviceLimits, max_requests, ibv_device_attr, max_qp_wr);
  SAME_PLACE(VerbsDeviceLimits, max_pieces, ibv_device_attr, max_sge);
  SAME_PLACE(VerbsDeviceLimits, max_completions, ibv_device_attr, max_cqe);
  SAME_PLACE(VerbsDeviceLimits, max_regions, ibv_device_attr, max_mr);
  SAME_PLACE(VerbsDeviceLimits, max_domains, ibv_device_attr, max_pd);
  SAME_PLACE(VerbsDeviceLimits, ack_delay, ibv_device_attr, local_ca_ack_delay);
  SAME_PLACE(VerbsDeviceLimits, ports, ibv_device_attr, phys_port_cnt);
}

// NOLINTEND(bugprone-sizeof-expression)

TEST(VerbsAbi, NumbersAreTheLibrarys) {
  EXPECT_EQ(int{kPortActive}, int{IBV_PORT_ACTIVE});
  EXPECT_EQ(int{kReliable}, int{IBV_QPT_RC});
  EXPECT_EQ(int{kUnreliable}, int{IBV_QPT_UC});
  EXPECT_EQ(int{kQpInit}, int{IBV_QPS_INIT});
  EXPECT_EQ(int{kQpReceives}, int{IBV_QPS_RTR});
  EXPECT_EQ(int{kQpSends}, int{IBV_QPS_RTS});
  EXPECT_EQ(int{kQpError}, int{IBV_QPS_ERR});
  EXPECT_EQ(int{kSend}, int{IBV_WR_SEND});
  EXPECT_EQ(int{kRdmaRead}, int{IBV_WR_RDMA_READ});
  EXPECT_EQ(int{kRdmaWriteImmediate}, int{IBV_WR_RDMA_WRITE_WITH_IMM});
  EXPECT_EQ(unsigned{kSignalled}, unsigned{IBV_SEND_SIGNALED});
  EXPECT_EQ(unsigned{kInline}, unsigned{IBV_SEND_INLINE});
  EXPECT_EQ(int{kLocalWrite}, int{IBV_ACCESS_LOCAL_WRITE});
  EXPECT_EQ(int{kRemoteWrite}, int{IBV_ACCESS_REMOTE_WRITE});
  EXPECT_EQ(int{kRemoteRead}, int{IBV_ACCESS_REMOTE_READ});
  EXPECT_EQ(int{kMaskState}, int{IBV_QP_STATE});
  EXPECT_EQ(int{kMaskAccess}, int{IBV_QP_ACCESS_FLAGS});
  EXPECT_EQ(int{kMaskPkey}, int{IBV_QP_PKEY_INDEX});
  EXPECT_EQ(int{kMaskPort}, int{IBV_QP_PORT});
  EXPECT_EQ(int{kMaskAddress}, int{IBV_QP_AV});
  EXPECT_EQ(int{kMaskPathMtu}, int{IBV_QP_PATH_MTU});
  EXPECT_EQ(int{kMaskTimeout}, int{IBV_QP_TIMEOUT});
  EXPECT_EQ(int{kMaskRetries}, int{IBV_QP_RETRY_CNT});
  EXPECT_EQ(int{kMaskRnrRetries}, int{IBV_QP_RNR_RETRY});
  EXPECT_EQ(int{kMaskReceivePsn}, int{IBV_QP_RQ_PSN});
  EXPECT_EQ(int{kMaskReadsOut}, int{IBV_QP_MAX_QP_RD_ATOMIC});
  EXPECT_EQ(int{kMaskRnrTimer}, int{IBV_QP_MIN_RNR_TIMER});
  EXPECT_EQ(int{kMaskSendPsn}, int{IBV_QP_SQ_PSN});
  EXPECT_EQ(int{kMaskReadsIn}, int{IBV_QP_MAX_DEST_RD_ATOMIC});
  EXPECT_EQ(int{kMaskPeerQp}, int{IBV_QP_DEST_QPN});
}

}  // namespace
}  // namespace plumbline
