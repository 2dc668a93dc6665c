import AttoATT

@testable import AttoRadio

/// The parser of advertising data. The input is a block of it.
///
/// Rules: nothing grows beyond the input; what is built of parsed data and parsed again is the same
/// data; data without a malformation can be built in no more octets than it came in; a
/// malformation is told with words and an offset in the block.
enum AdvertisingTarget {
  static func take(_ input: [UInt8]) {
    let data = AdvertisingData(parsing: input)
    let count =
      data.serviceUUIDs.count * 2 + data.solicitedServiceUUIDs.count * 2
      + data.serviceData.reduce(0) { $0 + $1.data.count + 2 }
      + data.manufacturerData.reduce(0) { $0 + $1.data.count + 2 }
      + data.others.reduce(0) { $0 + $1.value.count + 2 }
    Failure.unless(count <= input.count, "nothing grows beyond the input", hex(input))
    if let malformation = data.malformation {
      Failure.unless(!"\(malformation)".isEmpty, "a malformation is told with words", hex(input))
    }
    let isBuilt = rebuild(data, input)
    Failure.unless(
      isBuilt || data.malformation != nil, "data that is right can be built again", hex(input))
  }

  /// Builds the data and parses it again.
  private static func rebuild(_ data: AdvertisingData, _ input: [UInt8]) -> Bool {
    let octets: [UInt8]
    do throws(AdvertisingDataError) {
      octets = try data.encoded(limit: .max / 2)
    } catch {
      // UUIDs of several lists become one, which may be too long for a structure.
      return input.count > 255
    }
    let again = AdvertisingData(parsing: octets)
    // Of what was wrong, which is kept beside, a second name may come first now.
    if data.malformation == nil {
      Failure.unless(
        Set(again.serviceUUIDs) == Set(data.serviceUUIDs)
          && Set(again.solicitedServiceUUIDs) == Set(data.solicitedServiceUUIDs)
          && again.localName == data.localName && again.flags == data.flags
          && again.txPower == data.txPower
          && again.appearance == data.appearance && again.serviceData == data.serviceData
          && again.manufacturerData == data.manufacturerData
          && again.advertisingInterval == data.advertisingInterval && again.others == data.others,
        "what is built parses as it was", "\(hex(input)), then \(hex(octets))")
    }
    return true
  }

  static var seeds: [[UInt8]] {
    [
      [2, 1, 6, 3, 3, 0x0D, 0x18, 6, 9] + Array("Strap".utf8),
      [3, 2, 0x0F, 0x18, 5, 5, 1, 2, 3, 4, 17, 7] + [UInt8](0..<16),
      [4, 0xFF, 0x4C, 0, 1, 2, 0x0A, 4, 3, 0x19, 0x41, 3, 3, 8] + Array("St".utf8),
      [4, 0x16, 0x0F, 0x18, 0x64, 6, 0x20, 1, 2, 3, 4, 5, 3, 0x1A, 0xA0, 0, 4, 0x2F, 0, 0, 1],
      [17, 0x21] + [UInt8](0..<16) + [3, 0x14, 0x0A, 0x18, 3, 0x1B, 0, 0, 0, 0],
    ]
  }
}
