/// The data of a legacy advertisement and of its scan response, at most 31 octets each.
/// Vol 6, Part B, 2.3.1.
///
/// Flags are in the advertisement, as the Supplement requires (Part A, 1.3). Every other field is tried
/// in the advertisement first, then in the scan response. If a later field does not fit, earlier choices
/// are revised, so a layout is found if there is one. The name comes last: complete if there is room,
/// otherwise shortened in the part that has more room.
public struct LegacyAdvertisement: Hashable, Sendable {
  /// The longest part in octets.
  public static let capacity = 31

  /// The octets that every scanner receives.
  public let advertisement: [UInt8]
  /// The octets for scanners that request them (active scanning).
  public let scanResponse: [UInt8]

  /// Any octets, unchecked, to test scanners of other stacks. nil if a part is too long.
  public init?(advertisement: [UInt8], scanResponse: [UInt8]) {
    guard advertisement.count <= Self.capacity, scanResponse.count <= Self.capacity else {
      return nil
    }
    self.advertisement = advertisement
    self.scanResponse = scanResponse
  }

  /// Lays out the fields of `data`.
  ///
  /// - Parameters:
  ///   - isConnectable: a connectable advertisement has flags, by default general discoverable and no
  ///     BR/EDR.
  ///   - hasScanResponse: if false, all fields must fit the advertisement.
  /// - Throws: `doesNotFit` with the first field that has no room.
  public init(
    _ data: AdvertisingData, isConnectable: Bool = true, hasScanResponse: Bool = true
  ) throws(AdvertisingDataError) {
    let flags =
      data.flags ?? (isConnectable ? [.generalDiscoverable, .brEDRNotSupported] : nil)
    let fields = data.structures(flags: flags)
    var packing = Packing(
      hasFlags: flags != nil, scanResponseCapacity: hasScanResponse ? Self.capacity : 0)
    guard var places = packing.place(fields) else { throw packing.failure(fields) }
    var all = fields
    if let name = data.nameStructure {
      if let whole = packing.place(fields + [name]) {
        places = whole
        all.append(name)
      } else {
        let room = packing.room(fields, places)
        let isInResponse = room.scanResponse > room.advertisement
        let octets = (isInResponse ? room.scanResponse : room.advertisement) - 2
        let beginning = name.value.isEmpty ? [] : data.beginningOfName(octets: octets)
        guard !beginning.isEmpty else {
          let best = max(room.advertisement, room.scanResponse)
          throw .doesNotFit(
            name.kind, length: name.encodedLength, lacking: name.encodedLength - best)
        }
        all.append(.init(.shortenedLocalName, beginning))
        places.append(isInResponse)
      }
    }
    var parts: (advertisement: [UInt8], scanResponse: [UInt8]) = ([], [])
    for (structure, isInResponse) in zip(all, places) {
      if isInResponse {
        structure.append(to: &parts.scanResponse)
      } else {
        structure.append(to: &parts.advertisement)
      }
    }
    advertisement = parts.advertisement
    scanResponse = parts.scanResponse
  }
}

extension LegacyAdvertisement {
  /// The beginning of the name if it was shortened; nil if it is complete or absent.
  public var shortenedName: String? {
    for part in [advertisement, scanResponse] {
      let data = AdvertisingData(parsing: part)
      if data.nameIsShortened { return data.localName }
    }
    return nil
  }
}

extension AdvertisingData {
  /// The octets of as many whole characters of the name as there is room for.
  fileprivate func beginningOfName(octets limit: Int) -> [UInt8] {
    var octets: [UInt8] = []
    for character in localName ?? "" {
      guard octets.count + character.utf8.count <= limit else { break }
      octets += Array(character.utf8)
    }
    return octets
  }
}

/// The search for a layout: a walk over pairs of a field and the octets used in the advertisement. Dead
/// ends are stored, so there are at most 31 steps for each field.
private struct Packing {
  let hasFlags: Bool
  let scanResponseCapacity: Int

  private struct Position: Hashable {
    var field: Int
    var used: Int
  }

  /// For each field whether it is in the scan response; nil if they do not all fit.
  mutating func place(_ fields: [AdvertisingStructure]) -> [Bool]? {
    let capacity = LegacyAdvertisement.capacity
    let total = fields.reduce(0) { $0 + $1.encodedLength }
    guard total <= capacity + scanResponseCapacity else { return nil }
    var deadEnds: Set<Position> = []
    var places: [Bool] = []
    func walk(_ field: Int, used: Int, before: Int) -> Bool {
      guard field < fields.count else { return true }
      let position = Position(field: field, used: used)
      guard !deadEnds.contains(position) else { return false }
      let length = fields[field].encodedLength
      let isBound = hasFlags && field == 0
      for isInResponse in [false, true] where !(isInResponse && isBound) {
        let inResponse = before - used + (isInResponse ? length : 0)
        let inAdvertisement = used + (isInResponse ? 0 : length)
        guard inResponse <= scanResponseCapacity, inAdvertisement <= capacity else { continue }
        places.append(isInResponse)
        if walk(field + 1, used: inAdvertisement, before: before + length) { return true }
        places.removeLast()
      }
      deadEnds.insert(position)
      return false
    }
    return walk(0, used: 0, before: 0) ? places : nil
  }

  /// Octets that are left in both parts.
  func room(
    _ fields: [AdvertisingStructure], _ places: [Bool]
  ) -> (advertisement: Int, scanResponse: Int) {
    var room = (advertisement: LegacyAdvertisement.capacity, scanResponse: scanResponseCapacity)
    for (field, isInResponse) in zip(fields, places) {
      if isInResponse {
        room.scanResponse -= field.encodedLength
      } else {
        room.advertisement -= field.encodedLength
      }
    }
    return room
  }

  /// The error for the first field that does not fit after the fields before it.
  mutating func failure(_ fields: [AdvertisingStructure]) -> AdvertisingDataError {
    for count in fields.indices {
      let before = Array(fields[..<count])
      guard place(before + [fields[count]]) == nil, let places = place(before) else { continue }
      let room = room(before, places)
      let best = max(room.advertisement, room.scanResponse)
      let length = fields[count].encodedLength
      return .doesNotFit(fields[count].kind, length: length, lacking: length - best)
    }
    preconditionFailure("called for fields that fit")
  }
}
