import AttoFormats
import TestSupport
import Testing

@Suite(.sideBySide) struct SequenceCountTests {
  private func count(_ numbers: [UInt32]) -> SequenceCount {
    var count = SequenceCount()
    for number in numbers { count.receive(number) }
    return count
  }

  private func tally(_ numbers: [UInt32]) -> [UInt64] {
    let count = count(numbers)
    return [count.received, count.lost, count.doubled, count.outOfOrder]
  }

  @Test func inOrder() {
    #expect(tally([]) == [0, 0, 0, 0])
    #expect(tally(Array(0..<1000)) == [1000, 0, 0, 0])
    #expect(tally(Array(500..<600)) == [100, 0, 0, 0])
    #expect(tally([.max - 1, .max, 0, 1]) == [4, 0, 0, 0])
  }

  @Test func lost() {
    #expect(tally([0, 1, 4, 5]) == [4, 2, 0, 0])
    #expect(tally([0, 100]) == [2, 99, 0, 0])
    #expect(tally([.max, 1]) == [2, 1, 0, 0])
  }

  @Test func doubled() {
    #expect(tally([0, 1, 1, 2, 0]) == [5, 0, 2, 0])
  }

  @Test func late() {
    #expect(tally([0, 2, 1, 3]) == [4, 0, 0, 1])
    #expect(tally([0, 3, 2, 1, 1, 4]) == [6, 0, 1, 2])
    // A number that is too old counts as late and stays counted as lost.
    #expect(tally([0, 100, 2]) == [3, 99, 0, 1])
    #expect(tally([0, 64, 1]) == [3, 62, 0, 1])
    #expect(tally([0, 63, 0]) == [3, 62, 1, 0])
  }

  @Test func encodesTallies() {
    var tally = WriteTally()
    tally.writes = 1
    tally.octets = 0x0102_0304_0506_0708
    tally.microseconds = .max
    #expect(tally.value.count == WriteTally.length)
    #expect(tally.value[8..<16].elementsEqual([8, 7, 6, 5, 4, 3, 2, 1]))
    #expect(WriteTally(value: tally.value) == tally)
    #expect(WriteTally(value: Array(tally.value.dropLast())) == nil)
  }
}
