import Atto
import AttoGATT
import AttoKernelRadio
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

  /// Stores the record of a step. Returns the number that the store must now contain.
  static func keep(
    _ kind: Kind, _ peer: Int, _ number: UInt32, in store: StoreFile
  ) async throws(StoreError) -> UInt32 {
    let address = Self.peer(peer)
    switch kind {
    case .longTermKey: try await store.keep(.longTerm(longTermKey(peer, number)), adapter: adapter)
    case .identity:
      try await store.keep(
        .identity(IdentityResolvingKey(peer: address, value: key(number))), adapter: adapter)
    case .signature:
      // Always the same keys: their counters must last as long as the bond.
      for kind in [0, 1] as [UInt8] {
        try await store.keep(
          .signature(SignatureKey(peer: address, kind: kind, value: key(UInt32(kind)))),
          adapter: adapter)
      }
    case .client: try await store.keep(client(number), adapter: adapter, peer: address)
    case .counter:
      do throws(StoreError) {
        return try await store.reserveSignCounters(adapter: adapter, peer: address, count: 3)
          .counters
          .upperBound
      } catch .noSigningKey {
        return 0
      }
    case .accepted:
      let isAccepted = try await store.acceptSignCounter(number, adapter: adapter, peer: address)
      return isAccepted ? number : 0
    case .database: try await store.keep(database(number), of: PeerName(address))
    case .removal: try await store.removeBond(adapter: adapter, peer: address)
    }
    return number
  }
}
