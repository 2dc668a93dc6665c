import Atto
import AttoGATT
import AttoKernelRadio
import AttoLinks
import AttoStore

/// Records whose fields are all derived from a number.
enum Record {
  enum Kind: String, CaseIterable {
    case longTermKey, identity, signature, client, counter, accepted, database, removal
  }

  static let adapter = BluetoothAddress(0x00AA_0100_0000)

  static func peer(_ index: Int) -> BluetoothAddress {
    BluetoothAddress(0xC000_0000_0000 + UInt64(index), kind: .random)
  }

  static func key(_ number: UInt32) -> [UInt8] {
    (0..<16).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0 % 4))) ^ UInt8($0 / 4) }
  }

  static func longTermKey(_ peer: Int, _ number: UInt32) -> LongTermKey {
    LongTermKey(
      peer: Self.peer(peer), kind: 0, isCentral: true, keySize: UInt8(7 + number % 10),
      diversifier: UInt16(truncatingIfNeeded: number), random: UInt64(number) << 32 | 0xFFFF,
      value: key(number))
  }

  static func client(_ number: UInt32) -> ClientRecord {
    var configurations: [AttributeHandle: ClientCharacteristicConfiguration] = [:]
    var hashes: [AttributeHandle: [UInt8]] = [:]
    for step in 1...(1 + number % 5) {
      let handle = AttributeHandle(UInt16(truncatingIfNeeded: step * 7 + number % 100))
      configurations[handle] = ClientCharacteristicConfiguration(
        rawValue: UInt16(1 + (number + step) % 3))
      hashes[handle] = key(number + step)
    }
    return ClientRecord(
      configurations: configurations, serviceHashes: hashes,
      features: ClientSupportedFeatures(rawValue: UInt8(number % 8)), databaseHash: key(number))
  }

  static func database(_ number: UInt32) -> RemoteDatabase {
    let services = (0..<(number % 20)).map { index in
      let handle = AttributeHandle(UInt16(1 + index * 4))
      return Service(
        handle: handle, endGroupHandle: AttributeHandle(handle.rawValue + 3),
        uuid: BluetoothUUID(UInt32(truncatingIfNeeded: number + index)),
        characteristics: [
          Characteristic(
            declarationHandle: AttributeHandle(handle.rawValue + 1),
            valueHandle: AttributeHandle(handle.rawValue + 2),
            endGroupHandle: AttributeHandle(handle.rawValue + 3), properties: .notify,
            uuid: BluetoothUUID(UInt16(truncatingIfNeeded: number)),
            descriptors: [
              Descriptor(
                handle: AttributeHandle(handle.rawValue + 3),
                uuid: .clientCharacteristicConfiguration)
            ])
        ])
    }
    return RemoteDatabase(services: services, databaseHash: key(number))
  }

  static func signatureKey(_ peer: Int, _ kind: UInt8) -> SignatureKey {
    SignatureKey(peer: Self.peer(peer), kind: kind, value: key(UInt32(kind)))
  }

  /// Does a step. What a server must have stored before it responds is stored as a server does.
  static func keep(_ step: Step, in store: StoreFile) async throws(StoreError) {
    let (peer, number) = (step.peer, step.number)
    let address = Self.peer(peer)
    let memory = StoreMemory(store)
    let addresses = LinkAddresses(own: adapter, peer: address)
    switch step.kind {
    case .longTermKey: try await store.keep(.longTerm(longTermKey(peer, number)), adapter: adapter)
    case .identity:
      try await store.keep(
        .identity(IdentityResolvingKey(peer: address, value: key(number))), adapter: adapter)
    case .signature:
      // Always the same keys: their counters must last as long as the bond.
      try await store.keep(
        [0, 1].map { (.signature(signatureKey(peer, $0)), adapter: adapter) })
    case .client:
      await withCheckedContinuation { continuation in
        memory.remember(client(number), of: addresses) { continuation.resume() }
      }
    case .counter:
      do throws(StoreError) {
        _ = try await store.reserveSignCounters(
          adapter: adapter, peer: address, count: Contents.reserved)
      } catch .noSigningKey {}
    case .accepted:
      _ = await withCheckedContinuation { continuation in
        memory.accept(signCounter: number, of: addresses) { continuation.resume(returning: $0) }
      }
    case .database: try await store.keep(database(number), of: PeerName(address))
    case .removal: try await store.removeBond(adapter: adapter, peer: address)
    }
  }
}

/// One change of a store: a record of a peer, or its removal.
struct Step {
  var kind: Record.Kind
  var peer: Int
  var number: UInt32
}

/// What a store holds of a peer, as the numbers of the records.
struct Contents {
  /// How many counters a step reserves.
  static let reserved: UInt32 = 3

  var longTermKey: UInt32?
  var identity: UInt32?
  var isSigning = false
  var counter: UInt32 = 0
  var accepted: UInt32 = 0
  var client: UInt32?
  var database: UInt32?

  var isBonded: Bool { longTermKey != nil || identity != nil || isSigning }

  mutating func apply(_ step: Step) {
    switch step.kind {
    case .longTermKey: longTermKey = step.number
    case .identity: identity = step.number
    case .signature: isSigning = true
    case .client: if isBonded { client = step.number }
    case .counter: if isSigning { counter += Self.reserved }
    case .accepted: if isSigning { accepted = max(accepted, step.number) }
    case .database: database = step.number
    case .removal: self = Contents()
    }
  }
}
