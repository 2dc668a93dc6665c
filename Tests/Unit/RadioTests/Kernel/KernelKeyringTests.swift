import AttoEventLoop
import AttoLinks
import Synchronization
import TestSupport
import Testing

@testable import AttoKernelRadio
@testable import AttoRadio

/// The keyring on a scripted kernel.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct KernelKeyringTests {
  private static let peer = BluetoothAddress(0xC0FF_EE00_0001, kind: .random)
  private static let key = (0..<16).map { UInt8($0) }
  /// The peer in frames: its address and the kind of that.
  private static let peerOctets: [UInt8] = [1, 0, 0, 0xEE, 0xFF, 0xC0, 2]

  private func keyring() async throws -> (KernelKeyring, FakeKernel) {
    let ends = try FakeKernel.pair()
    let kernel = FakeKernel(ends.1, loop: .shared)
    try await kernel.begin([.powered, .le])
    await kernel.answer(.readIndexList, .octets([1, 0, 0, 0]))
    let keyring = KernelKeyring(loop: .shared)
    try await keyring.begin(.any, true, socket: ends.0)
    return (keyring, kernel)
  }

  @Test func keysAreLoadedAllAtOnceAndIdentitiesFirst() async throws {
    let (keyring, kernel) = try await keyring()
    let link = LongTermKey(
      peer: Self.peer, kind: 3, isCentral: true, keySize: 7, diversifier: 0x1234,
      random: 0x0102_0304_0506_0708, value: Self.key)
    try await keyring.load(
      [link, link], [IdentityResolvingKey(peer: Self.peer, value: Self.key)], to: 0)
    let entry: [UInt8] =
      Self.peerOctets + [3, 1, 7, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1] + Self.key
    #expect(await kernel.last(.loadLongTermKeys) == [2, 0] + entry + entry)
    #expect(await kernel.last(.loadIdentityKeys) == [1, 0] + Self.peerOctets + Self.key)
    let codes = await kernel.received.map(\.code)
    let expected: [ManagementOpcode] = [.loadIdentityKeys, .loadLongTermKeys]
    #expect(codes.suffix(2) == expected.map(\.code))
    await keyring.close()
  }

  /// An empty list of identities is loaded, so that peers are asked for theirs. Without keys the kernel's
  /// keys stay.
  @Test func withoutAnyBond() async throws {
    let (keyring, kernel) = try await keyring()
    try await keyring.load([], [], to: 0)
    #expect(await kernel.last(.loadIdentityKeys) == [0, 0])
    #expect(await kernel.count(.loadLongTermKeys) == 0)
    await kernel.answer(.loadIdentityKeys, .status(.permissionDenied))
    await #expect(
      throws: RadioError.management(.loadIdentityKeys, .permissionDenied, adapter: 0)
    ) { try await keyring.load([], [], to: 0) }
    await keyring.close()
  }

  @Test func keysToStoreAreReported() async throws {
    let (keyring, kernel) = try await keyring()
    let log = HeardLog()
    await keyring.observe { key, _ in log.append(key) }
    // A CSRK of the peer, one that is not to be stored, and one of another adapter.
    let signature: [UInt8] = Self.peerOctets + [1] + Self.key
    await kernel.tell(0x0019, [1] + signature)
    await kernel.tell(0x0019, [0] + signature)
    await kernel.tell(0x0019, [1] + signature, about: 7)
    // Other programs answer questions of pairing.
    await kernel.tell(0x000F, Self.peerOctets + [1, 0, 0, 0, 0])
    await keyring.catchUp()
    #expect(log.keys == [.signature(SignatureKey(peer: Self.peer, kind: 1, value: Self.key))])
    await keyring.catchUp()
    #expect(await kernel.count(.confirm) + kernel.count(.refuseConfirmation) == 0)
    await keyring.close()
    await keyring.catchUp()
    await #expect(throws: RadioError.closed) { try await keyring.load([], [], to: 0) }
  }
}

private final class HeardLog: Sendable {
  private let log = Mutex<[BondKey]>([])
  var keys: [BondKey] { log.withLock { $0 } }
  func append(_ key: BondKey) { log.withLock { $0.append(key) } }
}
