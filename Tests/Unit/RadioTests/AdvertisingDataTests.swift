import AttoATT
import TestSupport
import Testing

@testable import AttoRadio

@Suite(.oneByOne) struct AdvertisingDataTests {
  static let strap = AdvertisingData(
    serviceUUIDs: [0x180D, 0x180F], localName: "Strap", txPower: -4, appearance: 0x0341)

  @Test func octetsOfAHeartRateStrap() throws {
    let laidOut = try LegacyAdvertisement(Self.strap)
    #expect(
      laidOut.advertisement == [
        0x02, 0x01, 0x06,
        0x05, 0x03, 0x0D, 0x18, 0x0F, 0x18,
        0x03, 0x19, 0x41, 0x03,
        0x02, 0x0A, 0xFC,
        0x06, 0x09, 0x53, 0x74, 0x72, 0x61, 0x70,
      ])
    #expect(laidOut.scanResponse == [])
    var expected = Self.strap
    expected.flags = [.generalDiscoverable, .brEDRNotSupported]
    #expect(AdvertisingData(parsing: laidOut.advertisement) == expected)
  }

  @Test func octetsOfEveryField() throws {
    let uuid = try #require(BluetoothUUID("6e400001-b5a3-f393-e0a9-e50e24dcca9e"))
    let uuidOctets: [UInt8] = [
      0x9E, 0xCA, 0xDC, 0x24, 0x0E, 0xE5, 0xA9, 0xE0, 0x93, 0xF3, 0xA3, 0xB5, 0x01, 0x00, 0x40,
      0x6E,
    ]
    let data = AdvertisingData(
      flags: [.limitedDiscoverable],
      serviceUUIDs: [0x180D, BluetoothUUID(0x1234_5678 as UInt32), uuid],
      listsAllServices: false,
      solicitedServiceUUIDs: [0x1805, BluetoothUUID(0xABCD_EF01 as UInt32), uuid],
      localName: "Sträp", nameIsShortened: true, txPower: 20, appearance: 0x00C1,
      serviceData: [
        .init(0x180F, [100]), .init(BluetoothUUID(0x1234_5678 as UInt32), []), .init(uuid, [1, 2]),
      ],
      manufacturerData: [.init(company: 0x004C, [0x02, 0x15]), .init(company: 0xFFFF, [])],
      advertisingInterval: 0x0001_0000,
      others: [.init(.init(rawValue: 0x24), [0x17, 0x2F]), .init(.init(rawValue: 0xEE), [])])
    let head: [UInt8] =
      [0x02, 0x01, 0x01]
      + [0x03, 0x02, 0x0D, 0x18] + [0x05, 0x04, 0x78, 0x56, 0x34, 0x12] + [0x11, 0x06] + uuidOctets
      + [0x03, 0x14, 0x05, 0x18] + [0x05, 0x1F, 0x01, 0xEF, 0xCD, 0xAB] + [0x11, 0x15] + uuidOctets
    let middle: [UInt8] =
      [0x03, 0x19, 0xC1, 0x00] + [0x02, 0x0A, 0x14]
      + [0x04, 0x16, 0x0F, 0x18, 0x64] + [0x05, 0x20, 0x78, 0x56, 0x34, 0x12]
      + [0x13, 0x21] + uuidOctets + [1, 2]
    let tail: [UInt8] =
      [0x05, 0xFF, 0x4C, 0x00, 0x02, 0x15] + [0x03, 0xFF, 0xFF, 0xFF]
      + [0x04, 0x2F, 0x00, 0x00, 0x01]
      + [0x03, 0x24, 0x17, 0x2F] + [0x01, 0xEE]
      + [0x07, 0x08, 0x53, 0x74, 0x72, 0xC3, 0xA4, 0x70]
    #expect(try data.encoded() == head + middle + tail)
    #expect(AdvertisingData(parsing: head + middle + tail) == data)
  }

  @Test(
    arguments: [
      (0x00A0, [0x03, 0x1A, 0xA0, 0x00]),
      (0xFFFF, [0x03, 0x1A, 0xFF, 0xFF]),
      (0x1_0000, [0x04, 0x2F, 0x00, 0x00, 0x01]),
      (0xFF_FFFF, [0x04, 0x2F, 0xFF, 0xFF, 0xFF]),
      (0x100_0000, [0x05, 0x2F, 0x00, 0x00, 0x00, 0x01]),
    ] as [(UInt32, [UInt8])])
  func intervalUsesTheShortestForm(interval: UInt32, octets: [UInt8]) throws {
    let data = AdvertisingData(advertisingInterval: interval)
    #expect(try data.encoded() == octets)
    #expect(AdvertisingData(parsing: octets) == data)
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func roundTrip(block: UInt64) throws {
    for seed in block * 100..<block * 100 + 100 {
      var generator = SplitMix64(seed: seed)
      let data = AdvertisingData.random(using: &generator)
      let parsed = AdvertisingData(parsing: try data.encoded(limit: .max))
      #expect(parsed == data, "seed \(seed)")
    }
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func fieldsOfALayoutAreParsed(block: UInt64) throws {
    var fitted = 0
    for seed in block * 100..<block * 100 + 100 {
      var generator = SplitMix64(seed: seed)
      let data = AdvertisingData.random(fields: 4, using: &generator)
      guard let laidOut = try? LegacyAdvertisement(data) else { continue }
      fitted += 1
      #expect(laidOut.advertisement.count <= 31 && laidOut.scanResponse.count <= 31, "seed \(seed)")
      #expect(AdvertisingData(parsing: laidOut.advertisement).flags != nil, "seed \(seed)")
      let found = AdvertisingData(
        advertisement: laidOut.advertisement, scanResponse: laidOut.scanResponse)
      #expect(found.malformation == nil, "seed \(seed)")
      #expect(Set(found.serviceUUIDs) == Set(data.serviceUUIDs), "seed \(seed)")
      #expect(Set(found.serviceData) == Set(data.serviceData), "seed \(seed)")
      #expect(Set(found.manufacturerData) == Set(data.manufacturerData), "seed \(seed)")
      #expect(found.txPower == data.txPower && found.appearance == data.appearance, "seed \(seed)")
      if let name = data.localName {
        #expect(name.hasPrefix(found.localName ?? "-"), "seed \(seed)")
        #expect(found.nameIsShortened || found.localName == name, "seed \(seed)")
      }
    }
    #expect(fitted > 10)
  }

  /// Strings of up to three octets: nothing, a truncated structure, or one structure with an empty value
  /// or a value of one octet.
  @Test func everyStringUpToThreeOctets() {
    for a in 0...255 as ClosedRange<UInt8> {
      check([a])
      for b in 0...255 as ClosedRange<UInt8> {
        check([a, b])
        for c in [0, 1, 2, 3, 0x7F, 0xFF] as [UInt8] { check([a, b, c]) }
      }
    }
    check([])
  }

  private func check(_ octets: [UInt8], _ location: SourceLocation = #_sourceLocation) {
    let found = AdvertisingData(parsing: octets)
    let length = Int(octets.first ?? 0)
    var expected = AdvertisingData()
    if length == 0 {
      if octets.contains(where: { $0 != 0 }) { expected.malformation = .dataAfterEnd(offset: 0) }
      #expect(found == expected, "\(octets)", sourceLocation: location)
    } else if length >= octets.count {
      expected.malformation = .overlong(offset: 0, length: length, available: octets.count - 1)
      #expect(found == expected, "\(octets)", sourceLocation: location)
    } else {
      let value = length == 2 ? octets[2] : nil
      #expect(found.flags?.rawValue == (octets[1] == 0x01 ? value ?? 0 : nil), "\(octets)")
      #expect(
        found.txPower == (octets[1] == 0x0A ? value.map { Int8(bitPattern: $0) } : nil), "\(octets)"
      )
      // After a structure without a value, the third octet is a length without a structure.
      if length == 1, octets.count == 3, octets[2] > 0 {
        #expect(found.malformation != nil, "\(octets)")
      }
    }
  }

  @Test func randomBytesParse() {
    for seed in 0..<20_000 as Range<UInt64> {
      var generator = SplitMix64(seed: seed)
      let bytes = generator.octets(.random(in: 0...64, using: &generator))
      let data = AdvertisingData(parsing: bytes)
      // Parsed fields can be encoded, and are parsed in the same way again.
      guard data.malformation == nil, let again = try? data.encoded() else { continue }
      #expect(AdvertisingData(parsing: again).serviceUUIDs == data.serviceUUIDs, "seed \(seed)")
    }
  }
}

/// Structures of each kind and each length, alone and truncated.
@Suite(.oneByOne) struct MalformedAdvertisingDataTests {
  /// Whether a value of the kind can have this length.
  static func isAllowed(_ kind: UInt8, _ length: Int) -> Bool {
    switch kind {
    case 0x02, 0x03, 0x14: length % 2 == 0
    case 0x04, 0x05, 0x1F: length % 4 == 0
    case 0x06, 0x07, 0x15: length % 16 == 0
    case 0x0A: length == 1
    case 0x19, 0x1A: length == 2
    case 0x2F: length == 3 || length == 4
    case 0x16, 0xFF: length >= 2
    case 0x20: length >= 4
    case 0x21: length >= 16
    default: true
    }
  }

  @Test func everyKindAtEveryLength() {
    for kind in 0...255 as ClosedRange<UInt8> {
      for length in 0...40 {
        let value = [UInt8](repeating: 0x41, count: length)
        let good: [UInt8] = [2, 1, 6]
        let data = AdvertisingData(parsing: good + [UInt8(length + 1), kind] + value)
        #expect(data.flags == [.generalDiscoverable, .brEDRNotSupported])
        if kind == 0x01 {
          #expect(data.malformation == .repeated(.flags, offset: 3))
        } else if Self.isAllowed(kind, length) {
          #expect(data.malformation == nil, "kind \(kind), length \(length)")
        } else {
          let structure = AdvertisingStructure(.init(rawValue: kind), value)
          #expect(
            data.malformation == .wrongLength(structure.kind, offset: 3, length: length),
            "kind \(kind), length \(length)")
          #expect(data.others == [structure])
        }
      }
    }
  }

  @Test func everyCutOfEveryKindKeepsTheFieldsBefore() {
    for kind in 0...255 as ClosedRange<UInt8> {
      let bytes: [UInt8] = [2, 0x0A, 7, 18, kind] + [UInt8](repeating: 0x41, count: 17)
      for cut in 4..<bytes.count {
        let data = AdvertisingData(parsing: Array(bytes[..<cut]))
        #expect(data.txPower == 7)
        #expect(data.malformation == .overlong(offset: 3, length: 18, available: cut - 4))
      }
    }
  }

  @Test func lengthZeroEnds() {
    let padded = AdvertisingData(parsing: [2, 1, 6, 0, 0, 0])
    #expect(padded.flags != nil && padded.malformation == nil)
    let hidden = AdvertisingData(parsing: [2, 1, 6, 0, 2, 0x0A, 7])
    #expect(hidden.txPower == nil)
    #expect(hidden.malformation == .dataAfterEnd(offset: 3))
  }

  @Test func aNameThatIsNotUTF8IsRepaired() {
    let data = AdvertisingData(parsing: [4, 9, 0x41, 0xFF, 0x42])
    #expect(data.localName == "A\u{FFFD}B")
    #expect(data.malformation == .notUTF8(offset: 0))
  }

  @Test func aSecondValueOfASingleFieldIsKeptInOthers() {
    let data = AdvertisingData(parsing: [2, 0x0A, 1, 2, 0x0A, 2, 3, 0x19, 1, 2, 2, 0x0A, 3])
    #expect(data.txPower == 1 && data.appearance == 0x0201)
    #expect(data.others == [.init(.txPowerLevel, [2]), .init(.txPowerLevel, [3])])
    #expect(data.malformation == .repeated(.txPowerLevel, offset: 3))
  }
}

@Suite(.oneByOne) struct LegacyAdvertisementTests {
  @Test func aLongNameGoesToTheScanResponse() throws {
    let data = AdvertisingData(
      serviceUUIDs: [0x180D], localName: "A name of twenty-nine octets.", txPower: 0)
    let laidOut = try LegacyAdvertisement(data)
    #expect(laidOut.advertisement == [2, 1, 6, 3, 3, 0x0D, 0x18, 2, 0x0A, 0])
    #expect(laidOut.scanResponse == [30, 9] + Array("A name of twenty-nine octets.".utf8))
  }

  @Test func aLongNameIsShortenedAtACharacter() throws {
    let name = String(repeating: "é", count: 20)
    let laidOut = try LegacyAdvertisement(AdvertisingData(localName: name))
    #expect(laidOut.scanResponse == [29, 8] + Array(String(repeating: "é", count: 14).utf8))
    let found = AdvertisingData(parsing: laidOut.scanResponse)
    #expect(found.nameIsShortened && found.localName == String(repeating: "é", count: 14))
  }

  @Test func earlierFieldsMoveForLaterOnes() throws {
    // 3 octets of flags. First fit would put 10 into the advertisement and 20 into the response, and
    // then have no room for 18.
    let data = AdvertisingData(
      manufacturerData: [
        .init(company: 1, [UInt8](repeating: 1, count: 6)),
        .init(company: 2, [UInt8](repeating: 2, count: 17)),
        .init(company: 3, [UInt8](repeating: 3, count: 24)),
      ])
    let laidOut = try LegacyAdvertisement(data)
    #expect(laidOut.advertisement.count == 3 + 28 || laidOut.scanResponse.count == 31)
    let found = AdvertisingData(
      advertisement: laidOut.advertisement, scanResponse: laidOut.scanResponse)
    #expect(Set(found.manufacturerData) == Set(data.manufacturerData))
  }

  @Test func aFieldThatDoesNotFitIsReported() {
    #expect(
      throws: AdvertisingDataError.doesNotFit(.manufacturerData, length: 34, lacking: 3)
    ) {
      try LegacyAdvertisement(
        AdvertisingData(manufacturerData: [.init(company: 1, [UInt8](repeating: 0, count: 30))]))
    }
    let uuids = (0..<3).map { BluetoothUUID(high: $0, low: 0) }
    let error = #expect(throws: AdvertisingDataError.self) {
      try LegacyAdvertisement(AdvertisingData(serviceUUIDs: uuids))
    }
    #expect(
      error.map(String.init(describing:)) == """
        the complete list of 128-bit service UUIDs takes 50 octets: 19 too many for the \
        advertisement and its scan response
        """)
    #expect(throws: AdvertisingDataError.doesNotFit(.completeLocalName, length: 7, lacking: 7)) {
      try LegacyAdvertisement(
        AdvertisingData(
          localName: "Strap",
          others: [
            .init(.init(rawValue: 0x24), [UInt8](repeating: 0, count: 26)),
            .init(.init(rawValue: 0x24), [UInt8](repeating: 0, count: 29)),
          ]))
    }
  }

  @Test func withoutAScanResponse31OctetsFit() throws {
    let data = AdvertisingData(
      localName: "Beacon", manufacturerData: [.init(company: 1, [UInt8](repeating: 9, count: 20))])
    let laidOut = try LegacyAdvertisement(data, isConnectable: false, hasScanResponse: false)
    #expect(laidOut.advertisement.count == 24 + 7)
    #expect(laidOut.scanResponse.isEmpty)
    #expect(AdvertisingData(parsing: laidOut.advertisement).localName == "Beaco")
    #expect(AdvertisingData(parsing: laidOut.advertisement).flags == nil)
  }

  @Test func theBlockOfAnExtendedAdvertisementHasALimit() throws {
    let data = AdvertisingData(manufacturerData: [
      .init(company: 1, [UInt8](repeating: 0, count: 253))
    ])
    #expect(throws: AdvertisingDataError.doesNotFit(.manufacturerData, length: 257, lacking: 1)) {
      try data.encoded()
    }
    #expect(throws: AdvertisingDataError.doesNotFit(.txPowerLevel, length: 3, lacking: 1)) {
      try AdvertisingData(txPower: 1).encoded(limit: 2)
    }
  }

  @Test func mergeJoinsBothParts() {
    var data = AdvertisingData(
      flags: [.generalDiscoverable], serviceUUIDs: [0x180D], localName: "St", nameIsShortened: true,
      txPower: 1)
    data.merge(
      scanResponse: AdvertisingData(
        serviceUUIDs: [0x180D, 0x180F], localName: "Strap", txPower: 2, appearance: 3))
    #expect(
      data
        == AdvertisingData(
          flags: [.generalDiscoverable], serviceUUIDs: [0x180D, 0x180F], localName: "Strap",
          txPower: 1, appearance: 3))
  }
}

extension AdvertisingData {
  /// A value that is the same after encoding and parsing: lists are in the order of their widths, and no
  /// name is empty.
  static func random(fields: Int = 8, using generator: inout SplitMix64) -> AdvertisingData {
    var data = AdvertisingData()
    func uuids(_ generator: inout SplitMix64) -> [BluetoothUUID] {
      let short = (0..<Int.random(in: 0...2, using: &generator)).map { _ in
        BluetoothUUID(UInt16.random(in: .min ... .max, using: &generator))
      }
      let middle = (0..<Int.random(in: 0...1, using: &generator)).map { _ in
        BluetoothUUID(UInt32.random(in: 0x1_0000 ... .max, using: &generator))
      }
      let long = (0..<Int.random(in: 0...1, using: &generator)).map { _ in
        BluetoothUUID(high: generator.next(), low: generator.next())
      }
      return short + middle + long
    }
    for _ in 0..<Int.random(in: 0...fields, using: &generator) {
      switch Int.random(in: 0...9, using: &generator) {
      case 0: data.flags = Flags(rawValue: .random(in: 0...255, using: &generator))
      case 1:
        data.serviceUUIDs = uuids(&generator)
        data.listsAllServices = data.serviceUUIDs.isEmpty || Bool.random(using: &generator)
      case 2: data.solicitedServiceUUIDs = uuids(&generator)
      case 3:
        let alphabet = Array("abcXYZ 019äßé心\u{1F493}")
        data.localName = String(
          (0..<Int.random(in: 1...24, using: &generator)).map { _ in
            alphabet.randomElement(using: &generator)!
          })
        data.nameIsShortened = Bool.random(using: &generator)
      case 4: data.txPower = .random(in: .min ... .max, using: &generator)
      case 5: data.appearance = .random(in: .min ... .max, using: &generator)
      case 6:
        if let uuid = uuids(&generator).first {
          data.serviceData.append(
            .init(uuid, generator.octets(.random(in: 0...9, using: &generator))))
        }
      case 7:
        data.manufacturerData.append(
          .init(
            company: .random(in: .min ... .max, using: &generator),
            generator.octets(.random(in: 0...9, using: &generator))))
      case 8: data.advertisingInterval = .random(in: .min ... .max, using: &generator)
      default:
        data.others.append(
          .init(
            .init(rawValue: .random(in: 0x30...0xFE, using: &generator)),
            generator.octets(.random(in: 0...9, using: &generator))))
      }
    }
    return data
  }
}
