import AttoRadio

/// A file with a firmware image of MCUboot, checked as far as a host can.
///
/// # Theory
/// A header, the code, and areas of typed values (TLV) follow each other; all numbers have the
/// least significant octet first. One of the values is the hash of all that precedes the
/// unprotected area. By this hash a device names the image; the upload is identified by the hash of
/// the whole file instead.
package struct FirmwareImage: Sendable {
  package struct Version: Hashable, Sendable, CustomStringConvertible {
    package var major: UInt8
    package var minor: UInt8
    package var revision: UInt16
    package var build: UInt32

    package var description: String {
      "\(major).\(minor).\(revision)" + (build == 0 ? "" : "+\(build)")
    }
  }

  package enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
    case noImage
    case truncated(expected: Int, found: Int)
    case noHash
    case wrongHash

    package var description: String {
      switch self {
      case .noImage:
        "no firmware image of MCUboot: a signed file, such as zephyr.signed.bin, is needed"
      case .truncated(let expected, let found):
        "the image is cut off: \(found) of at least \(expected) octets"
      case .noHash: "the image has no hash: it is not signed by imgtool"
      case .wrongHash: "the image is damaged: its hash is another one"
      }
    }
  }

  private static let magic: UInt32 = 0x96F3_B83D
  private static let headerLength = 32
  private static let tlvMagic: UInt16 = 0x6907
  private static let hashType: UInt16 = 0x10

  /// The whole file.
  package let octets: [UInt8]
  package let version: Version
  /// By which the device names the image.
  package let hash: [UInt8]
  /// Of the whole file.
  package let fileHash: [UInt8]

  package init(_ octets: [UInt8]) throws(Fault) {
    guard octets.count >= Self.headerLength, Self.number32(octets, 0) == Self.magic else {
      throw .noImage
    }
    let protected = Int(Self.number16(octets, 10))
    // Each is less than 2^32, so this cannot overflow.
    let end = Int(Self.number16(octets, 8)) + Int(Self.number32(octets, 12)) + protected
    guard octets.count >= end + 4 else { throw .truncated(expected: end + 4, found: octets.count) }
    guard Self.number16(octets, end) == Self.tlvMagic else { throw .noHash }
    let last = end + Int(Self.number16(octets, end + 2))
    guard octets.count >= last else { throw .truncated(expected: last, found: octets.count) }
    var place = end + 4
    var found: [UInt8]?
    while place + 4 <= last, found == nil {
      let next = place + 4 + Int(Self.number16(octets, place + 2))
      guard next <= last else { break }
      if Self.number16(octets, place) == Self.hashType { found = Array(octets[(place + 4)..<next]) }
      place = next
    }
    guard let found, found.count == SHA256.length else { throw .noHash }
    guard SHA256.hash(octets[..<end]) == found else { throw .wrongHash }
    self.octets = octets
    version = Version(
      major: octets[20], minor: octets[21], revision: Self.number16(octets, 22),
      build: Self.number32(octets, 24))
    hash = found
    fileHash = SHA256.hash(octets[...])
  }

  private static func number16(_ octets: [UInt8], _ place: Int) -> UInt16 {
    UInt16(octets: octets[place..<(place + 2)])
  }

  private static func number32(_ octets: [UInt8], _ place: Int) -> UInt32 {
    UInt32(octets: octets[place..<(place + 4)])
  }
}
