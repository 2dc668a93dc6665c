// A radio that serves several links.
//
// # Theory
// A radio can attend to one link at a time. The events of all its links, which have the same parameters here,
// follow each other within the interval, each in its share of it:
//
//     radio:  |link 1|link 2|link 3|link 4|link 1|link 2| ...      4 links: each has an event in each interval
//             |<------- interval ------->|
//     radio:  |link 1|link 2|link 3|link 4|link 5|link 6| ...      6 links, of which 4 fit: 1 and 2 have an event
//             |<------- interval ------->|                         in one interval of two, and so have the others
//
// The share is the length of an event if one is stated, as controllers reserve it for each link; otherwise an equal
// part of the interval, but at least the time for one pair of full packets. If the shares of all links do not fit the
// interval, each link misses events in turn: a controller that gives way to the link that has waited longest does so.
// Others may serve some links always and let others break.
//
// A central places the events of its links itself. As a peripheral, a radio has them where its centrals place them, and
// their clocks drift: the events of two links meet once in ``LinkParameters/overlap(drift:)``.

extension LinkParameters {
  /// The legal numbers of links.
  public static let linksRange = 1...255

  /// The time of the radio for an event of each link.
  public var share: Int64 {
    if let eventLength { return min(eventLength, interval) }
    return max(interval / Int64(links), min(longestPair, interval))
  }

  /// Of how many intervals each link has an event in one.
  public var turns: Int64 {
    let fitting = interval / share
    return (Int64(links) + fitting - 1) / fitting
  }

  /// Two links of a radio whose events other radios place.
  public struct Overlap: Sendable, Equatable {
    /// The time from one meeting to the next, in nanoseconds.
    public let period: Int64
    /// How long their events overlap then, in nanoseconds.
    public let duration: Int64
  }

  /// How often, and for how long, the events of two links meet, if their clocks differ by this many millionths. Each
  /// event lasts one pair of full packets at least. While they overlap, one of both gets less, or nothing: for longer
  /// than a supervision timeout, unless the controller alternates.
  ///
  /// Petersen, Schmidt and Wählisch call this connection shading ("Mind the Gap: Multi-hop IPv6 over BLE in the IoT",
  /// CoNEXT 2021), and prevent it by intervals that differ.
  ///
  /// - Parameter drift: more than 0. Vol 6, Part B, 4.2.1 allows 50 for an active clock, and so 100 for two.
  public func overlap(drift: Double) -> Overlap {
    func after(_ time: Int64) -> Int64 { Int64((Double(time) / drift * 1e6).rounded()) }
    return Overlap(period: after(interval), duration: after(2 * longestPair))
  }
}
