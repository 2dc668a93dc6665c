import Glibc

extension LinkError: CustomStringConvertible {
  /// What failed, on which endpoint, and why.
  public var description: String {
    "cannot \(action) \(endpoint)\(endpoint.hasSuffix(":") ? "" : ":") \(cause)"
  }

  /// How a person can resolve the error, if there is a likely way.
  public var hint: String? {
    switch reason {
    case .system(let errno):
      (isBluetooth ? bluetoothExplanation(errno) : unixExplanation(errno)).hint
    case .pathTooLong: "use a shorter path, for instance in /tmp or $XDG_RUNTIME_DIR"
    case .alreadyListening: "stop that process or choose another path"
    case .belongsToOther: "choose another path"
    case .notASocket where operation != .adopt: "remove the file or choose another path"
    case .noPublicAddress: "name the random address that the adapter uses"
    default: nil
    }
  }

  private var action: String {
    switch operation {
    case .open: "open a socket for"
    case .connect: "connect to"
    case .listen: "listen on"
    case .accept: "accept a connection on"
    case .adopt: "use"
    case .send: "send to"
    case .receive: "receive from"
    case .raiseSecurity: "raise the security of the link to"
    case .option(let name): "set \(name) for"
    }
  }

  private var isBluetooth: Bool { endpoint.hasPrefix("le:") }

  private var cause: String {
    switch reason {
    case .system(let errno):
      let text = String(cString: strerror(errno))
      let explanation = isBluetooth ? bluetoothExplanation(errno) : unixExplanation(errno)
      return explanation.cause.map { "\($0) (\(text))" } ?? text
    case .closed:
      return "the link was closed by this end"
    case .invalidPath:
      return "invalid path: it must not be empty or contain a zero byte"
    case .pathTooLong(let length, let limit):
      return "path too long: \(length) bytes (the limit is \(limit))"
    case .alreadyListening:
      return "another process listens there"
    case .belongsToOther(let user):
      return "the socket there belongs to user \(user), whether a process listens or not"
    case .notASocket(let found):
      return "it is \(found), not a socket"
    case .wrongSocket(let found):
      return "it is \(found); a connected SOCK_SEQPACKET socket is required"
    case .noPublicAddress:
      return "the adapter has no public address"
    case .notEnhanced:
      return "it is not an enhanced bearer"
    case .pduTooLong(let length, let limit):
      return "PDU too long: \(length) octets (the limit is \(limit))"
    }
  }

  /// What an errno means here, beyond the system's text for it, and the remedy.
  private typealias Explanation = (cause: String?, hint: String?)

  private func unixExplanation(_ errno: Int32) -> Explanation {
    switch (operation, errno) {
    case (.connect, ENOENT): ("no such socket", "start the server first, or check the path")
    case (.connect, ECONNREFUSED):
      ("nothing listens on the socket", "its server has ended; start it again")
    case (.connect, EAGAIN): ("the server's connection queue is full", "try again in a moment")
    case (.connect, EPROTOTYPE): ("it is not a SOCK_SEQPACKET socket", nil)
    case (.connect, EACCES):
      (nil, "the socket must be writable and its directories searchable for this user")
    case (.listen, EACCES), (.listen, EPERM):
      (nil, "the directory must be writable for this user")
    case (.option, EPERM): (nil, "name a group of which this user is a member")
    case (.listen, ENOENT): ("no such directory", "create the directory first")
    case (.adopt, EBADF):
      ("no such descriptor was inherited", "open it in the parent process without close-on-exec")
    case (.send, EPIPE), (.send, ECONNRESET), (.receive, ECONNRESET):
      ("the link was closed by the other end", nil)
    case (.send, EMSGSIZE): ("the PDU is longer than the socket's send buffer", nil)
    // On the virtual air.
    case (.raiseSecurity, EACCES):
      ("the peer refused to pair, or an end cannot show or enter what the other requires", nil)
    default: descriptorExplanation(errno)
    }
  }

  private func descriptorExplanation(_ errno: Int32) -> Explanation {
    switch errno {
    case EMFILE: ("the process is out of descriptors", "raise the limit (ulimit -n)")
    case ENFILE: ("the machine is out of descriptors", "raise the limit (sysctl fs.file-max)")
    default: (nil, nil)
    }
  }

  private func bluetoothExplanation(_ errno: Int32) -> Explanation {
    switch (operation, errno) {
    case (_, EAFNOSUPPORT):
      (
        "the kernel has no Bluetooth, or the process is in a network namespace of its own",
        "sudo modprobe bluetooth; run a container with the host's network; or use an endpoint that"
          + " begins with air:, which needs no Bluetooth"
      )
    case (_, EPROTONOSUPPORT), (_, ESOCKTNOSUPPORT):
      ("the kernel's Bluetooth lacks L2CAP", "sudo modprobe bluetooth")
    case (_, ENODEV): ("no such adapter", nil)
    case (.option("BT_MODE"), ENOPROTOOPT), (.connect, ENOTSUP):
      (
        "the kernel's enhanced channels are switched off",
        "echo 1 | sudo tee /sys/module/bluetooth/parameters/enable_ecred; without them ATT uses its"
          + " fixed channel"
      )
    case (.listen, EADDRINUSE): ("another socket is bound there", nil)
    case (.listen, EACCES): ("CAP_NET_BIND_SERVICE is missing", nil)
    case (_, EHOSTUNREACH), (_, ENETDOWN): ("no adapter is powered on", nil)
    case (.connect, EBUSY):
      (
        "another socket holds the ATT channel to this peer", "stop bluetoothd or the other program"
      )
    case (.connect, ECONNREFUSED), (.connect, EINPROGRESS), (.connect, ETIMEDOUT):
      (
        "the peer did not answer",
        "check that it advertises, is in range, and has this kind of address: add /random, or leave"
          + " it out"
      )
    case (.connect, EHOSTDOWN): ("the peer did not answer in time", nil)
    case (.connect, EINVAL): (nil, "check the kind of the address: it must be that of an LE peer")
    case (_, EBADE):
      (
        "the peer does not have the key of an earlier pairing",
        "remove the bond here too, and pair again"
      )
    case (_, EACCES):
      (
        "pairing failed, or the peer has removed an earlier bond",
        "remove the bond here too, and pair again"
      )
    case (.raiseSecurity, EINVAL):
      ("the link already has that level, or the kernel has no keys for it", nil)
    case (.send, EMSGSIZE):
      ("the PDU is longer than the channel carries (672 octets unless negotiated)", nil)
    case (.send, ENOTCONN): ("the link has ended", nil)
    case (_, ETIMEDOUT): ("the link was lost: supervision timeout", nil)
    case (_, ECONNRESET): ("the peer has disconnected", nil)
    case (_, ECONNABORTED): ("this machine has disconnected", nil)
    case (_, EPERM): ("CAP_NET_ADMIN is missing", nil)
    default: descriptorExplanation(errno)
    }
  }
}
