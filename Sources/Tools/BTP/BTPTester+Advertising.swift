import Atto
import AttoRadio

// Advertising and discovery.
extension BTPTester {
  private static let forever = UInt32.max

  func startAdvertising(_ parameters: inout BTPParameters) async throws -> [UInt8] {
    let length = Int(try parameters.number(UInt8.self))
    let responseLength = Int(try parameters.number(UInt8.self))
    let advertisement = try Self.structures(try parameters.octets(length))
    let response = try Self.structures(try parameters.octets(responseLength))
    let duration = try parameters.number(UInt32.self)
    _ = try parameters.number(UInt8.self)
    try parameters.end()
    guard gap.advertisement == nil,
      let octets = LegacyAdvertisement(
        advertisement: withFlags(advertisement), scanResponse: response)
    else { throw BTPStatus.fail }
    var advertising = AdvertisingParameters(octets: octets)
    advertising.isConnectable = gap.isConnectable
    let started = try await adapter.advertise(advertising)
    gap.advertisement = started
    gap.advertising.append(
      start { for await link in started.links { await self.adopt(link) } })
    guard duration != Self.forever else { return await settings() }
    let loop = loop
    gap.advertising.append(
      start {
        guard (try? await loop.sleep(for: .seconds(Int64(duration)))) != nil else { return }
        await self.advertisingIsOver(started)
      })
    return await settings()
  }

  private func advertisingIsOver(_ advertisement: Advertisement) async {
    guard gap.advertisement === advertisement else { return }
    stopAdvertising()
    await sendSettings()
  }

  func stopAdvertising(_ parameters: inout BTPParameters) async throws(BTPStatus) -> [UInt8] {
    try parameters.end()
    stopAdvertising()
    return await settings()
  }

  func stopAdvertising() {
    gap.advertisement?.stop()
    gap.advertisement = nil
    for task in gap.advertising { task.cancel() }
    gap.advertising = []
  }

  /// Advertising data from the protocol's structures, which have the type before the length.
  private static func structures(_ octets: [UInt8]) throws(BTPStatus) -> [UInt8] {
    var parameters = BTPParameters(octets)
    var data: [UInt8] = []
    while parameters.count > 0 {
      let type = try parameters.number(UInt8.self)
      let length = try parameters.number(UInt8.self)
      guard length < .max else { throw .fail }
      data += [length + 1, type] + (try parameters.octets(Int(length)))
    }
    return data
  }

  /// Adds the flags, which testers leave to this end, unless there are some or there is no room.
  private func withFlags(_ data: [UInt8]) -> [UInt8] {
    guard AdvertisingData(parsing: data).flags == nil,
      data.count + 3 <= LegacyAdvertisement.capacity
    else { return data }
    var flags: AdvertisingData.Flags = .brEDRNotSupported
    switch gap.discoverable {
    case .no: break
    case .general: flags.insert(.generalDiscoverable)
    case .limited: flags.insert(.limitedDiscoverable)
    }
    return [2, AdvertisingStructure.Kind.flags.rawValue, flags.rawValue] + data
  }

  // MARK: Discovery

  private struct DiscoveryFlags: OptionSet {
    let rawValue: UInt8
    static let lowEnergy = DiscoveryFlags(rawValue: 1 << 0)
    static let limited = DiscoveryFlags(rawValue: 1 << 2)
    static let active = DiscoveryFlags(rawValue: 1 << 3)
    static let observation = DiscoveryFlags(rawValue: 1 << 4)
    static let acceptList = DiscoveryFlags(rawValue: 1 << 6)
  }

  func startDiscovery(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let flags = DiscoveryFlags(rawValue: try parameters.number())
    try parameters.end()
    var options = ScanOptions()
    options.isActive = flags.contains(.active)
    guard flags.contains(.lowEnergy), gap.discovery == nil else { throw .fail }
    if flags.contains(.acceptList) { options.addresses = Set(gap.acceptList.flatMap(\.kinds)) }
    let events = adapter.scan(options)
    gap.discovery = start {
      do {
        for try await event in events {
          await self.room()
          switch event {
          case .found(let device), .seen(let device): await self.found(device, flags)
          default: break
          }
        }
      } catch {
        await self.note("discovery", error)
      }
    }
    return []
  }

  private func found(_ device: Discovery, _ flags: DiscoveryFlags) {
    let shown = device.data.flags ?? []
    let isWanted =
      flags.contains(.observation) || shown.contains(.limitedDiscoverable)
      || (!flags.contains(.limited) && shown.contains(.generalDiscoverable))
    guard isWanted, gap.discovery != nil else { return }
    var content: UInt8 = device.rssi == 127 ? 0b010 : 0b011
    if !device.scanResponse.isEmpty { content |= 0b100 }
    send(
      0x81, of: .gap,
      device.address.btp + [UInt8(bitPattern: device.rssi), content]
        + (device.advertisement + device.scanResponse).btpValue)
  }

  func stopDiscovery(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    try parameters.end()
    stopDiscovery()
    return []
  }

  func stopDiscovery() {
    gap.discovery?.cancel()
    gap.discovery = nil
  }
}

extension BluetoothAddress {
  /// The address as a public and as a random one.
  var kinds: [BluetoothAddress] {
    [BluetoothAddress(value, kind: .public), BluetoothAddress(value, kind: .random)]
  }
}
