import AttoATT

// Enhanced bearers in a capture.
//
// # Theory
// A request on the signalling channel (CID 5) names the requester's channel identifiers, and its response
// those of the responder, in the same order (Vol 3, Part A, 4.25 and 4.26). Each end sends to the identifiers
// of the other. An SDU arrives in one or more K-frames; the first begins with its length (3.4.3).
//
// A bearer is known by the identifier at the capturing host (at the central, for a sniffer), which no other
// open channel of the connection has: 0x0040 is bearer 1. So the numbers of a file that Atto wrote are
// those that `--trace` shows. A channel that was opened before the capture is not known.

extension CaptureDecoder {
  /// The signalling channel of LE.
  static let signalling: UInt16 = 5

  /// An incomplete SDU.
  struct SDU {
    var length: Int
    var octets: [UInt8]
    var used: Int
  }

  struct BearerWay: Hashable {
    var way: Way
    var channel: UInt16
  }

  /// Receives a frame of an enhanced bearer. Returns the PDU that it completes, if any.
  mutating func receive(
    _ frame: ArraySlice<UInt8>, of bearer: BearerWay
  ) -> [UInt8]? {
    var sdu: SDU
    if let found = sdus.removeValue(forKey: bearer) {
      sdu = found
      sdu.octets += frame
    } else {
      guard frame.count >= 2 else {
        counts.malformed += 1
        return nil
      }
      let length = Int(Array(frame.prefix(2)).number16(at: 0, isBig: false))
      sdu = SDU(length: length, octets: Array(frame.dropFirst(2)), used: 0)
    }
    guard sdu.octets.count < sdu.length else {
      if sdu.octets.count == sdu.length { return sdu.octets }
      counts.malformed += 1
      return nil
    }
    sdu.used = counts.records
    if sdus.count >= Self.partLimit, let oldest = sdus.min(by: { $0.value.used < $1.value.used }) {
      sdus[oldest.key] = nil
      counts.withoutEnd += 1
    }
    sdus[bearer] = sdu
    return nil
  }

  /// Drops the incomplete SDUs of a connection.
  mutating func dropSDUs(of path: Path) {
    for key in sdus.keys where key.way.path == path {
      sdus[key] = nil
      counts.withoutEnd += 1
    }
  }
}

/// The channels of a connection that carry ATT PDUs, besides the fixed one.
struct CapturedBearers {
  struct Bearer {
    var number: Int
    /// The MTU of each end.
    var mtus: [Int]
    var mtu: Int { mtus.min() ?? 0 }
  }

  private struct Request {
    var mtu: Int
    var channels: [UInt16]
    var isSent: Bool
  }

  private struct Channel: Hashable {
    /// The end that sends to it.
    var isSent: Bool
    var identifier: UInt16
  }

  /// Unanswered requests at a time; with one more, all others are forgotten.
  static let requestLimit = 16

  private var bearers: [Channel: Bearer] = [:]
  private var requests: [[UInt8]: Request] = [:]

  /// The bearer on which this end sends to a channel.
  func bearer(_ channel: UInt16, isSent: Bool) -> Bearer? {
    bearers[Channel(isSent: isSent, identifier: channel)]
  }

  /// Receives what was sent on the signalling channel. Vol 3, Part A, 4.
  mutating func receive(_ octets: [UInt8], isSent: Bool) {
    guard octets.count >= 4 else { return }
    let (code, identifier) = (octets[0], octets[1])
    let words = stride(from: 4, to: octets.count - 1, by: 2).map {
      octets.number16(at: $0, isBig: false)
    }
    // Requests of the two ends have identifiers of their own.
    let key = [identifier, (code == 0x15 || code == 0x18) == isSent ? 0 : 1]
    switch (code, words.count) {
    case (0x14, 5...) where Self.isATT(words[0]):
      // SPSM, channel, MTU.
      ask(key, Request(mtu: Int(words[2]), channels: [words[1]], isSent: isSent))
    case (0x15, 5...):
      // Channel, MTU, MPS, credits, result.
      answer(key, mtu: Int(words[1]), words[4] == 0 ? [words[0]] : [])
    case (0x17, 5...) where Self.isATT(words[0]):
      // SPSM, MTU, MPS, credits, channels.
      ask(key, Request(mtu: Int(words[1]), channels: Array(words[4...].prefix(5)), isSent: isSent))
    case (0x18, 4...):
      // MTU, MPS, credits, result, channels; 0 for one that was refused.
      answer(key, mtu: Int(words[0]), Array(words[4...]))
    case (0x19, 3...):
      // MTU, MPS, channels of the sender, to which the other end sends.
      for identifier in words[2...] { reconfigure(identifier, isSent: isSent, mtu: Int(words[0])) }
    case (0x06, 2...):
      // The channels of the receiver and of the sender.
      bearers[Channel(isSent: isSent, identifier: words[0])] = nil
      bearers[Channel(isSent: !isSent, identifier: words[1])] = nil
    default: break
    }
  }

  /// The SPSM of EATT, and that of ATT, with which ``CaptureWriter`` writes it.
  private static func isATT(_ psm: UInt16) -> Bool { psm == 0x27 || psm == 0x1F }

  private mutating func ask(_ key: [UInt8], _ request: Request) {
    if requests.count >= Self.requestLimit { requests = [:] }
    requests[key] = request
  }

  private mutating func answer(_ key: [UInt8], mtu: Int, _ answered: [UInt16]) {
    guard let request = requests.removeValue(forKey: key) else { return }
    for (own, other) in zip(request.channels, answered)
    where CaptureWriter.channels.contains(own) && CaptureWriter.channels.contains(other) {
      // The channel at the capturing host.
      let host = request.isSent ? own : other
      let bearer = Bearer(
        number: Int(host - CaptureWriter.channels.lowerBound) + 1, mtus: [request.mtu, mtu])
      bearers[Channel(isSent: !request.isSent, identifier: own)] = bearer
      bearers[Channel(isSent: request.isSent, identifier: other)] = bearer
    }
  }

  private mutating func reconfigure(_ identifier: UInt16, isSent: Bool, mtu: Int) {
    let key = Channel(isSent: !isSent, identifier: identifier)
    guard let number = bearers[key]?.number else { return }
    // Which of both MTUs grows is not kept: the smaller one does, as far as it matters.
    for (key, bearer) in bearers where bearer.number == number {
      bearers[key]?.mtus = [max(mtu, bearer.mtu), bearer.mtus.max() ?? mtu]
    }
  }
}
