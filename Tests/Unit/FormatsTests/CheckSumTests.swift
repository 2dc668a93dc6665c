import AttoFormats
import TestSupport
import Testing

@Suite(.sideBySide) struct CheckSumTests {
  private func crc32(_ octets: [UInt8]) -> UInt32 { CheckSum.crc32(octets.span.bytes) }
  private func isCorrect(_ value: [UInt8]) -> Bool { CheckSum.isCorrect(value.span.bytes) }

  @Test("The check sum is that of zlib")
  func crc() {
    #expect(crc32(Array("123456789".utf8)) == 0xCBF4_3926)
    #expect(crc32([UInt8]()) == 0)
    #expect(crc32([UInt8](repeating: 0xA5, count: 61)) == 0x3758_CE1A)
  }

  @Test("Each wrong bit is noticed; short values have no check sum")
  func values() {
    for size in [8, 15, 16, 17, 244] {
      var value = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      CheckSum.complete(&value)
      #expect(isCorrect(value))
      for bit in 0..<size * 8 {
        value[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(!isCorrect(value))
        value[bit / 8] ^= 1 << UInt8(bit % 8)
      }
    }
    var short: [UInt8] = [1, 2, 3, 4, 5, 6, 7]
    CheckSum.complete(&short)
    #expect(short == [1, 2, 3, 4, 5, 6, 7] && isCorrect(short))
  }

  @Test("Metrics are those of Nordic's throughput service")
  func metrics() {
    let metrics = ThroughputMetrics(writes: 3, octets: 732, nanoseconds: 2_000_000)
    #expect(metrics.bitsPerSecond == 2_928_000)
    #expect(metrics.value == [3, 0, 0, 0, 0xDC, 2, 0, 0, 0x80, 0xAD, 0x2C, 0])
    #expect(ThroughputMetrics(value: metrics.value) == metrics)
    #expect(ThroughputMetrics(value: [0]) == nil)
    #expect(ThroughputMetrics(writes: 1, octets: 1 << 33, nanoseconds: 1).bitsPerSecond == .max)
  }
}
