import AttoConformance
import AttoFormats

/// The reader of captures, and what finds PDUs in them. The input is a file after one octet, which
/// says in what pieces it comes.
///
/// Rules: whole or in pieces, the same records come and the same fault; records rise, and stand in
/// the file; no more is put together than the limits say; what is found to be wrong with a PDU is in
/// it; a transcript that was made of it reads back.
enum CaptureTarget {
  static func take(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let file = Array(input.dropFirst())
    let (records, fault) = read(file, pieces: file.count)
    let (again, other) = read(file, pieces: max(1, Int(first)))
    Failure.unless(records == again && fault == other, "pieces change nothing", "\(first)")
    Failure.unless((fault?.offset ?? 0) <= file.count, "a fault is in the file", "\(fault as Any)")
    var decoder = CaptureDecoder()
    var transcript = CaptureTranscript()
    var isFull = false
    for (index, record) in records.enumerated() {
      Failure.unless(record.number == index + 1, "records are counted")
      Failure.unless(record.offset < file.count, "a record is in the file")
      guard let pdu = decoder.decode(record) else { continue }
      Failure.trace("\(pdu.connection) \(pdu.isSent) \(hex(pdu.octets))")
      Failure.unless(pdu.octets.count <= file.count, "a PDU is no longer than its file")
      for finding in PDUFinding.findings(in: pdu.octets, mtu: pdu.mtu ?? .max) {
        Failure.unless(
          (0...pdu.octets.count).contains(finding.octet), "a finding is in its PDU", "\(finding)")
      }
      do throws(CaptureFault) { try transcript.append(pdu) } catch { isFull = true }
    }
    decoder.finish()
    Failure.unless(decoder.counts.records == records.count, "each record is counted")
    guard !isFull else { return }
    let text = "\(transcript.transcript)"
    do throws(TranscriptError) {
      let read = try Transcript(text: Array(text.utf8))
      Failure.unless(read == transcript.transcript, "a transcript reads back", text)
    } catch {
      Failure.broken("a transcript reads back", "\(error)\n\(text)")
    }
  }

  private static func read(
    _ file: [UInt8], pieces: Int
  ) -> (records: [CaptureRecord], fault: CaptureFault?) {
    var reader = CaptureReader()
    var records: [CaptureRecord] = []
    var at = 0
    do throws(CaptureFault) {
      while at < file.count {
        let end = min(file.count, at + pieces)
        reader.append(file[at..<end])
        at = end
        while let record = try reader.next() { records.append(record) }
      }
      try reader.finish()
    } catch {
      return (records, error)
    }
    return (records, nil)
  }

  /// One file of each format, with a connection, an exchange and fragments.
  static var seeds: [[UInt8]] {
    func little(_ number: Int) -> [UInt8] {
      [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
    }
    func four(_ number: Int) -> [UInt8] { little(number) + little(number >> 16) }
    let acl: [(flags: Int, octets: [UInt8])] = [
      (1, [4, 0x3E, 19, 1, 0, 0x40, 0] + [UInt8](repeating: 0, count: 15)),
      (0, [2, 0x40, 0x00, 7, 0, 3, 0, 4, 0, 2, 100, 0]),
      (1, [2, 0x40, 0x20, 7, 0, 3, 0, 4, 0, 3, 64, 0]),
      (1, [2, 0x40, 0x20, 6, 0, 5, 0, 4, 0, 0x1B, 3]),
      (1, [2, 0x40, 0x10, 3, 0, 0, 1, 2]),
      (1, [4, 0x05, 4, 0, 0x40, 0, 0x13]),
    ]
    var snoop = Array("btsnoop\0".utf8) + [0, 0, 0, 1, 0, 0, 0x03, 0xEA]
    var pcap = four(0xA1B2_C3D4) + four(4 << 16 | 2) + four(0) + four(0) + four(65535) + four(187)
    var dump: [UInt8] = []
    var blocks =
      four(0x0A0D_0D0A) + four(28) + four(0x1A2B_3C4D) + four(1) + four(-1) + four(-1) + four(28)
      + four(1) + four(20) + four(201) + four(0) + four(20)
    for (index, (flags, octets)) in acl.enumerated() {
      let count = octets.count
      snoop += (four(count) + four(count) + four(flags) + four(0)).chunked().flatMap {
        $0.reversed()
      }
      snoop += [0, 0xE2, 0x67, 0x4A, 0, 0, 0, UInt8(index)] + octets
      pcap += four(index) + four(0) + four(count) + four(count) + octets
      dump += little(count) + [UInt8(flags), 0] + four(index) + four(0) + octets
      let data = [0, 0, 0, UInt8(flags)] + octets
      let padded = data + [UInt8](repeating: 0, count: (4 - data.count % 4) % 4)
      let length = four(padded.count + 32)
      blocks += four(6) + length + four(0) + four(0) + four(index) + four(data.count)
      blocks += four(data.count) + padded + length
    }
    return [snoop, pcap, dump, blocks].map { [7] + $0 }
  }
}

extension Array where Element == UInt8 {
  /// In fours.
  fileprivate func chunked() -> [[UInt8]] {
    stride(from: 0, to: count, by: 4).map { Array(self[$0..<Swift.min(count, $0 + 4)]) }
  }
}
