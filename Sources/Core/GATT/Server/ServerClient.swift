import AttoATT

/// The identifier of a client, which is unique while it is connected.
public struct ClientID: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// The state of a bonded client that a server stores between connections. Vol 3, Part G, 2.5.2 and
/// 3.3.3.3.
public struct ClientRecord: Equatable, Sendable {
  /// Configurations other than zero, by the handle of the descriptor.
  public var configurations: [AttributeHandle: ClientCharacteristicConfiguration]
  /// The ``Database/serviceHash(containing:)`` for each of these handles. If the database has
  /// changed, a configuration is valid only if this hash has not.
  public var serviceHashes: [AttributeHandle: [UInt8]]
  /// The features that the client has announced.
  public var features: ClientSupportedFeatures
  /// The Database Hash of which the client was last aware; empty if it was not aware.
  public var databaseHash: [UInt8]

  /// Creates a value with these properties.
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

/// The state of one client in a server.
///
/// All bearers of a client share one object. The owner gets it from
/// ``Server/connect(security:record:)`` and passes it to each ``Session``.
public final class ServerClient {
  /// The identifier of the client.
  public let id: ClientID
  /// The security of its link, as the link last told it.
  @exclusivity(unchecked) public var security: LinkSecurity {
    didSet { if security.level != oldValue.level { recordRevision &+= 1 } }
  }
  /// The features that the client has announced.
  @exclusivity(unchecked) public internal(set) var features: ClientSupportedFeatures = [] {
    didSet { if features != oldValue { recordRevision &+= 1 } }
  }
  @exclusivity(unchecked) var awareness = Awareness.aware {
    didSet { if awareness != oldValue { recordRevision &+= 1 } }
  }
  /// Changes when ``Server/record(of:)`` or the security of the link may have changed.
  @exclusivity(unchecked) public private(set) var recordRevision: UInt32 = 0
  /// Whether ``recordRevision`` has changed. The owner calls this after each PDU; it is in this
  /// module because only here the compiler knows that the access needs no check.
  public func hasChanged(since revision: UInt32) -> Bool { recordRevision != revision }
  var queue = PrepareQueue()
  /// The range of the pending Service Changed indication.
  @exclusivity(unchecked) var changed: HandleRange?
  /// False after ``Server/disconnect(_:)``, which the application may call while it is asked.
  @exclusivity(unchecked) var isConnected = true
  /// The number of bearers of the client. ``SessionGroup`` counts those that it adds.
  @exclusivity(unchecked) var bearerCount: UInt8 = 1
  /// Whether Service Changed is queued or in flight on one of the client's bearers.
  @exclusivity(unchecked) var isBeingTold = false
  /// The key and the next counter of signed writes, if the client has a key.
  var signing: (key: [UInt8], counter: UInt32)?
  /// Sorted by handle. An array, because a client configures few characteristics.
  @exclusivity(unchecked) private var configurations:
    [(handle: AttributeHandle, value: ClientCharacteristicConfiguration)] = []

  init(id: ClientID, security: LinkSecurity) {
    self.id = id
    self.security = security
  }

  /// Whether the client knows the current database. Vol 3, Part G, 2.5.2.1.
  ///
  /// With one bearer, a client becomes aware by its next request after Database Out Of Sync, or by
  /// confirming Service Changed. With several bearers neither tells that requests in flight on the
  /// others were built for the current database: only reading the Database Hash does.
  enum Awareness: Equatable {
    case aware
    /// It does not, and was not informed.
    case unaware
    /// It was informed or has read the hash. Its next request makes it aware.
    case becoming
  }

  /// Whether the client has exactly one bearer.
  var hasOneBearer: Bool { bearerCount == 1 }

  /// Whether requests must be refused and values held back, because the client supports robust
  /// caching and is not aware of the database.
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

  /// Removes the configurations of a removed service.
  func forget(_ range: HandleRange) {
    configurations.removeAll { range.contains($0.handle) }
    recordRevision &+= 1
  }

  /// Whether the client has configured any characteristic to be notified or indicated.
  public var isSubscribed: Bool { !configurations.isEmpty }

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
  ///   - counter: the lowest sign counter that is accepted.
  public func setSigningKey(_ key: [UInt8], counter: UInt32) {
    precondition(key.count == 16, "a CSRK has 16 octets")
    signing = (key, counter)
  }

  /// The lowest sign counter that will be accepted, to store with the bond.
  public var signCounter: UInt32? { signing?.counter }
}
