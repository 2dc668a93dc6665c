/// What has come of a file and was not taken yet.
///
/// It holds no more than a record and what was appended last, for whoever fills it takes records
/// before appending more.
struct CaptureBuffer: Sendable {
  private var octets: [UInt8] = []
  private var start = 0
  /// Octets of the file before those that are left.
  private(set) var offset = 0

  var count: Int { octets.count - start }

  mutating func append(_ more: some Collection<UInt8>) {
    octets.removeFirst(start)
    start = 0
    octets += more
  }

  /// The caller has looked at ``count`` in all of these.
  subscript(index: Int) -> UInt8 { octets[start + index] }

  func prefix(_ length: Int) -> ArraySlice<UInt8> { octets[start..<start + length] }

  mutating func drop(_ length: Int) {
    start += length
    offset += length
  }

  mutating func take(_ length: Int) -> [UInt8] {
    let taken = Array(prefix(length))
    drop(length)
    return taken
  }

  func number32(at index: Int, isBig: Bool) -> UInt32 {
    octets.number32(at: start + index, isBig: isBig)
  }
}

extension Array where Element == UInt8 {
  /// The caller has looked at the length in all of these.
  func number16(at index: Int, isBig: Bool) -> UInt16 {
    let (first, second) = (UInt16(self[index]), UInt16(self[index + 1]))
    return isBig ? first << 8 | second : second << 8 | first
  }

  func number32(at index: Int, isBig: Bool) -> UInt32 {
    let first = UInt32(number16(at: index, isBig: isBig))
    let second = UInt32(number16(at: index + 2, isBig: isBig))
    return isBig ? first << 16 | second : second << 16 | first
  }
}
