// Linux interfaces that Swift's Glibc module does not show: epoll, eventfd, socket calls for whole
// datagrams, Unix and Bluetooth socket addresses.
//
// Functions named `clinux_` return the result of the system call, or -errno: code that runs between
// the call and the check cannot overwrite the error.
#pragma once

// Do not define _GNU_SOURCE here: Swift reads the same C headers through its Glibc module without
// it, and the two must agree. Functions that need it are in CLinux.c.

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <malloc.h>
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

#include "CLinuxBluetooth.h"
#include "CLinuxEpoll.h"
#include "CLinuxManagement.h"
#include "CLinuxMulticast.h"
#include "CLinuxProcess.h"
#include "CLinuxSocket.h"
#include "CLinuxSignal.h"
#include "CLinuxStamps.h"
#include "CLinuxTermination.h"
#include "CLinuxThread.h"

// Bytes that the process may still map under its limits RLIMIT_AS and RLIMIT_DATA; INT64_MAX without
// limits, and if the kernel does not tell what it has.
int64_t clinux_memory_left(void);
