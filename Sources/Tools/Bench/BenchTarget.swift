import Atto
import AttoCommandLine
import AttoGATT

/// The characteristic that a test uses.
package struct BenchTarget: Sendable {
  package var handle: AttributeHandle
  var uuid: BluetoothUUID
  var configuration: AttributeHandle?
  /// The handles of all values to write. Writes to one value keep their order, and so share a bearer.
  var sinks: [AttributeHandle] = []
  /// Whether it is one of `Fixtures/bench.json`, with numbered values that the peer counts.
  var isBench = false
  /// Whether it is that of Nordic's throughput service, which counts writes.
  var isThroughput = false
  /// The value of `Fixtures/bench.json` with the CPU time of the peer.
  var processTime: AttributeHandle?

  /// Nordic's throughput service (nRF Connect SDK).
  private static let throughput = BluetoothUUID(
    high: 0x0483_DADD_6C9D_6CA9, low: 0x5D41_03AD_4FFF_4ABB)

  /// The service of ESP-IDF's example nimble/throughput_app, 1, or one of its characteristics.
  private static func ofESP(_ number: UInt64) -> BluetoothUUID {
    BluetoothUUID(high: number << 32 | 0x8C26_476F, low: 0x89A7_A108_033A_69C7)
  }

  /// The characteristic with which a service for such measurements wants a test made.
  private static func published(
    _ test: BenchTest, in database: RemoteDatabase
  ) -> Characteristic? {
    let place: (BluetoothUUID, BluetoothUUID)? =
      switch test {
      case .writeCommand: (throughput, BluetoothUUID(0x1524))
      case .write: (ofESP(1), ofESP(6))
      case .notify: (ofESP(1), ofESP(0xA))
      case .read, .longRead: (ofESP(1), ofESP(0xB))
      case .indicate, .discover, .ping: nil
      }
    return place.flatMap { service, uuid in
      database.service(service)?.characteristics.first { $0.uuid == uuid && suits($0, test) }
    }
  }

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

  /// Finds a characteristic: the one that the user named, else one of `Fixtures/bench.json`, else the
  /// first suitable one. Values are written only if the user named one or it is of bench.json.
  ///
  /// - Throws: `UsageError` if there is none.
  package static func find(
    _ test: BenchTest, in database: RemoteDatabase, named handle: AttributeHandle?
  ) throws -> BenchTarget? {
    guard test != .discover, test != .ping else { return nil }
    let all = database.services.flatMap(\.characteristics)
    let time = all.first { $0.uuid == bench(6) }?.valueHandle
    func target(_ one: Characteristic, isBench: Bool) -> BenchTarget {
      var target = Self.target(one, isBench: isBench)
      target.processTime = time
      target.isThroughput = database.services.contains {
        $0.uuid == throughput
          && $0.characteristics.contains { $0.valueHandle == target.handle }
      }
      return target
    }
    if let handle {
      guard
        let one = all.first(where: { $0.valueHandle == handle || $0.declarationHandle == handle })
      else {
        throw UsageError(
          "the peer has no characteristic at \(handle)", hint: "atto discover lists them")
      }
      guard suits(one, test) else {
        throw UsageError(
          "--test \(test.rawValue) cannot use \(one.valueHandle): it requires \(test.need)")
      }
      return target(one, isBench: one.uuid == benchUUID(test))
    }
    if let uuid = benchUUID(test), let own = all.first(where: { $0.uuid == uuid }), suits(own, test)
    {
      var target = target(own, isBench: true)
      target.sinks = all.filter { $0.uuid == uuid && suits($0, test) }.map(\.valueHandle)
      return target
    }
    if let one = published(test, in: database) { return target(one, isBench: false) }
    if test != .write, test != .writeCommand, let one = all.first(where: { suits($0, test) }) {
      return target(one, isBench: false)
    }
    throw UsageError(
      "--test \(test.rawValue) requires \(test.need), and the peer has none",
      hint: "run atto serve Fixtures/bench.json as the peer")
  }

  private static func target(_ one: Characteristic, isBench: Bool) -> BenchTarget {
    BenchTarget(
      handle: one.valueHandle, uuid: one.uuid,
      configuration: one.descriptors.first {
        $0.uuid == .clientCharacteristicConfiguration
      }?.handle,
      sinks: [one.valueHandle], isBench: isBench)
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
