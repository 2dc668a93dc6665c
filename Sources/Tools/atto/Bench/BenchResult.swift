import Atto
import FoundationEssentials
import AttoLinkTiming

/// The result of a test, in the form of `--json`.
struct BenchResult: Codable, Sendable {
  struct Latency: Codable, Sendable {
    var min: Double
    var mean: Double
    var p50: Double
    var p90: Double
    var p99: Double
    var max: Double
  }

  /// The link under the test, and its limit.
  struct Link: Codable, Sendable {
    /// `stated` on the command line, or reported by the `kernel`; absent in old results.
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
    /// The other differences between the runs; absent if there are none.
    var unlike: String?
  }

  /// Of the command that measured; absent in old results.
  var version: String?
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
  /// The duration that the latency measures.
  var latencyOf: String
  var jitterMicroseconds: Double
  /// CPU time of this process, for sent and received PDUs; absent without PDUs.
  var cpuMicrosecondsPerPDU: Double?
  /// Absent if the values have no numbers.
  var lost: UInt64?
  var doubled: UInt64?
  var outOfOrder: UInt64?
  /// `receiver`, or `sender` where the peer does not count.
  var countedAt: String
  var link: Link?
  /// Whether the test was interrupted by `error`.
  var partial: Bool
  var error: String?
  var compared: Comparison?

  init(_ measured: Measurement, endpoint: String, mtu: Int, error: String?) {
    version = Version.number
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
        // The receiver's time covers n - 1 gaps between n values.
        if measured.test == .writeCommand, tally.writes > 1 {
          nanoseconds =
            Double(tally.microseconds) * 1000 * Double(tally.writes) / Double(tally.writes - 1)
        }
      } else {
        countedAt = "sender"
        if measured.test == .write, error == nil { lost = 0 }
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

  /// Sets the link, its limit, and the share of the limit that was reached.
  mutating func set(link: MeasuredLink) {
    guard let test = BenchTest(rawValue: test), let parameters = link.parameters(of: test) else {
      self.link = Link(source: link.source, phy: link.phyText)
      return
    }
    var exact = parameters
    exact.scheduling = .exact
    exact.packetErrorRate = 0
    var link = Link(
      source: link.source, phy: parameters.phy.name,
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
    if earlier.partial { unlike.append("partial") }
    compared = Comparison(
      rate: ratio(rate, earlier.rate),
      p50: ratio(latencyMicroseconds.p50, earlier.latencyMicroseconds.p50),
      p99: ratio(latencyMicroseconds.p99, earlier.latencyMicroseconds.p99),
      unlike: unlike.isEmpty ? nil : unlike.joined(separator: ", "))
  }

  /// Reads the output of `--json`: one object per line.
  ///
  /// - Throws: `FileError` with the line that is wrong.
  static func reading(_ path: String, on loop: Loop) async throws -> [BenchResult] {
    let data: [UInt8]
    do {
      data = try await InputFile(path: path, on: loop).rest()
    } catch let error as FileError {
      throw FileError(message: error.message, hint: "give the output of atto bench --json")
    }
    var results: [BenchResult] = []
    for (index, line) in data.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
    where !line.isEmpty {
      do {
        results.append(try JSONDecoder().decode(BenchResult.self, from: Data(line)))
      } catch {
        throw FileError(message: "\(path):\(index + 1): not a result of atto bench --json")
      }
    }
    guard !results.isEmpty else { throw FileError(message: "\(path): no results") }
    return results
  }

  // MARK: Text and CSV

  static let csvHead =
    "test,endpoint,mtu,size,count,seconds,rate,bytesPerSecond,p50us,p90us,p99us,maxus,jitterus,"
    + "cpuusPerPDU,lost,doubled,outOfOrder,partial,rateRatio,p50Ratio,p99Ratio"

  var csv: String {
    let name =
      endpoint.contains(where: { ",\"\n".contains($0) })
      ? "\"" + endpoint.replacing("\"", with: "\"\"") + "\"" : endpoint
    func text(_ value: (some CustomStringConvertible)?) -> String { value?.description ?? "" }
    let latency = latencyMicroseconds
    return [
      test, name, "\(mtu)", Int(exactly: size)?.description ?? "\(size)", "\(count)", "\(seconds)",
      "\(rate)", "\(bytesPerSecond)", "\(latency.p50)", "\(latency.p90)", "\(latency.p99)",
      "\(latency.max)", "\(jitterMicroseconds)", text(cpuMicrosecondsPerPDU), text(lost),
      text(doubled), text(outOfOrder), "\(partial)", text(compared?.rate), text(compared?.p50),
      text(compared?.p99),
    ].joined(separator: ",")
  }

  /// The octets of a value, without decimals if they are whole.
  var sizeText: String { Decimal.text(size, places: size == size.rounded() ? 0 : 1) }

  static let head = [
    "", "octets", "rate/s", "bytes/s", "p50 us", "p90 us", "p99 us", "max us", "jitter us",
    "CPU us/PDU", "lost",
  ]

  var cells: [String] {
    func number(_ value: Double, _ places: Int = 1) -> String {
      Decimal.text(value, places: places)
    }
    let latency = latencyMicroseconds
    return [
      test + (partial ? " (partial)" : ""), sizeText,
      number(rate, rate < 1000 ? 1 : 0), number(bytesPerSecond, 0), number(latency.p50),
      number(latency.p90), number(latency.p99), number(latency.max), number(jitterMicroseconds),
      cpuMicrosecondsPerPDU.map { number($0, 2) } ?? "-", lost.map { "\($0)" } ?? "?",
    ]
  }

  var remarks: [String] {
    var lines: [String] = []
    if let doubled, let outOfOrder, doubled + outOfOrder > 0 {
      lines.append("\(test): \(doubled) duplicates, \(outOfOrder) out of order")
    }
    if lost == nil {
      lines.append("\(test): losses are unknown, because the values have no numbers")
    }
    if let link, link.parameters == nil {
      let phy = link.phy.map { ", PHY \($0)" } ?? ""
      lines.append(
        "\(test): the link's interval and data length are unknown\(phy) (requires CAP_NET_RAW and a"
          + " link opened by this command); --link states them")
    }
    if let link, let limit = link.limitBytesPerSecond, let share = link.shareOfLimit {
      lines.append(
        "\(test): \(Decimal.text(share * 100, places: 1)) % of the \(Decimal.text(limit, places: 0))"
          + " B/s limit of \(link.parameters ?? "the link")")
    }
    if let compared {
      func times(_ ratio: Double) -> String { "x" + Decimal.text(ratio, places: 3) }
      lines.append(
        "\(test): compared with before: rate \(times(compared.rate)), p50 \(times(compared.p50)),"
          + " p99 \(times(compared.p99))"
          + (compared.unlike.map { " (before: \($0))" } ?? ""))
    }
    if let error { lines.append("\(test): interrupted, partial result: \(error)") }
    return lines
  }
}
