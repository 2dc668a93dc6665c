import ATT

/// Names a client of a server for as long as it has a bearer.
public struct ClientID: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// What a server remembers of a bonded client between connections. Vol 3, Part G, 2.5.2 and
/// 3.3.3.3.
public struct ClientRecord: Equatable, Sendable {
  /// Configurations other than zero, by the handle of the descriptor.
  public var configurations: [AttributeHandle: ClientCharacteristicConfiguration]
  /// For each of them, by the same handle, the ``Database/serviceHash(containing:)`` of then. In
  /// a database that has changed, the configuration is good if that has not.
  public var serviceHashes: [AttributeHandle: [UInt8]]
  /// What the client has said that it supports.
  public var features: ClientSupportedFeatures
  /// The Database Hash that the client was last aware of; empty if it was not aware.
  public var databaseHash: [UInt8]

  /// One with these values; its properties say what each means.
  public init(
    configurations: [AttributeHandle: ClientCharacteristicConfiguration] = [:],
    serviceHashes: [AttributeHandle: [UInt8]] = [:],
    features: ClientSupportedFeatures = [], databaseHash: [UInt8] = []
  ) {
    self.configurations = configurations
    self.serviceHashes = serviceHashes
    self.features = features
    self.databaseHash = databaseHash
  }
}

/// One client's share of a server: everything that no other client may see.
///
/// A client has one of these whatever the number of its bearers. Its owner gets it from
/// ``Server/connect(security:record:)`` and hands it to each ``Session``.
public final class ServerClient {
  /// The client's number, which no other gets while it is there.
  public let id: ClientID
  /// The security of its link, as the link last told it.
  @exclusivity(unchecked) public var security: LinkSecurity {
    didSet { if security.level != oldValue.level { recordRevision &+= 1 } }
  }
  /// What it has announced.
  @exclusivity(unchecked) public internal(set) var features: ClientSupportedFeatures = [] {
    didSet { if features != oldValue { recordRevision &+= 1 } }
  }
  @exclusivity(unchecked) var awareness = Awareness.aware {
    didSet { if awareness != oldValue { recordRevision &+= 1 } }
  }
  /// Changes whenever ``Server/record(of:)`` or the security of the link may have.
  @exclusivity(unchecked) public private(set) var recordRevision: UInt32 = 0
  /// Whether ``recordRevision`` has changed. Asked after each PDU, and so from within this
  /// module, where the compiler knows that the access needs no check.
  public func hasChanged(since revision: UInt32) -> Bool { recordRevision != revision }
  var queue = PrepareQueue()
  /// What Service Changed has to say to this client.
  @exclusivity(unchecked) var changed: HandleRange?
  /// False once ``Server/disconnect(_:)`` has forgotten it, be it while the application was asked.
  @exclusivity(unchecked) var isConnected = true
  /// A Service Changed is on its way, on one of the client's bearers.
  @exclusivity(unchecked) var isBeingTold = false
  /// The key and the next counter of its signed writes, if it is bonded with one.
  var signing: (key: [UInt8], counter: UInt32)?
  /// Kept in order of handle; a client configures few characteristics.
  @exclusivity(unchecked) private var configurations:
    [(handle: AttributeHandle, value: ClientCharacteristicConfiguration)] = []

  init(id: ClientID, security: LinkSecurity) {
    self.id = id
    self.security = security
  }

  /// Whether the client knows the database as it is. Vol 3, Part G, 2.5.2.1.
  enum Awareness: Equatable {
    case aware
    /// It does not, and has not been told.
    case unaware
    /// It has been told, or has read the hash: its next request makes it aware.
    case becoming
  }

  /// Whether requests and values must be held back because the client does not know the
  /// database and has said that it would understand.
  var isOutOfSync: Bool { awareness != .aware && features.contains(.robustCaching) }

  func configuration(_ handle: AttributeHandle) -> ClientCharacteristicConfiguration {
    for entry in configurations where entry.handle == handle { return entry.value }
    return []
  }

  func configure(_ handle: AttributeHandle, _ value: ClientCharacteristicConfiguration) {
    guard configuration(handle) != value else { return }
    recordRevision &+= 1
    configurations.removeAll { $0.handle == handle }
    guard !value.isEmpty else { return }
    let index = configurations.firstIndex { $0.handle > handle } ?? configurations.count
    configurations.insert((handle, value), at: index)
  }

  /// Forgets what was configured in a service that is gone.
  func forget(_ range: HandleRange) {
    configurations.removeAll { range.contains($0.handle) }
    recordRevision &+= 1
  }

  /// All configurations other than zero.
  var allConfigurations: [AttributeHandle: ClientCharacteristicConfiguration] {
    var all: [AttributeHandle: ClientCharacteristicConfiguration] = [:]
    for entry in configurations { all[entry.handle] = entry.value }
    return all
  }

  /// Lets a bonded client sign its writes. Vol 3, Part H, 2.4.5.
  ///
  /// - Parameters:
  ///   - key: its CSRK, 16 octets, most significant first.
  ///   - counter: the least sign counter that is accepted.
  public func setSigningKey(_ key: [UInt8], counter: UInt32) {
    precondition(key.count == 16, "a CSRK has 16 octets")
    signing = (key, counter)
  }

  /// The least sign counter that will be accepted, to be kept with the bond.
  public var signCounter: UInt32? { signing?.counter }
}
