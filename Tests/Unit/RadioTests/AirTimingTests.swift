import AttoATT
import CAttoLinux
import AttoEventLoop
import AttoLinkTiming
import AttoLinks
import TestSupport
import Testing

@testable import AttoRadio
@testable import AttoVirtualRadio

@Suite(.timeLimit(.minutes(5)), .oneByOne) struct AirTimingTests {
  let air: Air
  init() throws { air = Air() }

  /// A pair whose central has the link timed.
  private func pair(_ timing: String) async throws -> (central: End, peripheral: End) {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    let phone = try air.adapter("Phone")
    let connected = try await phone.connect(
      to: .address(radio.address), timing: try AirTiming(timing))
    let links = advertisement.links.makeAsyncIterator()
    let accepted = try #require(await links.next())
    let (central, peripheral) = (End(connected), End(accepted))
    await central.prepare()
    await peripheral.prepare()
    return (central, peripheral)
  }

  /// Sends numbered PDUs and checks that each arrives, in order. Returns the nanoseconds from the
  /// first one sent to the last one received.
  private func pass(
    _ count: Int, of length: Int, from one: End, to other: End
  ) async throws -> Int64 {
    let start = clinux_monotonic()
    async let sent: Void = {
      for number in 0..<count {
        var pdu = [UInt8](repeating: 0, count: length)
        pdu[0] = UInt8(truncatingIfNeeded: number)
        try await one.sendWhenReady(pdu)
      }
    }()
    for number in 0..<count {
      let pdu = try #require(try await other.receive())
      #expect(pdu.count == length && pdu[0] == UInt8(truncatingIfNeeded: number))
    }
    try await sent
    return clinux_monotonic() - start
  }

  /// The time of the PDUs in the model in nanoseconds, if all wait when the first event starts.
  private func modelled(_ count: Int, of length: Int, _ timing: AirTiming) -> Int64 {
    var transmitter = Transmitter(timing.parameters, seed: timing.seed)
    for _ in 0..<count { transmitter.add(length: length, at: 0) }
    var last: Int64 = 0
    while let arrival = transmitter.nextArrival() {
      last = arrival
      transmitter.removeFirst()
    }
    return last
  }

  /// PDUs are never faster than the model. On a busy machine they are slower.
  @Test func bothDirectionsAreTimed() async throws {
    let timing = "phy=1M&interval=7.5ms&dle=27"
    let (central, peripheral) = try await pair(timing)
    let least = modelled(200, of: 23, try AirTiming(timing))
    #expect(least > 100_000_000)
    let up = try await pass(200, of: 23, from: central, to: peripheral)
    #expect(up >= least)
    let down = try await pass(200, of: 23, from: peripheral, to: central)
    #expect(down >= least)
  }

  @Test func errorsDelayPDUsAndLoseNone() async throws {
    let text = "phy=2M&interval=7.5ms&per=0.5&seed=11"
    let timing = try AirTiming(text)
    let (central, peripheral) = try await pair(text)
    let withoutErrors = modelled(100, of: 100, try AirTiming("phy=2M&interval=7.5ms"))
    // The other direction has its own seed.
    let (up, down) = (modelled(100, of: 100, timing), modelled(100, of: 100, timing.mirrored))
    #expect(min(up, down) > 2 * withoutErrors)
    #expect(try await pass(100, of: 100, from: central, to: peripheral) >= up)
    #expect(try await pass(100, of: 100, from: peripheral, to: central) >= down)
  }

  /// A sender that does not wait is blocked, and notified when there is room.
  @Test func waitingPDUsAreLimited() async throws {
    let (central, peripheral) = try await pair("phy=1M&interval=30ms&dle=27")
    // On a busy machine intervals pass meanwhile, and PDUs that arrive in them need room.
    async let received = count(from: peripheral)
    var taken = 0
    while taken < 100_000, try await central.send([UInt8](repeating: 1, count: 23)) == .sent {
      taken += 1
    }
    #expect(taken >= 4 && taken < 100_000)
    // Closing delivers all accepted PDUs at once.
    await central.close()
    #expect(try await received == taken)
  }

  /// Counts PDUs of 23 octets until the end of the link.
  private func count(from end: End) async throws -> Int {
    var count = 0
    while let pdu = try await end.receive() {
      #expect(pdu.count == 23)
      count += 1
    }
    return count
  }

  @Test func aSecondTimingEndsTheLink() async throws {
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    let raw = try RawSocket(connectingTo: air.file("d413f6fbacef.sock"))
    raw.send(AirControl.hello(address: .staticRandom(name: "Raw"), name: "Raw").octets)
    let links = advertisement.links.makeAsyncIterator()
    let end = End(try #require(await links.next()))
    await end.prepare()
    let channel = RawSocket(try #require(raw.receive()).passed)
    raw.send(AirControl.timing(AirTiming(LinkParameters())).octets)
    channel.send([0x0A, 3, 0])
    #expect(try await end.receive() == [0x0A, 3, 0])
    raw.send(AirControl.timing(AirTiming(LinkParameters())).octets)
    await #expect(throws: LinkError.self) { try await end.receive() }
    #expect(await end.reason == .unspecified)
  }
}
