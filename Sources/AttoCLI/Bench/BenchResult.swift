import Atto
import FoundationEssentials
import LinkTiming

/// What a test has found, as JSON has it.
struct BenchResult: Codable, Sendable {
  struct Latency: Codable, Sendable {
    var min: Double
    var mean: Double
    var p50: Double
    var p90: Double
    var p99: Double
    var max: Double
  }

  /// What is known of the link under the test, and what it allows.
  struct Link: Codable, Sendable {
    /// `stated` on the command line, or told by the `kernel`; absent in results of old.
    var source: String?
    var phy: String?
    var intervalMicroseconds: Int64?
    var dataLength: Int?
    var parameters: String?
    /// Octets of values a second, at the physical limit.
    var limitBytesPerSecond: Double?
    var shareOfLimit: Double?
  }

  /// This result as a multiple of an earlier one.
  struct Comparison: Codable, Sendable {
    var rate: Double
    var p50: Double
    var p99: Double
    /// What was not alike, so that the ratios do not tell of the peer alone; absent if nothing.
    var unlike: String?
  }

  var test: String
  var endpoint: String
  var mtu: Int
  /// Octets of each value, on average.
  var size: Double
  var count: UInt64
  var seconds: Double
  var rate: Double
  var bytesPerSecond: Double
  var latencyMicroseconds: Latency
  /// What the latency is the time of.
  var latencyOf: String
  var jitterMicroseconds: Double
  /// Of this process, sent and received alike; absent without any.
  var cpuMicrosecondsPerPDU: Double?
  /// Absent where values carry no numbers.
  var lost: UInt64?
  var doubled: UInt64?
  var outOfOrder: UInt64?
  /// `receiver`, or `sender` where the peer does not count.
  var countedAt: String
  var link: Link?
  /// Whether it ended before it should; `error` says why.
  var partial: Bool
  var error: String?
  var compared: Comparison?

  init(_ measured: Measurement, endpoint: String, mtu: Int, error: String?) {
    test = measured.test.rawValue
    self.endpoint = endpoint
    self.mtu = mtu
    var count = measured.count
    var octets = measured.octets
    var nanoseconds = Double(measured.elapsed)
    countedAt = "receiver"
    switch measured.test {
    case .write, .writeCommand:
      if let tally = measured.tally {
        lost = measured.count > tally.writes ? measured.count - tally.writes : tally.lost
        doubled = tally.doubled
        outOfOrder = tally.outOfOrder
        count = tally.writes
        octets = tally.octets
        // A stream of n has n - 1 gaps; what is acknowledged is timed here.
        if measured.test == .writeCommand, tally.writes > 1 {
          nanoseconds =
            Double(tally.microseconds) * 1000 * Double(tally.writes) / Double(tally.writes - 1)
        }
      } else if measured.test == .writeCommand || error != nil {
        countedAt = "sender"
      } else {
        countedAt = "sender"
        lost = 0
      }
    case .notify, .indicate:
      lost = measured.sequence?.lost
      doubled = measured.sequence?.doubled
      outOfOrder = measured.sequence?.outOfOrder
    case .read, .longRead, .discover, .ping: lost = 0
    }
    let seconds = nanoseconds / 1e9
    self.count = count
    self.seconds = seconds.rounded(places: 6)
    size = count > 0 ? (Double(octets) / Double(count)).rounded(places: 2) : 0
    rate = seconds > 0 ? (Double(count) / seconds).rounded(places: 3) : 0
    bytesPerSecond = seconds > 0 ? (Double(octets) / seconds).rounded(places: 1) : 0
    let latencies = measured.latencies
    func microseconds(_ nanoseconds: Int64) -> Double {
      (Double(nanoseconds) / 1000).rounded(places: 2)
    }
    latencyMicroseconds = Latency(
      min: latencies.count > 0 ? microseconds(latencies.minimum) : 0,
      mean: (latencies.mean / 1000).rounded(places: 2),
      p50: microseconds(latencies.percentile(0.5)), p90: microseconds(latencies.percentile(0.9)),
      p99: microseconds(latencies.percentile(0.99)), max: microseconds(latencies.maximum))
    latencyOf = measured.test.latency
    jitterMicroseconds = (measured.jitter / 1000).rounded(places: 2)
    if measured.pdus > 0 {
      cpuMicrosecondsPerPDU = (measured.cpu * 1e6 / Double(measured.pdus)).rounded(places: 3)
    }
    partial = error != nil
    self.error = error
  }

  /// Says what the link is and how much of its limit was reached.
  mutating func set(link: MeasuredLink) {
    guard let test = BenchTest(rawValue: test), let parameters = link.parameters(of: test) else {
      self.link = Link(source: link.source, phy: link.phyText)
      return
    }
    var exact = parameters
    exact.scheduling = .exact
    exact.packetErrorRate = 0
    var link = Link(
      source: link.source, phy: parameters.phy.rawValue,
      intervalMicroseconds: parameters.interval / 1000,
      dataLength: parameters.dataLength, parameters: parameters.description)
    let traffic: Throughput.Traffic? =
      switch test {
      case .notify: .notify
      case .writeCommand: .writeCommand
      case .write: .write
      case .read: .read
      default: nil
      }
    if let traffic, size > 0 {
      let limit = exact.throughput(of: traffic, value: Int(size.rounded())).bytesPerSecond
      link.limitBytesPerSecond = limit.rounded(places: 1)
      link.shareOfLimit = (bytesPerSecond / limit).rounded(places: 4)
    }
    self.link = link
  }

  mutating func compare(with earlier: BenchResult) {
    func ratio(_ new: Double, _ old: Double) -> Double {
      old > 0 ? (new / old).rounded(places: 4) : 0
    }
    var unlike: [String] = []
    if earlier.mtu != mtu { unlike.append("MTU \(earlier.mtu)") }
    if earlier.size != size { unlike.append("\(Decimal.text(earlier.size, places: 0)) octets") }
    if earlier.endpoint != endpoint { unlike.append(earlier.endpoint) }
    if earlier.partial { unlike.append("a part") }
    compared = Comparison(
      rate: ratio(rate, earlier.rate),
      p50: ratio(latencyMicroseconds.p50, earlier.latencyMicroseconds.p50),
      p99: ratio(latencyMicroseconds.p99, earlier.latencyMicroseconds.p99),
      unlike: unlike.isEmpty ? nil : unlike.joined(separator: ", "))
  }

  /// Reads what `--json` has written: one object a line.
  ///
  /// - Throws: `UsageError` with the line that is wrong.
  static func reading(_ path: String) throws -> [BenchResult] {
    let data: Data
    do {
      data = try Data(contentsOf: URL(filePath: path))
    } catch {
      throw UsageError("\(path) cannot be read: it is to hold what atto bench --json has printed")
    }
    var results: [BenchResult] = []
    for (index, line) in data.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
    where !line.isEmpty {
      do {
        results.append(try JSONDecoder().decode(BenchResult.self, from: Data(line)))
      } catch {
        throw UsageError("\(path), line \(index + 1): no result of atto bench --json")
      }
    }
    guard !results.isEmpty else { throw UsageError("\(path) has no results in it") }
    return results
  }

  // MARK: For people and tables

  static let csvHead =
    "test,endpoint,mtu,size,count,seconds,rate,bytesPerSecond,p50us,p90us,p99us,maxus,jitterus,"
    + "cpuusPerPDU,lost,doubled,outOfOrder,partial,rateRatio,p50Ratio,p99Ratio"

  var csv: String {
    let name =
      endpoint.contains(where: { ",\"\n".contains($0) })
      ? "\"" + endpoint.replacing("\"", with: "\"\"") + "\"" : endpoint
    let latency = latencyMicroseconds
    let numbers: [String] = [
      "\(mtu)", Self.plain(size), "\(count)", "\(seconds)", "\(rate)", "\(bytesPerSecond)",
      "\(latency.p50)", "\(latency.p90)", "\(latency.p99)", "\(latency.max)",
      "\(jitterMicroseconds)", cpuMicrosecondsPerPDU.map { "\($0)" } ?? "",
      lost.map { "\($0)" } ?? "", doubled.map { "\($0)" } ?? "",
      outOfOrder.map { "\($0)" } ?? "", "\(partial)", compared.map { "\($0.rate)" } ?? "",
      compared.map { "\($0.p50)" } ?? "", compared.map { "\($0.p99)" } ?? "",
    ]
    return ([test, name] + numbers).joined(separator: ",")
  }

  /// A number without decimals where it has none.
  private static func plain(_ value: Double) -> String {
    Int(exactly: value).map { "\($0)" } ?? "\(value)"
  }

  static let head = [
    "", "octets", "rate/s", "bytes/s", "p50 us", "p90 us", "p99 us", "max us", "jitter us",
    "CPU us/PDU",
    "lost",
  ]

  var cells: [String] {
    func number(_ value: Double, _ places: Int = 1) -> String {
      Decimal.text(value, places: places)
    }
    let latency = latencyMicroseconds
    return [
      test + (partial ? " (partial)" : ""), number(size, size == size.rounded() ? 0 : 1),
      number(rate, rate < 1000 ? 1 : 0), number(bytesPerSecond, 0), number(latency.p50),
      number(latency.p90), number(latency.p99), number(latency.max), number(jitterMicroseconds),
      cpuMicrosecondsPerPDU.map { number($0, 2) } ?? "-", lost.map { "\($0)" } ?? "?",
    ]
  }

  /// What the table has no room for.
  var remarks: [String] {
    var lines: [String] = []
    if let doubled, let outOfOrder, doubled + outOfOrder > 0 {
      lines.append("\(test): \(doubled) came twice, \(outOfOrder) out of order")
    }
    if lost == nil { lines.append("\(test): the values carry no numbers, so losses are not known") }
    if let link, link.parameters == nil {
      let phy = link.phy.map { ", PHY \($0)" } ?? ""
      lines.append(
        "\(test): the link's interval and data length are not known\(phy) (that wants CAP_NET_RAW,"
          + " and a link made by this command); --link tells them")
    }
    if let link, let limit = link.limitBytesPerSecond, let share = link.shareOfLimit {
      lines.append(
        "\(test): \(Decimal.text(share * 100, places: 1)) % of the \(Decimal.text(limit, places: 0))"
          + " B/s that \(link.parameters ?? "the link") allows")
    }
    if let compared {
      func times(_ ratio: Double) -> String { "x" + Decimal.text(ratio, places: 3) }
      lines.append(
        "\(test): against before: rate \(times(compared.rate)), p50 \(times(compared.p50)),"
          + " p99 \(times(compared.p99))"
          + (compared.unlike.map { " (that was \($0))" } ?? ""))
    }
    if let error { lines.append("\(test): ended early, so this is a part: \(error)") }
    return lines
  }
}
