import AttoATT

extension AdvertisingData {
  /// Parses advertising data or scan response data. Never fails: `malformation` is the first error.
  /// Vol 3, Part C, 11.
  public init(parsing bytes: [UInt8]) {
    self.init()
    var offset = 0
    while offset < bytes.count {
      let length = Int(bytes[offset])
      guard length > 0 else {
        if bytes[offset...].contains(where: { $0 != 0 }) { blame(.dataAfterEnd(offset: offset)) }
        return
      }
      let available = bytes.count - offset - 1
      guard length <= available else {
        blame(.overlong(offset: offset, length: length, available: available))
        return
      }
      let structure = AdvertisingStructure(
        .init(rawValue: bytes[offset + 1]), Array(bytes[offset + 2..<offset + 1 + length]))
      read(structure, at: offset)
      offset += 1 + length
    }
  }

  private mutating func blame(_ malformation: Malformation) {
    self.malformation = self.malformation ?? malformation
  }

  private mutating func read(_ structure: AdvertisingStructure, at offset: Int) {
    let value = structure.value
    var isRepeated = false
    var isRead = true
    switch structure.kind {
    case .flags:
      isRepeated = flags != nil
      if !isRepeated { flags = Flags(rawValue: value.first ?? 0) }
    case .incomplete16BitServices, .complete16BitServices:
      isRead = append(value, width: 2, to: \.serviceUUIDs)
    case .incomplete32BitServices, .complete32BitServices:
      isRead = append(value, width: 4, to: \.serviceUUIDs)
    case .incomplete128BitServices, .complete128BitServices:
      isRead = append(value, width: 16, to: \.serviceUUIDs)
    case .solicited16BitServices: isRead = append(value, width: 2, to: \.solicitedServiceUUIDs)
    case .solicited32BitServices: isRead = append(value, width: 4, to: \.solicitedServiceUUIDs)
    case .solicited128BitServices: isRead = append(value, width: 16, to: \.solicitedServiceUUIDs)
    case .shortenedLocalName, .completeLocalName:
      let isShortened = structure.kind == .shortenedLocalName
      isRepeated = localName != nil && nameIsShortened == isShortened
      if localName == nil || (nameIsShortened && !isShortened) {
        localName = String(decoding: value, as: UTF8.self)
        nameIsShortened = isShortened
        if String(validating: value, as: UTF8.self) == nil { blame(.notUTF8(offset: offset)) }
      }
    case .txPowerLevel: isRead = set(\.txPower, 1, value, &isRepeated) { Int8(bitPattern: $0[0]) }
    case .appearance: isRead = set(\.appearance, 2, value, &isRepeated) { UInt16(octets: $0) }
    case .advertisingInterval:
      isRead = set(\.advertisingInterval, 2, value, &isRepeated) { UInt32(octets: $0) }
    case .longAdvertisingInterval:
      isRead = set(\.advertisingInterval, value.count == 4 ? 4 : 3, value, &isRepeated) {
        UInt32(octets: $0)
      }
    case .serviceData16Bit: isRead = appendServiceData(value, width: 2)
    case .serviceData32Bit: isRead = appendServiceData(value, width: 4)
    case .serviceData128Bit: isRead = appendServiceData(value, width: 16)
    case .manufacturerData:
      isRead = value.count >= 2
      if isRead {
        manufacturerData.append(.init(company: UInt16(octets: value[..<2]), Array(value[2...])))
      }
    default: others.append(structure)
    }
    switch structure.kind {
    case .incomplete16BitServices, .incomplete32BitServices, .incomplete128BitServices:
      listsAllServices = false
    default: break
    }
    if isRepeated { blame(.repeated(structure.kind, offset: offset)) }
    if !isRead {
      blame(.wrongLength(structure.kind, offset: offset, length: value.count))
    }
    if isRepeated || !isRead { others.append(structure) }
  }

  /// Reads a field that may occur once; false if its length is invalid.
  private mutating func set<Value>(
    _ field: WritableKeyPath<AdvertisingData, Value?>, _ length: Int, _ value: [UInt8],
    _ isRepeated: inout Bool, _ read: ([UInt8]) -> Value
  ) -> Bool {
    guard value.count == length else { return false }
    isRepeated = self[keyPath: field] != nil
    if !isRepeated { self[keyPath: field] = read(value) }
    return true
  }

  /// Reads a list of UUIDs; false if its length is no multiple of theirs.
  private mutating func append(
    _ value: [UInt8], width: Int, to list: WritableKeyPath<AdvertisingData, [BluetoothUUID]>
  ) -> Bool {
    guard value.count.isMultiple(of: width) else { return false }
    for start in stride(from: 0, to: value.count, by: width) {
      self[keyPath: list].append(BluetoothUUID(octets: value[start..<start + width]))
    }
    return true
  }

  private mutating func appendServiceData(_ value: [UInt8], width: Int) -> Bool {
    guard value.count >= width else { return false }
    serviceData.append(.init(BluetoothUUID(octets: value[..<width]), Array(value[width...])))
    return true
  }
}

extension FixedWidthInteger {
  /// A number from octets, least significant first. There must not be more than fit.
  package init(octets: some Sequence<UInt8>) {
    self = 0
    for (position, octet) in octets.enumerated() {
      self |= Self(truncatingIfNeeded: octet) << (position * 8)
    }
  }

  /// The lowest octets of a number, least significant first.
  package func octets(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
  }
}

extension BluetoothUUID {
  /// A UUID from 2, 4 or 16 octets, least significant first.
  init(octets: ArraySlice<UInt8>) {
    switch octets.count {
    case 2: self.init(UInt16(octets: octets))
    case 4: self.init(UInt32(octets: octets))
    default:
      self.init(high: UInt64(octets: octets.suffix(8)), low: UInt64(octets: octets.prefix(8)))
    }
  }

  /// The shortest form: 2, 4 or 16 octets, least significant first.
  var shortestOctets: [UInt8] {
    if let short { return short.octets(2) }
    if let short32 { return short32.octets(4) }
    return low.octets(8) + high.octets(8)
  }
}
