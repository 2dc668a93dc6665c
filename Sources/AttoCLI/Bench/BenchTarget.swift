import Atto

/// The attribute of the peer that a test uses.
struct BenchTarget: Sendable {
  var handle: AttributeHandle
  /// Its Client Characteristic Configuration.
  var configuration: AttributeHandle?
  /// Whether values are numbered and, where that can be told, counted at the peer: one of
  /// `Fixtures/bench.json`.
  var isBench = false

  /// The characteristics of `Fixtures/bench.json`.
  private static func bench(_ number: UInt64) -> BluetoothUUID {
    BluetoothUUID(high: 0xA77B_0000_0D3E_4F6B | number << 32, low: 0x9C11_5A2E_7B60_0001)
  }

  private static func benchUUID(_ test: BenchTest) -> BluetoothUUID? {
    switch test {
    case .read: bench(2)
    case .longRead: bench(3)
    case .write, .writeCommand: bench(4)
    case .notify, .indicate: bench(5)
    case .discover, .ping: nil
    }
  }

  /// Finds what a test can use: what the user named, else a bench's own, else one that it does no
  /// harm to use: values of others are read and subscribed to, but never written unasked.
  ///
  /// - Throws: `CheckFailure` if there is none: it says what is needed.
  static func find(
    _ test: BenchTest, in database: RemoteDatabase, named handle: AttributeHandle?
  ) throws -> BenchTarget? {
    guard test != .discover, test != .ping else { return nil }
    let all = database.services.flatMap(\.characteristics)
    if let handle {
      guard let one = all.first(where: { $0.valueHandle == handle || $0.handle == handle }) else {
        throw UsageError("the peer has no characteristic at \(handle); see atto discover")
      }
      guard suits(one, test) else {
        throw UsageError(
          "\(one.valueHandle) does not suit --test \(test.rawValue), which needs \(test.need)")
      }
      return target(one, isBench: one.uuid == benchUUID(test))
    }
    if let uuid = benchUUID(test), let own = all.first(where: { $0.uuid == uuid }),
      suits(own, test)
    {
      return target(own, isBench: true)
    }
    if test != .write, test != .writeCommand, let one = all.first(where: { suits($0, test) }) {
      return target(one, isBench: false)
    }
    throw UsageError(
      "the peer has nothing for --test \(test.rawValue): it needs \(test.need); "
        + "atto serve Fixtures/bench.json offers all kinds")
  }

  private static func target(_ one: Characteristic, isBench: Bool) -> BenchTarget {
    BenchTarget(
      handle: one.valueHandle,
      configuration: one.descriptors.first {
        $0.uuid == .clientCharacteristicConfiguration
      }?.handle,
      isBench: isBench)
  }

  private static func suits(_ one: Characteristic, _ test: BenchTest) -> Bool {
    let hasConfiguration = one.descriptors.contains {
      $0.uuid == .clientCharacteristicConfiguration
    }
    return switch test {
    case .read, .longRead: one.properties.contains(.read)
    case .write: one.properties.contains(.write)
    case .writeCommand: one.properties.contains(.writeWithoutResponse)
    case .notify: one.properties.contains(.notify) && hasConfiguration
    // Service Changed indicates, but never by itself.
    case .indicate:
      one.properties.contains(.indicate) && hasConfiguration && one.uuid != .serviceChanged
    case .discover, .ping: true
    }
  }
}
