import TestSupport
import Testing

@testable import AttoFormats

/// All supported formats.
@Suite(.sideBySide) struct CaptureReaderTests {
  typealias Build = CaptureBuilder
  static let request: [UInt8] = [0x0A, 0x15, 0x00]
  static let response: [UInt8] = [0x0B, 0x01]
  /// 2026-11-21, in microseconds since 1970.
  static let moment = 1_795_219_200_123_456

  static func records(
    _ file: [UInt8], pieces: Int = .max
  ) throws(CaptureFault) -> [CaptureRecord] {
    var reader = CaptureReader()
    var records: [CaptureRecord] = []
    var at = 0
    while at < file.count {
      let end = pieces < file.count - at ? at + pieces : file.count
      reader.append(file[at..<end])
      at = end
      while let record = try reader.next() { records.append(record) }
    }
    try reader.finish()
    return records
  }

  static func pdus(_ file: [UInt8]) throws -> [CapturedPDU] {
    var decoder = CaptureDecoder()
    return try records(file).compactMap { decoder.decode($0) }
  }

  static func expected(_ isFine: Bool = true) -> [(Bool, [UInt8], Int64?)] {
    [
      (true, request, isFine ? Int64(moment) * 1000 : nil),
      (false, response, isFine ? Int64(moment + 500) * 1000 : nil),
    ]
  }

  /// The same two PDUs in each format and each link type.
  static let files: [(name: String, octets: [UInt8])] = {
    let sent = Build.h4(request, isSent: true)
    let received = Build.h4(response, isSent: false)
    let first = (seconds: moment / 1_000_000, fraction: moment % 1_000_000)
    func pcap(_ type: Int, _ a: [UInt8], _ b: [UInt8], isBig: Bool, isFine: Bool = false)
      -> [UInt8]
    {
      let scale = isFine ? 1000 : 1
      return Build.pcap(
        type, isBig: isBig, isFine: isFine,
        [
          Build.pcapRecord(
            a, isBig: isBig, seconds: first.seconds, fraction: first.fraction * scale),
          Build.pcapRecord(
            b, isBig: isBig, seconds: first.seconds, fraction: (first.fraction + 500) * scale),
        ])
    }
    func pcapng(_ type: Int, _ a: [UInt8], _ b: [UInt8], isBig: Bool) -> [UInt8] {
      Build.section(isBig: isBig) + Build.interface(type, isBig: isBig)
        + Build.enhanced(a, units: moment, isBig: isBig)
        + Build.enhanced(b, units: moment + 500, isBig: isBig)
    }
    var files: [(name: String, octets: [UInt8])] = [
      (
        "btsnoop 1001",
        Build.btsnoop(
          1001,
          [
            Build.btsnoopRecord(Array(sent.dropFirst()), flags: 0, microseconds: moment),
            Build.btsnoopRecord(Array(received.dropFirst()), flags: 1, microseconds: moment + 500),
          ])
      ),
      (
        "btsnoop 1002",
        Build.btsnoop(
          1002,
          [
            Build.btsnoopRecord(sent, flags: 0, microseconds: moment),
            Build.btsnoopRecord(received, flags: 1, microseconds: moment + 500),
          ])
      ),
      (
        "btsnoop 2001",
        Build.btsnoop(
          2001,
          [
            Build.btsnoopRecord(Array(sent.dropFirst()), flags: 4, microseconds: moment),
            Build.btsnoopRecord(Array(received.dropFirst()), flags: 5, microseconds: moment + 500),
          ])
      ),
      (
        "hcidump",
        Build.hcidump(sent, isReceived: false, microseconds: moment)
          + Build.hcidump(received, isReceived: true, microseconds: moment + 500)
      ),
    ]
    let directed = (Build.big32(0) + sent, Build.big32(1) + received)
    let monitored = (
      Build.big16(0) + Build.big16(4) + sent.dropFirst(),
      Build.big16(0) + Build.big16(5) + received.dropFirst()
    )
    for isBig in [false, true] {
      let order = isBig ? "big" : "little"
      for (type, pair) in [(187, (sent, received)), (201, directed), (254, monitored)] {
        files.append(("pcap \(type) \(order)", pcap(type, pair.0, pair.1, isBig: isBig)))
        files.append(
          ("pcap \(type) \(order) fine", pcap(type, pair.0, pair.1, isBig: isBig, isFine: true)))
        files.append(("pcapng \(type) \(order)", pcapng(type, pair.0, pair.1, isBig: isBig)))
      }
    }
    return files
  }()

  @Test(arguments: files.indices) func readsEveryFormat(_ index: Int) throws {
    let (name, file) = Self.files[index]
    let format = try #require(CaptureReader.format(of: Array(file.prefix(16))), "\(name)")
    #expect(name.hasPrefix(format.rawValue))
    let found = try Self.pdus(file)
    #expect(found.map(\.isSent) == [true, false], "\(name)")
    #expect(found.map(\.octets) == [Self.request, Self.response], "\(name)")
    #expect(found.map(\.time) == Self.expected().map(\.2), "\(name)")
    #expect(found.map(\.record) == [1, 2])
    #expect(found.map { "\($0.connection)" } == ["0x0040", "0x0040"])
  }

  /// The records do not depend on the lengths of the pieces that are appended.
  @Test(arguments: files.indices) func pieces(_ index: Int) throws {
    let (name, file) = Self.files[index]
    let whole = try Self.records(file)
    for length in 1...file.count {
      #expect(try Self.records(file, pieces: length) == whole, "\(name) in pieces of \(length)")
    }
  }

  /// A truncated file gives the records before its end, and a fault unless it ends between two.
  @Test(arguments: files.indices) func reportsTruncatedFiles(_ index: Int) throws {
    let (name, file) = Self.files[index]
    let whole = try Self.records(file)
    let ends = whole.dropFirst().map(\.offset) + [file.count]
    let headers =
      switch try #require(CaptureReader.format(of: Array(file.prefix(16)))) {
      case .btsnoop: [16]
      case .pcap: [24]
      case .pcapng: [28, 48]
      case .hcidump: [Int]()
      }
    for length in 0..<file.count {
      var reader = CaptureReader()
      reader.append(file[..<length])
      var found: [CaptureRecord] = []
      var fault: CaptureFault?
      do throws(CaptureFault) {
        while let record = try reader.next() { found.append(record) }
        try reader.finish()
      } catch {
        fault = error
      }
      #expect(found == Array(whole.prefix(found.count)), "\(name) cut at \(length)")
      #expect(found.count == ends.count { $0 <= length }, "\(name) cut at \(length)")
      if ends.contains(length) || headers.contains(length) {
        #expect(fault == nil, "\(name) cut at \(length): \(fault.map { "\($0)" } ?? "")")
      } else {
        let fault = try #require(fault, "\(name) cut at \(length)")
        #expect(fault.isTruncation || length < 16, "\(name) cut at \(length): \(fault)")
        #expect(fault.offset <= length)
      }
    }
  }
}
