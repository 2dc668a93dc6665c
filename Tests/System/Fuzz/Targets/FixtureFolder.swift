import AttoFormats
import Glibc

/// The repository's fixtures as inputs.
struct FixtureFolder {
  let path: String

  /// The names in a folder of the fixtures, in order; none if there is no such folder.
  func names(_ folder: String) -> [String] {
    guard let directory = opendir("\(path)/\(folder)") else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names.sorted()
  }

  /// A file's octets; none if it cannot be read.
  func octets(_ name: String) -> [UInt8] {
    guard let file = fopen("\(path)/\(name)", "r") else { return [] }
    defer { fclose(file) }
    var octets: [UInt8] = []
    while true {
      let part = [UInt8](unsafeUninitializedCapacity: 65536) { room, count in
        count = fread(room.baseAddress!, 1, 65536, file)
      }
      if part.isEmpty { return octets }
      octets += part
    }
  }

  var profiles: [[UInt8]] {
    names("").filter { $0.hasSuffix(".json") }.map(octets)
      + names("transcripts").filter { $0.hasSuffix(".json") }.map { octets("transcripts/\($0)") }
  }

  private var cases: [Transcript.Case] {
    names("transcripts").filter { $0.hasSuffix(".att") }.flatMap { name in
      (try? Transcript(text: octets("transcripts/\(name)")))?.cases ?? []
    }
  }

  /// Each case as a text of its own.
  var transcripts: [[UInt8]] { cases.map { Array("\($0)".utf8) } }

  /// Each PDU of the transcripts that is written out, once.
  var transcriptPDUs: [[UInt8]] {
    var known: Set<[UInt8]> = []
    for step in cases.flatMap(\.steps) {
      switch step.action {
      case .client(let pdu): known.insert(pdu)
      case .server(let pattern): pattern.bytes.map { _ = known.insert($0) }
      default: break
      }
    }
    return known.sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// What the clients of the transcripts say, with the octet for a bearer before it.
  var conversations: [[UInt8]] {
    sequences { if case .client(let pdu) = $0 { pdu } else { nil } }.map { [3] + $0 }
  }

  /// What their servers say.
  var answers: [[UInt8]] {
    sequences { if case .server(let pattern) = $0 { pattern.bytes } else { nil } }
  }

  private func sequences(_ pdu: (Transcript.Action) -> [UInt8]?) -> [[UInt8]] {
    let inputs = cases.map { test in
      PDUSequence.encode(
        test.steps.compactMap { step in
          if let octets = pdu(step.action) { return .arrives(octets) }
          switch step.action {
          case .wait(let duration):
            return .wait(milliseconds: Int(duration.components.seconds) * 1000)
          case .procedure(let words): return .act(0, Self.procedure(words[0]))
          case .security: return .act(6, 1)
          case .database: return .act(5, 0)
          case .notify: return .act(2, 0)
          case .indicate: return .act(3, 0)
          case .turn(let client): return .act(11, UInt8(client - 1))
          case .reconnect: return .act(12, 0)
          default: return nil
          }
        })
    }
    return Array(Set(inputs)).filter { !$0.isEmpty && $0.count <= 4096 }
      .sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Some procedure for each name, as ``Procedures`` numbers them.
  private static func procedure(_ name: String) -> UInt8 {
    UInt8(name.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFF })
  }
}
