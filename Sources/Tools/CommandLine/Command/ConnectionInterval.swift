import Atto
import AttoLinkTiming

/// The value of `--interval`: the connection intervals to ask for.
///
/// The controller chooses one of them when it connects. The peripheral may ask for another one
/// later, which the kernel accepts.
package struct ConnectionInterval: Sendable {
  static let expectation =
    "a time or a range from 7.5ms to 4000ms in steps of 1.25 ms, such as 15ms or 15ms-30ms"

  /// In units of 1.25 ms.
  package let range: ClosedRange<UInt16>

  package init?(_ text: String) {
    let times = text.split(separator: "-", omittingEmptySubsequences: false).map(Self.units)
    guard let least = times[0], let most = times.last ?? nil, times.count <= 2, least <= most else {
      return nil
    }
    range = least...most
  }

  /// Reads `15ms` or `7.5ms`; milliseconds without a unit.
  private static func units(_ text: Substring) -> UInt16? {
    let number = text.hasSuffix("ms") ? text.dropLast(2) : text
    guard number.first?.isNumber == true, let time = Double(number) else { return nil }
    let units = time / 1.25
    guard (6...3200).contains(units), units == units.rounded() else { return nil }
    return UInt16(units)
  }

  /// The timing of a link of the virtual air with this interval instead of its own. Its radios choose the
  /// shortest one.
  ///
  /// - Throws: `UsageError` if the link's packets do not fit the interval.
  func applied(to timing: AirTiming?) throws(UsageError) -> AirTiming {
    var timing = timing ?? AirTiming(LinkParameters())
    timing.parameters.interval = Int64(range.lowerBound) * 1_250_000
    do throws(LinkParameterFault) {
      try timing.parameters.check()
    } catch {
      throw UsageError("\(error)")
    }
    return timing
  }
}
