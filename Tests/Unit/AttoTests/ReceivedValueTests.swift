import TestSupport
import Testing

@testable import Atto

/// What values mean.
@Suite(.oneByOne) struct ReceivedValueTests {
  private func received(_ octets: [UInt8]) -> ReceivedValue {
    ReceivedValue(
      handle: 3, value: octets, isIndication: false, missed: 0, time: .init(nanoseconds: 0))
  }

  @Test func integers() {
    let value = received([0x16, 0x48, 0x01, 0xFF])
    #expect(value.integer() == UInt8(0x16))
    #expect(value.integer(at: 1, as: UInt16.self) == 0x0148)
    #expect(value.integer(at: 3, as: Int8.self) == -1)
    #expect(value.integer(at: 2, as: Int16.self) == -255)
    #expect(value.integer(as: UInt32.self) == 0xFF01_4816)
    #expect(Int32(littleEndianOctets: [0xFE, 0xFF, 0xFF, 0xFF]) == -2)
  }

  @Test func integersThatDoNotFit() {
    let value = received([1, 2, 3])
    #expect(value.integer(at: 2, as: UInt16.self) == nil)
    #expect(value.integer(at: 3, as: UInt8.self) == nil)
    #expect(value.integer(at: -1, as: UInt8.self) == nil)
    #expect(value.integer(at: .max, as: UInt8.self) == nil)
    #expect(value.integer(at: .min, as: UInt8.self) == nil)
    #expect(value.integer(as: UInt32.self) == nil)
    #expect(received([]).integer(as: UInt8.self) == nil)
  }

  @Test func text() {
    #expect(received(Array("Strap ♥".utf8)).text == "Strap ♥")
    #expect(received([]).text == "")
    #expect(received([0x41, 0xFF]).text == nil)
  }
}
