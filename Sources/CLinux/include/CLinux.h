// What Linux offers and Swift's Glibc module does not: epoll, eventfd, whole-datagram socket
// calls, Unix and Bluetooth socket addresses.
//
// Every function named `clinux_` returns what the system call returns, or -errno. A result that
// carries its own error cannot be spoilt by what runs between the call and a look at `errno`.
#pragma once

// _GNU_SOURCE must not be defined here: Swift reads the same C headers through its Glibc module
// without it, and the two would not agree. What needs it lives in CLinux.c.

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// Types and constants only: nothing here links libbluetooth.
#if __has_include(<bluetooth/bluetooth.h>)
#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/l2cap.h>
#else
#error "<bluetooth/bluetooth.h> is missing. Install it: sudo apt-get install libbluetooth-dev"
#endif

#include "CLinuxEpoll.h"
#include "CLinuxManagement.h"
#include "CLinuxOptions.h"
#include "CLinuxSocket.h"
#include "CLinuxSignal.h"
#include "CLinuxThread.h"
