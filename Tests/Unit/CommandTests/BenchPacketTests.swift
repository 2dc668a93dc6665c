import TestSupport
import Testing

@testable import AttoBench

@Suite(.oneByOne) struct BenchPacketTests {
  private func decoded(_ octets: [UInt8]) -> BenchPacket? { BenchPacket(octets.span.bytes) }

  @Test("Packets of Bumble")
  func bumble() {
    #expect(decoded([0]) == .reset)
    #expect(
      decoded([1, 1, 4, 3, 2, 1, 0, 0, 0, 0, 9])
        == .sequence(number: 0x0102_0304, isLast: true, isChecked: false))
    #expect(decoded([2, 0, 5, 0, 0, 0]) == .acknowledgement(number: 5, isLast: false, nil))
    #expect(BenchPacket.reset.octets == [0])
    #expect(
      BenchPacket.acknowledgement(number: 5, isLast: true, nil).octets == [2, 1, 5, 0, 0, 0])
  }

  @Test("Own packets have check sums and reports", arguments: [10, 13, 14, 20, 244, 8190])
  func own(size: Int) {
    var value = [UInt8](repeating: 7, count: size)
    BenchPacket.fill(&value, number: 77, isLast: false, microseconds: 0x0403_0201)
    #expect(Array(value[6..<10]) == [1, 2, 3, 4])
    #expect(decoded(value) == .sequence(number: 77, isLast: false, isChecked: size >= 14))
    if size >= 14 {
      for index in [0, 2, 6, size / 2, size - 1] {
        value[index] ^= 0x10
        #expect(decoded(value) == nil, "\(index)")
        value[index] ^= 0x10
      }
    }
    let report = BenchPacket.Report(received: 1, damaged: 2, cpuMicroseconds: 3)
    let packet = BenchPacket.acknowledgement(number: 9, isLast: true, report)
    // It fits the default MTU.
    #expect(packet.octets.count <= 20 && decoded(packet.octets) == packet)
  }

  @Test("Malformed packets")
  func malformed() {
    for octets: [UInt8] in [
      [], [3], [255], [1], [1, 0, 1, 2, 3, 4, 0, 0, 0], [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3],
      [2, 0, 1, 2, 3],
    ] {
      #expect(decoded(octets) == nil, "\(octets)")
    }
    // A report that is too short is none.
    #expect(decoded([2, 3, 1, 0, 0, 0, 9]) == .acknowledgement(number: 1, isLast: true, nil))
  }
}
