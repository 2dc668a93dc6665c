public import Links

/// What two controllers have agreed on for a link. Vol 6, Part B, 4.5.
public struct AgreedParameters: Hashable, Sendable {
  /// Time between two connection events, in units of 1.25 ms: 6 to 3200.
  public var interval: UInt16
  /// Events that the peripheral may sleep through.
  public var latency: UInt16
  /// Silence after which the link counts as lost, in units of 10 ms.
  public var supervisionTimeout: UInt16
  /// nil until the controller has told: links begin with LE 1M, unless they were made over
  /// extended advertising.
  public var phy: LinkPHY?
  /// nil until the controller has told of another than the first: 27 octets each way.
  public var dataLength: DataLength?

  /// How much one link-layer packet holds, and how long it may take. Vol 6, Part B, 4.5.10.
  public struct DataLength: Hashable, Sendable {
    /// Octets, 27 to 251.
    public var transmit: UInt16
    /// Microseconds.
    public var transmitTime: UInt16
    /// Octets, 27 to 251.
    public var receive: UInt16
    /// Microseconds.
    public var receiveTime: UInt16
  }

  /// The interval as a time.
  public var intervalTime: Duration { .microseconds(Int(interval) * 1250) }
  /// The supervision timeout as a time.
  public var supervisionTime: Duration { .milliseconds(Int(supervisionTimeout) * 10) }
}

/// What an adapter's controller reports of its links, kept by peer.
///
/// # Theory
/// The kernel keeps interval, PHY and data length of a link to itself: no command of the management
/// and no socket option but BT_PHY tells them, and debugfs has defaults only. But the controller
/// says them, in events, when they come about, and the kernel's monitor shows events to whoever may
/// look. So they are known of links that were made while somebody looked, and of no others.
///
///     (no link) --connection complete--> known --update, PHY, data length--> known
///         ^------------- disconnection complete ------------'
///
/// An event names the link by its handle, the first one also the peer by address. A peer with a
/// private address that only the kernel could resolve is known by the private one here.
///
/// Beside events it is told what a peer answers when a channel is to be opened: the kernel's sockets
/// learn of any refusal but ECONNREFUSED only in part. A peer that wants security is asked again by
/// the kernel when there is some, so that a later answer takes the place of that one. Over a link
/// whose beginning was not seen an answer has no name; it is taken for one to this process, which
/// forgets what was said before it asks.
///
/// # Limits
/// ``limit`` links, further ones are not kept; ``refusalLimit`` refusals of each, of which the
/// oldest go.
struct LinkTable {
  static let limit = 64
  static let refusalLimit = 16
  /// struct hci_mon_hdr
  static let headerLength = 6

  private struct Entry {
    var peer: BluetoothAddress
    var parameters: AgreedParameters
    /// Of channels, in the order of the answers.
    var refusals: [ChannelRefusal] = []
  }

  private var entries: [UInt16: Entry] = [:]
  /// Refusals over links whose peers are not known.
  private var strangers: [ChannelRefusal] = []

  subscript(peer: BluetoothAddress) -> AgreedParameters? {
    entries.values.first { $0.peer == peer }?.parameters
  }

  /// The oldest refusal of a channel by this peer, which is forgotten then.
  mutating func takeRefusal(by peer: BluetoothAddress) -> ChannelRefusal? {
    guard let handle = entries.first(where: { $0.value.peer == peer })?.key else {
      return strangers.isEmpty ? nil : strangers.removeFirst()
    }
    guard let first = entries[handle]?.refusals.first else { return nil }
    entries[handle]?.refusals.removeFirst()
    return first
  }

  /// What was refused until now was refused to others.
  mutating func forgetRefusals() {
    strangers = []
    for handle in entries.keys { entries[handle]?.refusals = [] }
  }

  /// Takes a datagram of the monitor: a header and an HCI event, or data that came. What is no such
  /// is passed over.
  mutating func take(_ octets: [UInt8]) {
    guard octets.count >= Self.headerLength + 2 else { return }
    if octets[0] == 5 { return takeData(Array(octets.dropFirst(Self.headerLength))) }
    let code = octets[Self.headerLength]
    let parameters = Array(octets.dropFirst(Self.headerLength + 2))
    guard parameters.count == Int(octets[Self.headerLength + 1]) else { return }
    var reader = ManagementReader(parameters)
    switch code {
    case 0x05: takeDisconnection(&reader)
    case 0x3E:
      let subevent: UInt8 = reader.integer()
      switch subevent {
      case 0x01: takeConnection(&reader, hasPrivateAddresses: false)
      case 0x0A, 0x29: takeConnection(&reader, hasPrivateAddresses: true)
      case 0x03: takeUpdate(&reader)
      case 0x07: takeDataLength(&reader)
      case 0x0C: takePHY(&reader)
      default: break
      }
    default: break
    }
  }

  /// L2CAP_LE_CREDIT_BASED_CONNECTION_RSP, in one ACL packet. Vol 3, Part A, 4.23.
  private mutating func takeData(_ octets: [UInt8]) {
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
    var refusals = entries[number]?.refusals ?? strangers
    if refusals.last?.isForSecurity == true { refusals.removeLast() }
    if result != 0 {
      refusals.append(ChannelRefusal(rawValue: UInt8(clamping: result)) ?? .unspecified)
    }
    refusals = refusals.suffix(Self.refusalLimit)
    if entries[number] == nil { strangers = refusals } else { entries[number]?.refusals = refusals }
  }

  /// HCI_Disconnection_Complete. Vol 4, Part E, 7.7.5.
  private mutating func takeDisconnection(_ reader: inout ManagementReader) {
    let status: UInt8 = reader.integer()
    let handle: UInt16 = reader.integer()
    if status == 0, !reader.isShort { entries[handle] = nil }
  }

  /// HCI_LE_Connection_Complete and its enhanced forms. Vol 4, Part E, 7.7.65.1 and 7.7.65.10.
  private mutating func takeConnection(
    _ reader: inout ManagementReader, hasPrivateAddresses: Bool
  ) {
    let status: UInt8 = reader.integer()
    let handle: UInt16 = reader.integer()
    _ = reader.octets(1)
    let kind: UInt8 = reader.integer()
    let octets = reader.octets(6)
    if hasPrivateAddresses { _ = reader.octets(12) }
    let parameters = AgreedParameters(
      interval: reader.integer(), latency: reader.integer(), supervisionTimeout: reader.integer())
    // Identity addresses are numbered like the others, two higher.
    guard status == 0, !reader.isShort, kind < 4, entries.count < Self.limit,
      let peer = BluetoothAddress(littleEndian: octets, kind: kind & 1 == 0 ? .public : .random)
    else { return }
    entries[handle] = Entry(peer: peer, parameters: parameters)
  }

  /// HCI_LE_Connection_Update_Complete. Vol 4, Part E, 7.7.65.3.
  private mutating func takeUpdate(_ reader: inout ManagementReader) {
    let status: UInt8 = reader.integer()
    let handle: UInt16 = reader.integer()
    let interval: UInt16 = reader.integer()
    let latency: UInt16 = reader.integer()
    let timeout: UInt16 = reader.integer()
    guard status == 0, !reader.isShort else { return }
    entries[handle]?.parameters.interval = interval
    entries[handle]?.parameters.latency = latency
    entries[handle]?.parameters.supervisionTimeout = timeout
  }

  /// HCI_LE_Data_Length_Change. Vol 4, Part E, 7.7.65.7.
  private mutating func takeDataLength(_ reader: inout ManagementReader) {
    let handle: UInt16 = reader.integer()
    let length = AgreedParameters.DataLength(
      transmit: reader.integer(), transmitTime: reader.integer(), receive: reader.integer(),
      receiveTime: reader.integer())
    guard !reader.isShort else { return }
    entries[handle]?.parameters.dataLength = length
  }

  /// HCI_LE_PHY_Update_Complete. Vol 4, Part E, 7.7.65.12.
  private mutating func takePHY(_ reader: inout ManagementReader) {
    let status: UInt8 = reader.integer()
    let handle: UInt16 = reader.integer()
    let transmit = LinkPHY.Kind(rawValue: reader.integer())
    let receive = LinkPHY.Kind(rawValue: reader.integer())
    guard status == 0, !reader.isShort, let transmit, let receive else { return }
    entries[handle]?.parameters.phy = LinkPHY(transmit: transmit, receive: receive)
  }
}
