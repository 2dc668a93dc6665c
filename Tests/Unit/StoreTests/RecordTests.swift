import Atto
import AttoGATT
import AttoKernelRadio
import TestSupport
import Testing

@testable import AttoStore
@testable import StoreWorker

/// Stored records are read back unchanged.
@Suite(.oneByOne) struct RecordTests {
  let folder = TemporaryFolder(isInMemory: true)
  let adapter = BluetoothAddress(0x00AA_0100_0000)
  let peer = BluetoothAddress(0xC0FF_EE00_0001, kind: .random)

  private func key(_ octet: UInt8) -> [UInt8] { (0..<16).map { $0 ^ octet } }

  private func longTerm(
    _ octet: UInt8, kind: UInt8 = 0, isCentral: Bool = false
  ) -> LongTermKey {
    LongTermKey(
      peer: peer, kind: kind, isCentral: isCentral, keySize: 16, diversifier: 0xFFFE,
      random: .max - 3, value: key(octet))
  }

  private func reopened() async throws -> StoreFile { try await StoreFile(path: folder.file()) }

  @Test func aBondIsReadBackWhole() async throws {
    let store = try await reopened()
    let keys: [BondKey] = [
      .longTerm(longTerm(1)), .longTerm(longTerm(2, isCentral: true)),
      .identity(IdentityResolvingKey(peer: peer, value: key(3))),
      .signature(SignatureKey(peer: peer, kind: 2, value: key(4))),
      .signature(SignatureKey(peer: peer, kind: 3, value: key(5))),
    ]
    for key in keys { try await store.keep(key, adapter: adapter) }
    let bond = try #require(try await reopened().bonds().first)
    #expect(bond.adapter == adapter && bond.peer == peer && bond.since > 1_700_000_000)
    #expect(bond.longTermKeys == [longTerm(1), longTerm(2, isCentral: true)])
    #expect(bond.identityKey?.value == key(3))
    #expect(bond.ownSignature?.key.value == key(4) && bond.ownSignature?.counter == 0)
    #expect(bond.peerSignature?.key.value == key(5))
    #expect(bond.client == nil)
  }

  @Test func theKeysOfAPairingAreStoredTogetherOrNotAtAll() async throws {
    let store = try await reopened()
    for index in 0..<(StoreFile.bondLimit - 1) {
      try await store.keep(
        .identity(IdentityResolvingKey(peer: BluetoothAddress(UInt64(index)), value: key(1))),
        adapter: adapter)
    }
    let others = [0xFFFF, 0xFFFE].map { BluetoothAddress($0) }
    // The second exceeds the limit.
    await #expect(throws: StoreError.tooManyBonds(limit: StoreFile.bondLimit)) {
      try await store.keep(
        others.map {
          (key: .identity(IdentityResolvingKey(peer: $0, value: key(1))), adapter: adapter)
        })
    }
    #expect(try await store.bonds().count == StoreFile.bondLimit - 1)
  }

  /// A new pairing replaces the keys of the previous one.
  @Test func keysOfAnotherKindOfPairingAreReplaced() async throws {
    let store = try await reopened()
    try await store.keep(.longTerm(longTerm(1)), adapter: adapter)
    try await store.keep(.longTerm(longTerm(2, isCentral: true)), adapter: adapter)
    try await store.keep(.longTerm(longTerm(3, kind: 2)), adapter: adapter)
    #expect(try await store.bonds().first?.longTermKeys == [longTerm(3, kind: 2)])
    try await store.keep(.longTerm(longTerm(4, kind: 1, isCentral: true)), adapter: adapter)
    #expect(try await store.bonds().first?.longTermKeys == [longTerm(4, kind: 1, isCentral: true)])
    try await store.keep(.longTerm(longTerm(5, isCentral: true)), adapter: adapter)
    #expect(try await store.bonds().first?.longTermKeys == [longTerm(5, isCentral: true)])
  }

  @Test func bondsBelongToTheirAdapter() async throws {
    let store = try await reopened()
    let other = BluetoothAddress(7)
    let identity = BondKey.identity(IdentityResolvingKey(peer: peer, value: key(1)))
    try await store.keep(identity, adapter: adapter)
    try await store.keep(identity, adapter: other)
    #expect(try await store.bonds(of: other).count == 1)
    #expect(try await store.bond(adapter: other, peer: peer)?.adapter == other)
    #expect(try await store.removeBond(adapter: other, peer: peer))
    #expect(try await !store.removeBond(adapter: other, peer: peer))
    #expect(try await store.bonds().map(\.adapter) == [adapter])
    #expect(try await store.removeBond(adapter: nil, peer: peer))
    #expect(try await store.bonds().isEmpty)
  }

  /// Removing a bond removes everything stored for it, and no key is left in the file.
  @Test func aRemovedBondLeavesNothing() async throws {
    let store = try await reopened()
    let secret = [UInt8]("an unusual key!!".utf8)
    for kind in [0, 1] as [UInt8] {
      try await store.keep(
        .signature(SignatureKey(peer: peer, kind: kind, value: secret)), adapter: adapter)
    }
    try await store.keep(Record.client(7), adapter: adapter, peer: peer)
    try await store.keep(Record.database(7), of: PeerName(peer))
    #expect(octets(of: folder.file()).contains(secret))
    try await store.removeBond(adapter: adapter, peer: peer)
    #expect(!octets(of: folder.file()).contains(secret))
    #expect(try await store.database(of: PeerName(peer)) == nil)
    try await store.keep(.longTerm(longTerm(1)), adapter: adapter)
    let bond = try #require(try await store.bonds().first)
    #expect(bond.client == nil && bond.ownSignature == nil && bond.peerSignature == nil)
  }

  @Test func bondsAreLimited() async throws {
    let store = try await reopened()
    for index in 0..<StoreFile.bondLimit {
      try await store.keep(
        .identity(IdentityResolvingKey(peer: BluetoothAddress(UInt64(index)), value: key(1))),
        adapter: adapter)
    }
    let further = BondKey.identity(IdentityResolvingKey(peer: peer, value: key(1)))
    await #expect(throws: StoreError.tooManyBonds(limit: StoreFile.bondLimit)) {
      try await store.keep(further, adapter: adapter)
    }
    try await store.keep(further, adapter: BluetoothAddress(9))
    try await store.removeBond(adapter: adapter, peer: BluetoothAddress(0))
    try await store.keep(further, adapter: adapter)
  }

  // MARK: Clients

  @Test func onlyBondedClientsAreStored() async throws {
    let store = try await reopened()
    #expect(try await !store.keep(Record.client(3), adapter: adapter, peer: peer))
    try await store.keep(.longTerm(longTerm(1)), adapter: adapter)
    for number in [3, 4, 99] as [UInt32] {
      #expect(try await store.keep(Record.client(number), adapter: adapter, peer: peer))
      #expect(try await reopened().bonds().first?.client == Record.client(number))
    }
    try await store.keep(ClientRecord(), adapter: adapter, peer: peer)
    #expect(try await reopened().bonds().first?.client == ClientRecord())
  }

  // MARK: Sign counters

  @Test func countersOnlyIncrease() async throws {
    let store = try await reopened()
    await #expect(throws: StoreError.noSigningKey(peer)) {
      try await store.reserveSignCounters(adapter: adapter, peer: peer)
    }
    for kind in [0, 1] as [UInt8] {
      try await store.keep(
        .signature(SignatureKey(peer: peer, kind: kind, value: key(kind))), adapter: adapter)
    }
    let first = try await store.reserveSignCounters(adapter: adapter, peer: peer)
    #expect(first.counters == 0..<1)
    #expect(first.key == key(0).reversed())
    #expect(
      try await reopened().reserveSignCounters(adapter: adapter, peer: peer, count: 32).counters
        == 1..<33)
    #expect(try await store.acceptSignCounter(5, adapter: adapter, peer: peer))
    #expect(try await !reopened().acceptSignCounter(5, adapter: adapter, peer: peer))
    #expect(try await !store.acceptSignCounter(4, adapter: adapter, peer: peer))
    #expect(try await store.acceptSignCounter(6, adapter: adapter, peer: peer))
    // Storing the same key again keeps the counter; another key starts at 0.
    try await store.keep(
      .signature(SignatureKey(peer: peer, kind: 0, value: key(0))), adapter: adapter)
    #expect(
      try await store.reserveSignCounters(adapter: adapter, peer: peer).counters == 33..<34)
    try await store.keep(
      .signature(SignatureKey(peer: peer, kind: 2, value: key(9))), adapter: adapter)
    #expect(try await store.reserveSignCounters(adapter: adapter, peer: peer).counters == 0..<1)
    #expect(try await store.bonds().first?.peerSignature?.counter == 6)
  }

  @Test func theLastCounterIsNeverUsed() async throws {
    let store = try await reopened()
    try await store.keep(
      .signature(SignatureKey(peer: peer, kind: 0, value: key(0))), adapter: adapter)
    let all = try await store.reserveSignCounters(
      adapter: adapter, peer: peer, count: UInt32.max - 1)
    #expect(all.counters.upperBound == UInt32.max - 1)
    await #expect(throws: StoreError.countersExhausted(peer)) {
      try await store.reserveSignCounters(adapter: adapter, peer: peer, count: 2)
    }
    #expect(
      try await store.reserveSignCounters(adapter: adapter, peer: peer).counters.lowerBound
        == UInt32.max
        - 1)
    await #expect(throws: StoreError.countersExhausted(peer)) {
      try await store.reserveSignCounters(adapter: adapter, peer: peer)
    }
  }

  // MARK: Databases of peers

  @Test func aDatabaseIsReadBackWhole() async throws {
    let store = try await reopened()
    let name = PeerName(peer)
    #expect(try await store.database(of: name) == nil)
    for number in [1, 19, 40] as [UInt32] {
      #expect(try await store.keep(Record.database(number), of: name))
      #expect(try await reopened().database(of: name) == Record.database(number))
    }
    // Without a hash it could never be validated.
    let nameless = RemoteDatabase(services: Record.database(5).services)
    #expect(try await !store.keep(nameless, of: name))
    #expect(try await store.database(of: name) == nil)
  }

  @Test func aDatabaseThatIsTooLongIsNotStored() async throws {
    let store = try await reopened()
    let services = (1...0xFFFF as ClosedRange<UInt16>).map {
      Service(handle: AttributeHandle($0), endGroupHandle: AttributeHandle($0), uuid: 0x1800)
    }
    func database(_ count: Int) -> RemoteDatabase {
      RemoteDatabase(services: Array(services[..<count]), databaseHash: key(1))
    }
    // 18 octets, and 21 for each service.
    #expect(try await store.keep(database(3119), of: PeerName(peer)))
    #expect(try await !store.keep(database(3120), of: PeerName(peer)))
    #expect(try await !store.hasDatabase(of: PeerName(peer)))
  }

  @Test func aDatabaseWithAllKindsOfDeclarations() throws {
    let database = RemoteDatabase(
      services: [
        Service(
          handle: 1, endGroupHandle: 9, uuid: 0x1801,
          includes: [
            IncludedService(handle: 2, startHandle: 10, endGroupHandle: 11, uuid: 0x180A)
          ],
          characteristics: [
            Characteristic(
              declarationHandle: 3, valueHandle: 4, endGroupHandle: 9,
              properties: [.read, .indicate],
              uuid: BluetoothUUID(high: .max, low: 1),
              descriptors: [
                Descriptor(handle: 5, uuid: 0x2902), Descriptor(handle: 6, uuid: 0x2901),
              ])
          ]),
        Service(handle: 10, endGroupHandle: 0xFFFF, uuid: 0x180A, isPrimary: false),
      ], databaseHash: [UInt8](0..<16))
    #expect(RemoteDatabase(stored: database.stored) == database)
    // Other octets decode to nil or to some database, and nothing traps.
    let octets = database.stored
    for length in 0..<octets.count {
      _ = RemoteDatabase(stored: Array(octets[..<length]))
      for value in [0, 1, 0x43, 0x44, 0x49, 0x50, 0xFF] as [UInt8] {
        var bad = octets
        bad[length] = value
        _ = RemoteDatabase(stored: bad)
      }
    }
    #expect(RemoteDatabase(stored: octets + [0x44]) == nil)
    #expect(RemoteDatabase(stored: Array(octets.dropLast())) == nil)
  }

  @Test func theLeastRecentlyUsedDatabaseIsDropped() async throws {
    let store = try await reopened()
    let names = (0...StoreFile.databaseLimit).map { PeerName(endpoint: "unix:/\($0)") }
    for name in names { try await store.keep(Record.database(0), of: name) }
    var count = 0
    for name in names {
      if try await store.hasDatabase(of: name) { count += 1 }
    }
    #expect(count == StoreFile.databaseLimit)
    #expect(try await store.hasDatabase(of: names[StoreFile.databaseLimit]))
  }

  @Test func permanentAddresses() {
    #expect(PeerName.isStable(BluetoothAddress(0x0011_2233_4455)))
    #expect(PeerName.isStable(BluetoothAddress(0xC011_2233_4455, kind: .random)))
    #expect(!PeerName.isStable(BluetoothAddress(0x4011_2233_4455, kind: .random)))
    #expect(!PeerName.isStable(BluetoothAddress(0x0011_2233_4455, kind: .random)))
  }
}
