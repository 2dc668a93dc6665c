import Glibc
public import Links

/// Why a radio could not do what it was asked.
public enum RadioError: Error, Hashable, Sendable {
  /// The folder of the virtual air cannot be used.
  case folder(path: String, FolderFault)
  /// A system call failed: what was to be done, and the `errno`.
  case system(String, errno: Int32)
  /// A name is empty, has more than 64 octets of UTF-8, or control characters.
  case invalidName(String)
  /// Another radio, in this process or another, has the address.
  case addressInUse(BluetoothAddress, name: String, process: Int32?)
  /// The adapter advertises already.
  case alreadyAdvertising
  /// Advertising data does not fit.
  case advertisingData(AdvertisingDataError)
  /// The advertising interval is not in ``AdvertisingParameters/intervalRange``.
  case invalidInterval(Duration)
  /// What follows the endpoint's colon is neither a name nor an address.
  case invalidEndpoint(String)
  /// Nobody of that name or address came on the air in time.
  case notFound(String, after: Duration?, onAir: [Bystander])
  /// Several radios have the local name.
  case ambiguous(String, [Bystander])
  /// The device was on the air but does not take connections.
  case notConnectable(BluetoothAddress)
  /// The peer answered the attempt to connect with a refusal.
  case refused(BluetoothAddress, DisconnectReason)
  /// The peer broke the rules while connecting.
  case protocolViolation(BluetoothAddress)
  /// The peer's radio exists but did not answer in time.
  case timedOut(BluetoothAddress, after: Duration)
  /// The caller's task was cancelled.
  case cancelled
  /// The adapter was closed.
  case closed
  /// A socket of the kernel's Bluetooth failed: there is none, the peer did not answer, ...
  case link(LinkError)
  /// The kernel's management refused; nil: about no adapter in particular.
  case management(ManagementOpcode, ManagementStatus, adapter: UInt16?)
  /// The kernel's management did not answer in time, or not in its own format.
  case managementSilent(ManagementOpcode, adapter: UInt16?)
  /// Pairing failed, or a key of an earlier pairing did not fit.
  case pairing(BluetoothAddress, PairingFailure)
  /// The peer did not open a channel.
  case channelRefused(BluetoothAddress, psm: UInt16, ChannelRefusal)
  /// There is no link to the peer, or it has ended.
  case notConnected(BluetoothAddress)
  /// All PSMs of this radio are in use: 128.
  case tooManyChannels
  /// There is no bond with this peer.
  case notPaired(BluetoothAddress)
  /// The kernel has no such adapter, or none at all.
  case noAdapter(String)
  /// The kernel's adapter was unplugged.
  case unplugged(String)
  /// The kernel's adapter is powered off, or its LE is.
  case poweredOff(String)
  /// The controller advertises as much at a time as it can.
  case tooManyAdvertisements(limit: Int)
  /// The radio cannot do this: what.
  case unsupported(String)

  /// A radio that was on the air while another was looked for.
  public struct Bystander: Hashable, Sendable, CustomStringConvertible {
    /// The radio.
    public let address: BluetoothAddress
    /// The radio's name or else its local name; empty if it has none.
    public let name: String
    /// Whether it takes connections.
    public let isConnectable: Bool

    /// For example `"Strap" (D4:13:F6:FB:AC:EF)`.
    public var description: String {
      let who = name.isEmpty ? "\(address.digits)" : "\(name.debugDescription) (\(address.digits))"
      return isConnectable ? who : who + ", not connectable"
    }
  }

  /// What is wrong with a folder.
  public enum FolderFault: Hashable, Sendable {
    /// It is something else.
    case notFolder
    /// It is a symbolic link, which somebody else may point elsewhere.
    case symbolicLink
    /// It belongs to this user.
    case foreignOwner(UInt32)
    /// Others than its owner may write to it: its permission bits.
    case writableByOthers(UInt32)
    /// It could not be made, opened or examined.
    case system(String, errno: Int32)
    /// It was removed or renamed while in use.
    case vanished
  }
}

extension RadioError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .folder(let path, let fault): "the virtual air's folder \(path) \(fault)"
    case .system(let operation, let errno): "cannot \(operation): \(errorText(errno))"
    case .invalidName(let name):
      "\"\(name)\" cannot be a radio's name: it must have 1 to 64 octets and no control characters"
    case .addressInUse(let address, let name, let process):
      "the address \(address.digits) is taken by the radio"
        + (name.isEmpty ? "" : " \"\(name)\"")
        + (process.map { " of process \($0)" } ?? " of another process")
        + "; choose another name or address"
    case .alreadyAdvertising: "the adapter advertises already; stop that advertisement first"
    case .advertisingData(let error): "\(error)"
    case .invalidInterval(let interval):
      "the advertising interval must be 20 ms to 10.24 s, not \(interval)"
    case .invalidEndpoint(let text):
      "\"\(text)\" is no radio: expected air:NAME or air:ADDRESS such as air:C0:11:22:33:44:55"
    case .notFound(let who, let time, let others):
      "no radio \(who) came on the air" + (time.map { " within \($0)" } ?? "")
        + (others.isEmpty
          ? "; nobody is on the air"
          : "; on the air: " + others.map(\.description).joined(separator: ", "))
    case .ambiguous(let name, let others):
      "several radios call themselves \"\(name)\": "
        + others.map { "\($0.address.digits)" }.joined(separator: ", ") + "; use an address"
    case .notConnectable(let address): "\(address.digits) is on the air but takes no connections"
    case .refused(let address, let reason): "\(address.digits) refused the connection: \(reason)"
    case .protocolViolation(let address): "\(address.digits) broke the rules of the virtual air"
    case .timedOut(let address, let time): "\(address.digits) did not answer within \(time)"
    case .cancelled: "cancelled"
    case .closed: "the adapter is closed"
    case .link(let error): error.description
    case .management(let opcode, let status, let adapter):
      "cannot \(opcode)\(adapter.map { " (hci\($0))" } ?? ""): \(status)"
    case .managementSilent(let opcode, let adapter):
      "cannot \(opcode)\(adapter.map { " (hci\($0))" } ?? ""): the kernel did not answer"
    case .channelRefused(let peer, let psm, let refusal):
      "\(peer) refused a channel at PSM \(psm): \(refusal)"
    case .notConnected(let peer): "there is no link to \(peer): connect first"
    case .tooManyChannels: "all 128 PSMs are published: unpublish some"
    case .notPaired(let peer): "\(peer) is not paired"
    case .pairing(let peer, .keyMissing):
      "\(peer) does not know the key of the earlier pairing: it has forgotten the bond; forget it "
        + "here too (atto unpair) and pair again"
    case .pairing(let peer, let failure): "pairing with \(peer) failed: \(failure)"
    case .noAdapter(let name):
      name.isEmpty
        ? "this machine has no Bluetooth adapter; endpoints that begin with air: work without one"
        : "there is no adapter \(name); see: atto adapters"
    case .unplugged(let name): "the adapter \(name) is gone"
    case .poweredOff(let name):
      "the adapter \(name) is powered off or its LE is (try: atto adapters --power on)"
    case .tooManyAdvertisements(let limit):
      "the adapter holds \(limit) advertisements at a time, and they are in use"
    case .unsupported(let what): "the adapter cannot do \(what)"
    }
  }
}

extension RadioError.FolderFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notFolder: "is not a folder"
    case .symbolicLink: "is a symbolic link: refused"
    case .foreignOwner(let user): "belongs to user \(user): refused"
    case .writableByOthers(let mode):
      "may be written to by others (mode \(String(mode, radix: 8))): refused; run chmod 700 on it"
    case .system(let operation, let errno): "cannot be \(operation): \(errorText(errno))"
    case .vanished: "was removed or renamed"
    }
  }
}

/// What the C library says of an `errno`.
func errorText(_ number: Int32) -> String {
  // strerror's buffer is read before anything else can run on this thread.
  strerror(number).map { String(cString: $0) } ?? "error \(number)"
}
