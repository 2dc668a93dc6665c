// The kernel's time stamps of PDUs (SO_TIMESTAMPING). Included by CLinux.h.
//
// The constants are declared here, because Debian 12's headers lack the newest. CLinux.c compares the others
// with <linux/net_tstamp.h> and <linux/errqueue.h>.
#pragma once

enum {
  CLINUX_STAMP_TX_SOFTWARE = 1 << 1,     // SOF_TIMESTAMPING_TX_SOFTWARE
  CLINUX_STAMP_RX_SOFTWARE = 1 << 3,     // SOF_TIMESTAMPING_RX_SOFTWARE
  CLINUX_STAMP_SOFTWARE = 1 << 4,        // SOF_TIMESTAMPING_SOFTWARE
  CLINUX_STAMP_OPT_ID = 1 << 7,          // SOF_TIMESTAMPING_OPT_ID
  CLINUX_STAMP_OPT_TSONLY = 1 << 11,     // SOF_TIMESTAMPING_OPT_TSONLY
  CLINUX_STAMP_TX_COMPLETION = 1 << 18,  // SOF_TIMESTAMPING_TX_COMPLETION, Linux 6.15
  CLINUX_STAMP_SENT = 0,                 // SCM_TSTAMP_SND
  CLINUX_STAMP_COMPLETED = 3,            // SCM_TSTAMP_COMPLETION, Linux 6.15
  CLINUX_STAMP_OTHER = -1,               // another message of the error queue
};

// Sets the stamps that the kernel makes, CLINUX_STAMP_* flags; 0 for none. EINVAL if it does not know one.
int clinux_set_stamps(int fd, int flags);

// As clinux_receive(), with the time at which the kernel received the PDU, in nanoseconds of
// CLOCK_MONOTONIC; 0 if it has no stamp.
ssize_t clinux_receive_stamped(int fd, void *bytes, size_t capacity, int64_t *moment);

// Takes a stamp of a sent PDU from the error queue, without blocking: 1, 0 if there is none, or -errno. The
// number of the PDU counts from 0, since the stamps were set. For L2CAP sockets of kernels that know
// CLINUX_STAMP_TX_COMPLETION: others ignore MSG_ERRQUEUE, and would take a received PDU.
int clinux_next_stamp(int fd, int *kind, uint32_t *number, int64_t *moment);
