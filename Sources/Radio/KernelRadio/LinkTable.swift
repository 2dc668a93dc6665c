import AttoHCI
import AttoLinks
import AttoRadio

/// The parameters of an adapter's links, and refusals of channels, as the kernel's monitor reports
/// them.
///
/// # Theory
/// The kernel offers no command and no socket option for the interval, PHY and data length of a link,
/// and debugfs has only defaults. (BT_PHY is the PHY in use in some releases, and in others the PHYs
/// that are allowed.) But the controller reports them in events when they change, and the kernel's
/// monitor shows these. So they are known for links that were made while the monitor was open, and
/// for no others. A link starts with LE 1M.
///
///     (no link) --connection complete--> known --update, PHY, data length--> known
///         ^------------- disconnection complete ------------'
///
/// An event names the link by its handle, and the first one also the peer by its address. A peer
/// with a private address that only the kernel can resolve is known by its private address here.
///
/// The kernel reports most refusals of channels as ECONNREFUSED, so the answers of peers are read
/// here as well. After a refusal for security the kernel asks again with more security, and the
/// later answer replaces the earlier one. If the beginning of a link was not seen, the peer of an
/// answer is unknown. Then the answer counts as one to this process, which forgets earlier answers
/// before it asks.
///
/// # Limits
/// ``limit`` links; further ones are not stored. ``refusalLimit`` refusals of each; the oldest are
/// dropped.
struct LinkTable {
  static let limit = 64
  static let refusalLimit = 16
  /// struct hci_mon_hdr
  static let headerLength = 6

  private struct Entry {
    var peer: BluetoothAddress
    var parameters: AgreedParameters
    /// Refusals of channels, oldest first.
    var refusals: [ChannelRefusal] = []
  }

  private var entries: [UInt16: Entry] = [:]
  /// The link that the last datagram has changed or begun.
  private(set) var change: LinkChange?
  /// Refusals on links whose peers are not known.
  private var unknownPeers: [ChannelRefusal] = []

  subscript(peer: BluetoothAddress) -> AgreedParameters? {
    entries.values.first { $0.peer == peer }?.parameters
  }

  /// The handle of the link with a peer.
  func handle(of peer: BluetoothAddress) -> UInt16? {
    entries.first { $0.value.peer == peer }?.key
  }

  /// Removes and returns the oldest refusal by a peer.
  mutating func removeRefusal(by peer: BluetoothAddress) -> ChannelRefusal? {
    guard let handle = entries.first(where: { $0.value.peer == peer })?.key else {
      return unknownPeers.isEmpty ? nil : unknownPeers.removeFirst()
    }
    guard let first = entries[handle]?.refusals.first else { return nil }
    entries[handle]?.refusals.removeFirst()
    return first
  }

  mutating func forgetRefusals() {
    unknownPeers = []
    for handle in entries.keys { entries[handle]?.refusals = [] }
  }

  /// Reads a datagram of the monitor: a header, and an HCI event or received data. Others are
  /// ignored.
  ///
  /// - Returns: the opcode, the status and the values of a command that has ended.
  @discardableResult
  mutating func read(_ octets: [UInt8]) -> (
    opcode: UInt16, status: UInt8, values: ArraySlice<UInt8>
  )? {
    change = nil
    guard octets.count >= Self.headerLength + 2 else { return nil }
    if octets[0] == 5 {
      readData(Array(octets.dropFirst(Self.headerLength)))
      return nil
    }
    guard octets.count == Self.headerLength + 2 + Int(octets[Self.headerLength + 1]) else {
      return nil
    }
    let event = HCIEvent(octets[Self.headerLength...])
    if case .commandEnded(let opcode, let status, let values) = event {
      return (opcode, status, values)
    }
    if let event { read(event) }
    return nil
  }

  private mutating func read(_ event: HCIEvent) {
    switch event {
    case .disconnectionComplete(let handle): entries[handle] = nil
    case .connectionComplete(let handle, let peer?, let parameters?):
      guard entries.count < Self.limit else { return }
      let start = AgreedParameters(
        interval: parameters.interval, latency: parameters.latency,
        supervisionTimeout: parameters.supervisionTimeout,
        phy: LinkPHY(transmit: .oneMegabit, receive: .oneMegabit))
      entries[handle] = Entry(peer: BluetoothAddress(peer), parameters: start)
      change(handle) { _ in }
    case .connectionUpdateComplete(let handle, let parameters):
      change(handle) {
        $0.interval = parameters.interval
        $0.latency = parameters.latency
        $0.supervisionTimeout = parameters.supervisionTimeout
      }
    case .dataLengthChange(let handle, let length):
      change(handle) {
        $0.dataLength = AgreedParameters.DataLength(
          transmit: length.transmit, transmitTime: length.transmitTime, receive: length.receive,
          receiveTime: length.receiveTime)
      }
    case .phyUpdateComplete(let handle, let transmit, let receive):
      guard let transmit = LinkPHY.Kind(rawValue: transmit),
        let receive = LinkPHY.Kind(rawValue: receive)
      else { return }
      change(handle) { $0.phy = LinkPHY(transmit: transmit, receive: receive) }
    case .subrateChange(let handle, let subrate):
      change(handle) {
        $0.subrate = AgreedParameters.Subrate(
          factor: subrate.factor, continuation: subrate.continuation)
        $0.latency = subrate.latency
        $0.supervisionTimeout = subrate.supervisionTimeout
      }
    case .frameSpaceUpdateComplete(let handle, let space): change(handle) { $0.frameSpace = space }
    default: break
    }
  }

  private mutating func change(_ handle: UInt16, _ body: (inout AgreedParameters) -> Void) {
    guard var entry = entries[handle] else { return }
    body(&entry.parameters)
    entries[handle] = entry
    change = LinkChange(peer: entry.peer, parameters: entry.parameters)
  }

  /// L2CAP_LE_CREDIT_BASED_CONNECTION_RSP, in one ACL packet. Vol 3, Part A, 4.23.
  private mutating func readData(_ octets: [UInt8]) {
    var reader = ManagementReader(octets)
    let handle: UInt16 = reader.integer()
    _ = reader.octets(4)
    let channel: UInt16 = reader.integer()
    let code: UInt8 = reader.integer()
    _ = reader.octets(1)
    let length: UInt16 = reader.integer()
    _ = reader.octets(8)
    let result: UInt16 = reader.integer()
    guard !reader.isShort, handle & 0x3000 != 0x1000, channel == 5, code == 0x15, length == 10
    else { return }
    let number = handle & 0x0FFF
    var refusals = entries[number]?.refusals ?? unknownPeers
    if refusals.last?.isForSecurity == true { refusals.removeLast() }
    if result != 0 {
      refusals.append(ChannelRefusal(rawValue: UInt8(clamping: result)) ?? .unspecified)
    }
    refusals = refusals.suffix(Self.refusalLimit)
    if entries[number] == nil {
      unknownPeers = refusals
    } else {
      entries[number]?.refusals = refusals
    }
  }
}

extension BluetoothAddress {
  /// The peer that an event names.
  init(_ peer: HCIEvent.Peer) { self.init(peer.address, kind: peer.isRandom ? .random : .public) }
}
