import Atto
import AttoRadio

// Connections that this end makes.
extension BTPTester {
  /// The time limit of an attempt to connect, which the tester can cancel.
  private static let patience: Duration = .seconds(60)

  func connect(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let address = try parameters.address()
    // The type of the tester's own address.
    _ = try parameters.number(UInt8.self)
    try parameters.end()
    try connect(to: address)
    return []
  }

  func disconnect(_ parameters: inout BTPParameters) async throws(BTPStatus) -> [UInt8] {
    let address = try parameters.address()
    try parameters.end()
    if let attempt = gap.attempts.removeValue(forKey: address.value) {
      attempt.cancel()
    } else {
      await disconnect(try peer(address))
    }
    return []
  }

  func setAcceptList(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    var list: [BluetoothAddress] = []
    for _ in 0..<(try parameters.number(UInt8.self)) { list.append(try parameters.address()) }
    try parameters.end()
    gap.acceptList = list
    return []
  }

  private func connect(to address: BluetoothAddress) throws(BTPStatus) {
    let isListed = address == BluetoothAddress(0)
    guard peers[address.value] == nil, gap.attempts[address.value] == nil,
      !isListed || !gap.acceptList.isEmpty
    else { throw .fail }
    let (adapter, list) = (adapter, gap.acceptList)
    gap.attempts[address.value] = start {
      do {
        var target: BluetoothAddress? = address
        if isListed { target = try await Self.first(of: list, on: adapter) }
        if let target {
          let link = try await adapter.connect(to: target, timeout: Self.patience)
          await self.attemptIsOver(address)
          return await self.adopt(link)
        }
      } catch {
        await self.note("connection with \(address)", error)
      }
      await self.attemptIsOver(address)
    }
  }

  private func attemptIsOver(_ address: BluetoothAddress) { gap.attempts[address.value] = nil }

  /// The first of these peers that advertises connectably; nil if none does in time.
  private static func first(
    of list: [BluetoothAddress], on adapter: Adapter
  ) async throws(RadioError) -> BluetoothAddress? {
    var options = ScanOptions()
    options.addresses = Set(list.flatMap(\.kinds))
    options.timeout = patience
    for try await event in adapter.scan(options) {
      switch event {
      case .found(let device) where device.isConnectable,
        .seen(let device) where device.isConnectable:
        return device.address
      default: break
      }
    }
    return nil
  }

  func updateParameters(_ parameters: inout BTPParameters) async throws -> [UInt8] {
    let peer = try peer(try parameters.address())
    let lowest = try parameters.number(UInt16.self)
    let highest = try parameters.number(UInt16.self)
    let latency = try parameters.number(UInt16.self)
    let timeout = try parameters.number(UInt16.self)
    try parameters.end()
    guard lowest <= highest, adapter.index != nil else { throw BTPStatus.fail }
    try await adapter.loadConnectionParameters([
      peer.address: PreferredConnectionParameters(
        interval: lowest...highest, latency: latency, supervisionTimeout: timeout)
    ])
    return []
  }
}
