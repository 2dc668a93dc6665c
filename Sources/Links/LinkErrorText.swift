import Glibc

/// What a person reads: what failed, why, and what to do next.
extension LinkError: CustomStringConvertible {
  public var description: String {
    "cannot \(what) \(endpoint)\(endpoint.hasSuffix(":") ? "" : ":") \(why)"
  }

  private var what: String {
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

  private var why: String {
    switch reason {
    case .system(let errno):
      let remedy = isBluetooth ? bluetoothRemedy(errno) : unixRemedy(errno)
      let text = String(cString: strerror(errno))
      return remedy.map { "\($0) (\(text))" } ?? text
    case .closed:
      return "this end has closed it"
    case .peerClosed:
      return "the other end has closed it"
    case .invalidPath:
      return "a path is wanted after unix:, without zero bytes"
    case .pathTooLong(let length, let limit):
      return "the path is \(length) bytes long and a Unix socket's at most \(limit); use a shorter "
        + "one, for instance in /tmp or $XDG_RUNTIME_DIR"
    case .alreadyListening:
      return "another process listens there; stop it or choose another path"
    case .notASocket(let found) where operation == .adopt:
      return "it is \(found), not a socket; a connected socket of type SOCK_SEQPACKET is wanted"
    case .notASocket(let found):
      return "there is \(found), not a socket; it was left alone, so remove it or choose another"
    case .wrongSocket(let found):
      return "it is \(found); a connected socket of type SOCK_SEQPACKET is wanted, one PDU a packet"
    case .noPublicAddress:
      return "the adapter has no public address; name the random address it uses"
    case .pduTooLong(let length, let limit):
      return "the PDU is \(length) bytes long and the link carries at most \(limit)"
    case .injected:
      return "a fault was injected"
    }
  }

  private func unixRemedy(_ errno: Int32) -> String? {
    switch (operation, errno) {
    case (.connect, ENOENT):
      "there is no such socket; start the server first, or check the path"
    case (.connect, ECONNREFUSED):
      "the socket is there but nobody listens; its server has ended, so start it again"
    case (.connect, EAGAIN):
      "the server's queue of connections is full; try again in a moment"
    case (.connect, EPROTOTYPE):
      "it is a socket of another type; SOCK_SEQPACKET is wanted, one PDU a packet"
    case (.connect, EACCES):
      "permission is missing; the socket must be writable for you and its folders searchable"
    case (.listen, EACCES), (.listen, EPERM):
      "permission is missing; the folder must be writable for you"
    case (.listen, EROFS):
      "the folder is on a file system that cannot be written"
    case (.listen, ENOENT):
      "the folder does not exist; create it first"
    case (.listen, EWOULDBLOCK):
      "others are opening sockets in the same folder; try again in a moment"
    case (_, ENOTDIR):
      "a part of the path is not a folder"
    case (.adopt, EBADF):
      "no such descriptor was inherited; open it in the shell or in the parent, without "
        + "close-on-exec"
    case (.send, EPIPE), (.send, ECONNRESET), (.receive, ECONNRESET):
      "the other end has closed it"
    case (.send, EMSGSIZE):
      "the PDU is longer than the socket carries; raise its send buffer"
    case (_, EMFILE): "the process is out of descriptors; raise the limit (ulimit -n)"
    case (_, ENFILE): "the machine is out of descriptors (sysctl fs.file-max)"
    default: nil
    }
  }

  private func bluetoothRemedy(_ errno: Int32) -> String? {
    switch (operation, errno) {
    case (_, EAFNOSUPPORT):
      "there is no Bluetooth here: the kernel has none (try: sudo modprobe bluetooth), or this "
        + "process is in a network namespace of its own (run the container with the host's "
        + "network); endpoints that begin with air: work without it"
    case (_, EPROTONOSUPPORT), (_, ESOCKTNOSUPPORT):
      "the kernel's Bluetooth lacks L2CAP (try: sudo modprobe bluetooth)"
    case (_, ENODEV): "there is no such adapter; see: atto adapters"
    case (.listen, EADDRINUSE): "another socket of this kind is bound there"
    case (_, EHOSTUNREACH), (_, ENETDOWN):
      "no adapter is there and powered; see: atto adapters"
    case (.connect, EBUSY):
      "another socket holds the ATT channel to this peer; stop bluetoothd or the other program"
    case (.connect, ECONNREFUSED), (.connect, EINPROGRESS), (.connect, ETIMEDOUT):
      "the peer did not answer: it does not advertise, is out of range, or has the other kind of "
        + "address (write /random after it, or leave that away)"
    case (.connect, EHOSTDOWN): "the peer did not answer in time"
    case (.connect, EINVAL):
      "the kernel takes only addresses of LE peers here; is the kind of address right?"
    case (_, EBADE):
      "the peer does not know the key of an earlier pairing; forget it here too (atto unpair "
        + "\(endpoint)) and pair again"
    case (_, EACCES):
      "pairing failed, or the peer has forgotten an earlier one; then forget it here too (atto "
        + "unpair \(endpoint)) and pair again"
    case (.raiseSecurity, EINVAL):
      "the link has that level already, or the kernel has no keys for it"
    case (.send, EMSGSIZE):
      "the PDU is longer than the channel carries (672 bytes unless negotiated)"
    case (.send, ENOTCONN): "the link is gone"
    case (_, ETIMEDOUT): "the link was lost: the peer has not been heard for too long"
    case (_, ECONNRESET): "the peer has disconnected"
    case (_, ECONNABORTED): "this machine has disconnected"
    case (_, EPERM): "permission is missing (CAP_NET_ADMIN)"
    case (_, EMFILE): "the process is out of descriptors; raise the limit (ulimit -n)"
    default: nil
    }
  }
}
