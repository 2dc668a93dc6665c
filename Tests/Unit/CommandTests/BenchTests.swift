import TestSupport
import Testing

@testable import AttoBench
@testable import AttoCommandLine

@Suite(.oneByOne) struct BenchTests {
  /// The rates of values at the given times in milliseconds.
  private func rates(_ times: some Sequence<Int>) -> [Double] {
    var rates = RateOverTime()
    for time in times { rates.add(at: Int64(time) * 1_000_000) }
    return rates.steps.map(\.rate)
  }

  @Test("Regular values have one rate, however they fall into slots")
  func regular() {
    for interval in [7, 15, 33, 49, 50, 51, 100, 120, 333, 4000] {
      let rates = rates((1...200).map { $0 * interval })
      #expect(rates.count > 4)
      #expect(rates.allSatisfy { abs($0 * Double(interval) / 1000 - 1) < 0.0001 }, "\(interval)")
    }
  }

  @Test("Bursts have one rate")
  func bursts() {
    // The pause after a burst is sometimes little longer than its gaps.
    for (interval, size, gap) in [
      (15, 9, 1), (35, 9, 1), (60, 9, 1), (100, 9, 1), (130, 30, 1), (100, 47, 2), (130, 64, 2),
    ] {
      let rates = rates((0..<40 * size).map { $0 / size * interval + $0 % size * gap })
      #expect(rates.count > 4)
      // The last step may end within a burst, and a burst comes before the first pause.
      for rate in rates.dropFirst().dropLast() {
        let wanted = Double(size * 1000) / Double(interval)
        #expect(abs(rate / wanted - 1) < 0.02, "\(interval): \(rates)")
      }
    }
  }

  @Test("The number of steps is bounded, and no operation is missing")
  func bounded() {
    for (count, interval) in [(1, 3), (2, 3), (9, 1), (100_000, 1), (300, 100_000), (5000, 777)] {
      var rates = RateOverTime()
      for number in 1...count { rates.add(at: Int64(number * interval) * 1_000_000) }
      let steps = rates.steps
      #expect((1...RateOverTime.stepLimit).contains(steps.count))
      var (begin, total) = (0.0, 0.0)
      for step in steps {
        total += (step.seconds - begin) * step.rate
        begin = step.seconds
      }
      #expect(abs(total - Double(count)) < 0.01 * Double(count), "\(count) at \(interval)")
      #expect(begin == Double(count * interval) / 1000)
    }
    #expect(RateOverTime().steps.isEmpty)
  }

  @Test("What fills an empty queue at once does not dwarf the rest")
  func queue() {
    var rates = RateOverTime()
    for number in 1...80 { rates.add(at: Int64(number) * 5000) }
    for number in 1...2000 { rates.add(at: Int64(number) * 2_500_000) }
    #expect(rates.steps.allSatisfy { (390...2000).contains($0.rate) }, "\(rates.steps)")
  }

  @Test("A stall is a step of its own length")
  func stall() {
    let rates = rates(Array(1...1000) + Array(6001...7000))
    #expect((rates.min() ?? 0) < 400 && (rates.max() ?? 0) > 999)
  }

  @Test("Classes of a histogram keep the count, and their middles find them again")
  func bins() {
    var histogram = Histogram()
    var time: Int64 = 100
    while time < 1 << 45 {
      histogram.add(time)
      time += time / 7 + 1
    }
    let bins = histogram.bins
    #expect(bins.reduce(0) { $0 + $1.count } == histogram.count)
    let places = bins.map(\.place)
    #expect(places == Array(Set(places)).sorted())
  }

  @Test(
    "A difference of less than 1 % is none",
    arguments: [
      (100.0, 100.9, true, "same"), (100, 102, true, "now"), (100, 102, false, "before"),
      (102, 100, true, "before"), (0, 0, false, "same"), (0, 1, false, "before"),
    ] as [(Double, Double, Bool, String)])
  func better(before: Double, now: Double, isMoreBetter: Bool, verdict: String) {
    let row = BenchDifference(name: "", before: before, now: now, isMoreBetter: isMoreBetter)
    #expect(row.better == verdict)
  }

  @Test("Numbers of any size have a text")
  func decimals() {
    #expect(Decimal.text(1.25, places: 1) == "1.3" && Decimal.text(-0.5, places: 2) == "-0.50")
    #expect(
      Decimal.text(1e300, places: 1) == "1e+300" && Decimal.text(.infinity, places: 0) == "inf")
  }
}
