public import AttoEventLoop
public import AttoLinks
import Glibc

/// An error of a radio.
@nonexhaustive public enum RadioError: Error, Hashable, Sendable {
  /// The folder of the virtual air cannot be used.
  case folder(path: String, FolderFault)
  /// A system call failed: what was to be done, and the `errno`.
  case system(String, errno: Int32)
  /// A name is empty, has more than 64 octets of UTF-8, or control characters.
  case invalidName(String)
  /// Another radio, of this process or another, has the address. The process is nil if it is another one,
  /// and its radio does not advertise.
  case addressInUse(BluetoothAddress, name: String, process: Int32?)
  /// A radio of the virtual air has an advertisement already.
  case alreadyAdvertising
  /// Advertising data does not fit.
  case advertisingData(AdvertisingDataError)
  /// The advertising interval is not in ``AdvertisingParameters/intervalRange``.
  case invalidInterval(Duration)
  /// The part of an endpoint after the colon is neither a name nor an address.
  case invalidEndpoint(String)
  /// No radio with the name or address appeared in time.
  case notFound(String, after: Duration?, onAir: [Bystander])
  /// Several radios have the local name.
  case ambiguous(String, [Bystander])
  /// The device advertises but is not connectable.
  case notConnectable(BluetoothAddress)
  /// The peer refused the connection.
  case refused(BluetoothAddress, DisconnectReason)
  /// The peer broke the protocol of the virtual air.
  case protocolViolation(BluetoothAddress)
  /// The peer did not answer in time.
  case timedOut(BluetoothAddress, after: Duration)
  /// The caller's task was cancelled.
  case cancelled
  /// The adapter was closed.
  case closed
  /// A Bluetooth socket of the kernel failed.
  case link(LinkError)
  /// The kernel's management socket answered with an error; nil: about no adapter in particular.
  case management(ManagementOpcode, ManagementStatus, adapter: UInt16?)
  /// The kernel's management socket did not answer in time, or the answer was malformed.
  case managementSilent(ManagementOpcode, adapter: UInt16?)
  /// The controller refused a command: what it was to do, and why; nil: it did not answer.
  case refusedByController(String, DisconnectReason?)
  /// Pairing failed, or the key of an earlier pairing was not accepted.
  case pairing(BluetoothAddress, PairingFailure)
  /// The peer refused a channel.
  case channelRefused(BluetoothAddress, psm: UInt16, ChannelRefusal)
  /// There is no link to the peer, or it has ended.
  case notConnected(BluetoothAddress)
  /// The PSM is in use, or all 128 of this radio are.
  case tooManyChannels
  /// There is no bond with the peer.
  case notPaired(BluetoothAddress)
  /// The kernel has no such adapter; an empty name: it has none at all.
  case noAdapter(String)
  /// The kernel's adapter was unplugged.
  case unplugged(String)
  /// The power of the kernel's adapter, or its LE, is off.
  case poweredOff(String)
  /// The controller has no room for another advertisement.
  case tooManyAdvertisements(limit: Int)
  /// The radio does not support an operation.
  case unsupported(String)

  /// A radio that was on the air while another was not found.
  public struct Bystander: Hashable, Sendable, CustomStringConvertible {
    /// The address of the radio.
    public let address: BluetoothAddress
    /// The name of the radio, or else its local name; empty if it has none.
    public let name: String
    /// Whether it accepts connections.
    public let isConnectable: Bool

    package init(address: BluetoothAddress, name: String, isConnectable: Bool) {
      self.address = address
      self.name = name
      self.isConnectable = isConnectable
    }

    /// For example `"Strap" (D4:13:F6:FB:AC:EF)`.
    public var description: String {
      let label = name.isEmpty ? address.digits : "\(name.debugDescription) (\(address.digits))"
      return isConnectable ? label : label + ", not connectable"
    }
  }

  /// Why a folder cannot be used.
  @nonexhaustive public enum FolderFault: Hashable, Sendable {
    /// It is not a folder.
    case notFolder
    /// It is a symbolic link, which another user could redirect.
    case symbolicLink
    /// It belongs to this other user.
    case foreignOwner(UInt32)
    /// Users other than the owner can read, write or enter it: its permission bits.
    case openToOthers(UInt32)
    /// It could not be created, opened or examined.
    case system(String, errno: Int32)
    /// It was removed or renamed while in use.
    case vanished
  }
}

extension RadioError: WaitError {
  /// A descriptor could not be watched.
  package init(_ error: LoopError) { self = .system("watch a descriptor", errno: error.errno) }
}

extension RadioError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .folder(let path, let fault): "the virtual air's folder \(path) \(fault)"
    case .system(let operation, let errno): "cannot \(operation): \(errorText(errno))"
    case .invalidName(let name):
      "invalid radio name \"\(name)\": expected 1 to 64 octets without control characters"
    case .addressInUse(let address, let name, let process):
      "the address \(address.digits) is in use by the radio"
        + (name.isEmpty ? "" : " \"\(name)\"")
        + (process.map { " of process \($0)" } ?? " of another process")
    case .alreadyAdvertising: "the radio is already advertising"
    case .advertisingData(let error): "\(error)"
    case .invalidInterval(let interval):
      "invalid advertising interval \(interval): expected 20 ms to 10.24 s"
    case .invalidEndpoint(let text):
      "invalid radio \"\(text)\": expected air:NAME or air:ADDRESS such as air:C0:11:22:33:44:55"
    case .notFound(let target, let time, let others):
      "no radio \(target) found" + (time.map { " within \($0)" } ?? "")
        + (others.isEmpty
          ? "; no radio is on the air"
          : "; on the air: " + others.map(\.description).joined(separator: ", "))
    case .ambiguous(let name, let others):
      "several radios have the local name \"\(name)\": "
        + others.map { "\($0.address.digits)" }.joined(separator: ", ")
    case .notConnectable(let address): "\(address.digits) advertises but is not connectable"
    case .refused(let address, let reason): "\(address.digits) refused the connection: \(reason)"
    case .protocolViolation(let address):
      "\(address.digits) broke the protocol of the virtual air"
    case .timedOut(let address, let time): "\(address.digits) did not answer within \(time)"
    case .cancelled: "cancelled"
    case .closed: "the adapter is closed"
    case .link(let error): error.description
    case .management(let opcode, let status, let adapter):
      "cannot \(opcode)\(adapter.map { " (hci\($0))" } ?? ""): \(status)"
    case .refusedByController(let operation, let reason):
      "cannot \(operation): "
        + (reason.map { "\($0)" } ?? "the controller did not answer")
    case .managementSilent(let opcode, let adapter):
      "cannot \(opcode)\(adapter.map { " (hci\($0))" } ?? ""): the kernel did not answer"
    case .channelRefused(let peer, let psm, let refusal):
      "\(peer) refused the channel at PSM \(psm): \(refusal)"
    case .notConnected(let peer): "not connected to \(peer)"
    case .tooManyChannels: "the PSM is in use, or all 128 are"
    case .notPaired(let peer): "\(peer) is not paired"
    case .pairing(let peer, let failure): "pairing with \(peer) failed: \(failure)"
    case .noAdapter(let name):
      name.isEmpty ? "this machine has no Bluetooth adapter" : "there is no adapter \(name)"
    case .unplugged(let name): "the adapter \(name) was removed"
    case .poweredOff(let name): "the adapter \(name) is powered off, or its LE is off"
    case .tooManyAdvertisements(let limit):
      "the controller supports \(limit) advertisements at a time, and all are in use"
    case .unsupported(let operation): "the adapter does not support \(operation)"
    }
  }
}

extension RadioError.FolderFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notFolder: "is not a folder"
    case .symbolicLink: "is a symbolic link"
    case .foreignOwner(let user): "belongs to user \(user)"
    case .openToOthers(let mode): "is open to others (mode \(String(mode, radix: 8)))"
    case .system(let operation, let errno): "cannot be \(operation): \(errorText(errno))"
    case .vanished: "was removed or renamed"
    }
  }
}

/// The C library's text for an `errno`.
package func errorText(_ number: Int32) -> String {
  // The buffer of strerror is read before other code on this thread can call it.
  strerror(number).map { String(cString: $0) } ?? "error \(number)"
}
