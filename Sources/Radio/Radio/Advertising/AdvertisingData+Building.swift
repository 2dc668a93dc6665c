import AttoATT

/// Why advertising data cannot be built.
@nonexhaustive public enum AdvertisingDataError: Error, Hashable, Sendable {
  /// A field of `length` octets, including length and type, exceeds the room by `lacking` octets.
  case doesNotFit(AdvertisingStructure.Kind, length: Int, lacking: Int)
}

extension AdvertisingDataError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .doesNotFit(let kind, let length, let lacking):
      "the \(kind) takes \(length) octets: \(lacking) too many for the advertisement and its scan "
        + "response"
    }
  }
}

extension AdvertisingData {
  /// The structures for every field except the name, the most important first: what scanners
  /// filter by, then the small, then the large.
  func structures(flags: Flags?) -> [AdvertisingStructure] {
    var list: [AdvertisingStructure] = []
    if let flags { list.append(.init(.flags, [flags.rawValue])) }
    let complete = listsAllServices
    list += Self.lists(
      of: serviceUUIDs, complete ? .complete16BitServices : .incomplete16BitServices,
      complete ? .complete32BitServices : .incomplete32BitServices,
      complete ? .complete128BitServices : .incomplete128BitServices)
    list += Self.lists(
      of: solicitedServiceUUIDs, .solicited16BitServices, .solicited32BitServices,
      .solicited128BitServices)
    if let appearance { list.append(.init(.appearance, appearance.octets(2))) }
    if let txPower { list.append(.init(.txPowerLevel, [UInt8(bitPattern: txPower)])) }
    for item in serviceData {
      let uuid = item.uuid.shortestOctets
      let kinds: [Int: AdvertisingStructure.Kind] = [2: .serviceData16Bit, 4: .serviceData32Bit]
      list.append(.init(kinds[uuid.count] ?? .serviceData128Bit, uuid + item.data))
    }
    for item in manufacturerData {
      list.append(.init(.manufacturerData, item.company.octets(2) + item.data))
    }
    switch advertisingInterval {
    case nil: break
    case let interval? where interval <= 0xFFFF:
      list.append(.init(.advertisingInterval, interval.octets(2)))
    case let interval?:
      list.append(.init(.longAdvertisingInterval, interval.octets(interval >> 24 == 0 ? 3 : 4)))
    }
    return list + others
  }

  var nameStructure: AdvertisingStructure? {
    localName.map {
      .init(nameIsShortened ? .shortenedLocalName : .completeLocalName, Array($0.utf8))
    }
  }

  private static func lists(
    of uuids: [BluetoothUUID], _ kind16: AdvertisingStructure.Kind,
    _ kind32: AdvertisingStructure.Kind, _ kind128: AdvertisingStructure.Kind
  ) -> [AdvertisingStructure] {
    var values: [Int: [UInt8]] = [:]
    for uuid in uuids {
      let octets = uuid.shortestOctets
      values[octets.count, default: []] += octets
    }
    return [(2, kind16), (4, kind32), (16, kind128)].compactMap { width, kind in
      values[width].map { .init(kind, $0) }
    }
  }

  /// Encodes all fields in one block, as in extended advertising.
  ///
  /// - Parameter limit: the longest block in octets; 1,650 is the limit of an extended advertising
  ///   set (Vol 4, Part E, 7.8.57).
  /// - Throws: `doesNotFit` for a field beyond the limit, or longer than a structure can be.
  public func encoded(limit: Int = 1650) throws(AdvertisingDataError) -> [UInt8] {
    var bytes: [UInt8] = []
    var list = structures(flags: flags)
    if let nameStructure { list.append(nameStructure) }
    for structure in list {
      let lacking = max(
        structure.value.count - 254, bytes.count + structure.encodedLength - limit)
      guard lacking <= 0 else {
        throw .doesNotFit(structure.kind, length: structure.encodedLength, lacking: lacking)
      }
      structure.append(to: &bytes)
    }
    return bytes
  }
}
