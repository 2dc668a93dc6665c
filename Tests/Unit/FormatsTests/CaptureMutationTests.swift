import TestSupport
import AttoATT
import Testing

@testable import AttoFormats

/// Mutated captures give records and a fault, never trap, and need no more memory than the limits
/// allow.
@Suite(.sideBySide) struct CaptureMutationTests {
  static let rounds = 400

  @Test(arguments: CaptureReaderTests.files.indices) func mutated(_ index: Int) {
    let file = CaptureReaderTests.files[index].octets
    let seed = testSeed()
    var generator = SplitMix64(seed: seed)
    for _ in 0..<Self.rounds { Self.read(generator.mutate(file), "seed \(seed)") }
  }

  /// Random fragments of every kind in valid records.
  @Test func mutatedFragments() {
    let seed = testSeed()
    var generator = SplitMix64(seed: seed)
    let seeds =
      CaptureReaderTests.files.map(\.octets)
      + [
        CaptureBuilder.connected(0x40), CaptureBuilder.disconnected(0x40),
        CaptureDecoderTests.data([3, 0, 4, 0, 0x0A, 1, 0], kind: 2, isOdd: true),
      ]
    for _ in 0..<Self.rounds {
      let records = (0..<Int.random(in: 1...20, using: &generator)).map { _ -> [UInt8] in
        let octets = generator.mutate(seeds.randomElement(using: &generator)!)
        return CaptureBuilder.btsnoopRecord(
          octets, flags: Int.random(in: 0...21, using: &generator))
      }
      let datalink = [1001, 1002, 2001].randomElement(using: &generator)!
      Self.read(CaptureBuilder.btsnoop(datalink, records), "seed \(seed)")
      let type = [187, 201, 254, 256, 272].randomElement(using: &generator)!
      let others = records.map { CaptureBuilder.pcapRecord(Array($0.dropFirst(24))) }
      Self.read(CaptureBuilder.pcap(type, others), "seed \(seed)")
    }
  }

  /// Reads a file to its end or its fault.
  static func read(_ file: [UInt8], _ comment: String) {
    var reader = CaptureReader()
    var decoder = CaptureDecoder()
    var transcript = CaptureTranscript()
    reader.append(file)
    do throws(CaptureFault) {
      while let record = try reader.next() {
        #expect(record.offset < file.count, "\(comment)")
        guard let pdu = decoder.decode(record) else { continue }
        #expect(pdu.octets.count <= file.count, "\(comment)")
        try transcript.append(pdu)
      }
      try reader.finish()
    } catch {
      #expect(error.offset <= file.count, "\(comment)")
      #expect(!error.reason.isEmpty)
    }
    decoder.finish()
    #expect(decoder.counts.records == reader.recordCount, "\(comment)")
  }
}
