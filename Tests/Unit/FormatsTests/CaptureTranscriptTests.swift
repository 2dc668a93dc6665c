import TestSupport
import Foundation
import Testing

@testable import AttoFormats

/// Transcripts made from captures.
@Suite(.sideBySide) struct CaptureTranscriptTests {
  typealias Build = CaptureBuilder

  static func transcript(
    _ pdus: [CapturedPDU], profile: String? = nil
  ) throws(CaptureFault) -> CaptureTranscript {
    var transcript = CaptureTranscript(profile: profile)
    for pdu in pdus { try transcript.append(pdu) }
    return transcript
  }

  static func pdu(
    _ octets: [UInt8], isSent: Bool, handle: UInt32 = 0x40, incarnation: Int = 1
  ) -> CapturedPDU {
    CapturedPDU(
      record: 1, offset: 16, time: nil,
      connection: CapturedConnection(
        adapter: 0, handle: handle, incarnation: incarnation, isOnAir: false),
      isSent: isSent, channel: 4, octets: octets, mtu: nil)
  }

  /// Both sides may be clients. Each PDU goes to the case of its client.
  @Test func eachClientHasACase() throws {
    let made = try Self.transcript([
      Self.pdu([0x0A, 3, 0], isSent: true), Self.pdu([0x08, 1, 0, 2, 0, 0, 0x28], isSent: false),
      Self.pdu([0x0B, 9], isSent: false), Self.pdu([0x01, 8, 1, 0, 10], isSent: true),
      Self.pdu([0x1D, 3, 0, 1], isSent: false), Self.pdu([0x1E], isSent: true),
      Self.pdu([0x52, 3, 0, 1], isSent: false), Self.pdu([0x1B, 3, 0], isSent: false),
      Self.pdu([], isSent: true), Self.pdu([0x3F], isSent: true),
      Self.pdu([0x0A, 3, 0], isSent: true, incarnation: 2),
    ])
    let wanted = """
      # 0x0040/host  the host is the client
      > 0a 03 00
      < 0b 09
      < 1d 03 00 01
      > 1e
      < 1b 03 00
      >
      > 3f

      # 0x0040/peer  the peer is the client
      > 08 01 00 02 00 00 28
      < 01 08 01 00 0a
      > 52 03 00 01

      # 0x0040.2/host  the host is the client
      > 0a 03 00

      """
    #expect(made.transcript.description == wanted)
    #expect(made.casesBegunByServers.isEmpty)
    #expect(try Transcript(text: Array(wanted.utf8)) == made.transcript)
  }

  /// Enhanced bearers of a connection are in its cases, with numbers of their own.
  @Test func enhancedBearersAreOpened() throws {
    func pdu(_ octets: [UInt8], isSent: Bool, _ bearer: Int, mtu: Int? = nil) -> CapturedPDU {
      var pdu = Self.pdu(octets, isSent: isSent)
      (pdu.bearer, pdu.mtu) = (bearer, mtu)
      return pdu
    }
    let made = try Self.transcript([
      pdu([0x0A, 3, 0], isSent: true, 7, mtu: 100), pdu([0x0A, 5, 0], isSent: true, 0),
      pdu([0x0B, 9], isSent: false, 7, mtu: 100), pdu([0x0A, 5, 0], isSent: true, 3),
      pdu([0x1B, 3, 0], isSent: true, 7, mtu: 100), pdu([0x0B], isSent: false, 3),
    ])
    let wanted = """
      # 0x0040/host  the host is the client
      bearers 1 100
      >1 0a 03 00
      > 0a 05 00
      <1 0b 09
      bearers 1 517
      >2 0a 05 00
      <2 0b

      # 0x0040/peer  the peer is the client
      bearers 1 100
      <1 1b 03 00

      """
    #expect(made.transcript.description == wanted)
    #expect(made.casesBegunByServers == ["0x0040/peer"])
    #expect(try Transcript(text: Array(wanted.utf8)) == made.transcript)
    #expect(throws: CaptureFault.self) {
      try Self.transcript((1...256).map { pdu([0x1B, 3, 0], isSent: true, $0) })
    }
  }

  /// Turns each case of the fixtures that consists of PDUs into a capture and back.
  @Test func fixturesSurviveARoundTrip() throws {
    var count = 0
    let folder = Fixtures.folder.appending(path: "transcripts")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    for name in names.filter({ $0.hasSuffix(".att") }) {
      let transcript = try Transcript(contentsOfFile: folder.appending(path: name).path)
      for test in transcript.cases {
        let steps = test.steps.compactMap { step -> (isClient: Bool, octets: [UInt8])? in
          switch step.action {
          case .client(let octets): (true, octets)
          case .server(let pattern): pattern.bytes.map { (false, $0) }
          default: nil
          }
        }.filter { CaptureTranscript.isFromClient($0.octets) == $0.isClient }
        guard !steps.isEmpty else { continue }
        let file = Build.btsnoop(
          1002,
          steps.map {
            Build.btsnoopRecord(
              Build.h4($0.octets, isSent: $0.isClient), flags: $0.isClient ? 0 : 1)
          })
        let made = try Self.transcript(CaptureReaderTests.pdus(file)).transcript
        let again = try Transcript(text: Array(made.description.utf8))
        #expect(again.cases.count == 1)
        #expect(
          again.cases.first?.steps.map(\.action)
            == steps.map {
              $0.isClient ? .client($0.octets) : .server(Transcript.Pattern($0.octets.map { $0 }))
            })
        count += 1
      }
    }
    #expect(count > 100)
  }

  @Test func listsCasesBegunByServers() throws {
    let made = try Self.transcript(
      [Self.pdu([0x1B, 3, 0], isSent: false), Self.pdu([0x0A, 3, 0], isSent: true)],
      profile: "strap.json")
    #expect(made.casesBegunByServers == ["0x0040/host"])
    #expect(made.transcript.profile == "strap.json")
  }

  /// The longest transcript can be read.
  @Test func lengthsAreLimited() throws {
    let long = [UInt8](repeating: 0x12, count: 4096)
    #expect(throws: Never.self) { try Self.transcript([Self.pdu(long, isSent: true)]) }
    #expect(throws: CaptureFault.self) {
      try Self.transcript([Self.pdu(long + [0], isSent: true)])
    }
    for octets in [[UInt8](repeating: 0x12, count: 1000), [0x0A, 3, 0]] {
      var transcript = CaptureTranscript()
      var count = 0
      var fault: CaptureFault?
      while fault == nil {
        do throws(CaptureFault) {
          try transcript.append(Self.pdu(octets, isSent: true))
          count += 1
        } catch {
          fault = error
        }
      }
      #expect(fault?.reason.contains("100000 lines and 4194304 octets") ?? false)
      let made = transcript.transcript
      #expect(made.cases[0].steps.count == count)
      guard octets.count == 3 else {
        // A line has three characters for each octet, and two more.
        #expect((4_190_000...CaptureTranscript.octetLimit).contains(count * 3002))
        continue
      }
      #expect(count > 99_990)
      // A reader that searched the whole case for each line would take minutes.
      #expect(try Transcript(text: Array(made.description.utf8)) == made)
    }
  }
}
