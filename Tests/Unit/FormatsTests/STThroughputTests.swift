import AttoFormats
import TestSupport
import Testing

@Suite(.sideBySide) struct STThroughputTests {
  /// "123456789", by the loop over bits of ST's source.
  @Test func checkSum() {
    func bitwise(_ octets: [UInt8]) -> UInt8 {
      var crc: UInt8 = 0
      for octet in octets {
        crc ^= octet
        for _ in 0..<8 { crc = crc & 0x80 != 0 ? crc << 1 ^ 0x97 : crc << 1 }
      }
      return crc
    }
    for octets in [Array("123456789".utf8), [], [0xFF], Array(0...255)] {
      #expect(STThroughput.crc8(octets.span.bytes) == bitwise(octets))
    }
  }

  @Test func values() {
    let value = STThroughput.value(200, size: 8)
    #expect(value.dropLast() == [200, 1, 2, 3, 4, 5, 6])
    #expect(STThroughput.number(of: value.span.bytes) == 200)
    for index in value.indices {
      var damaged = value
      damaged[index] ^= 4
      #expect(STThroughput.number(of: damaged.span.bytes) == nil)
    }
    for length in 0..<4 {
      #expect(STThroughput.number(of: [UInt8](repeating: 0, count: length).span.bytes) == nil)
    }
    #expect(STThroughput.value(1, size: 0).count == 4)
  }
}
