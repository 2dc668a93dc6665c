import ATT
import CLinux
import EventLoop
import LinkTiming
import Links
import Testing

@testable import Radio

@Suite(.timeLimit(.minutes(5))) struct AirTimingTests {
  let air: Air
  init() throws { air = try Air() }

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

  /// Sends numbered PDUs and checks that each comes, in order; nanoseconds from the first to the
  /// last.
  private func pass(
    _ count: Int, of length: Int, from one: End, to other: End
  ) async throws -> Int64 {
    async let sent: Void = {
      for number in 0..<count {
        var pdu = [UInt8](repeating: 0, count: length)
        pdu[0] = UInt8(truncatingIfNeeded: number)
        try await one.sendWhenReady(pdu)
      }
    }()
    var first: Int64 = 0
    for number in 0..<count {
      let pdu = try #require(try await other.receive())
      #expect(pdu.count == length && pdu[0] == UInt8(truncatingIfNeeded: number))
      if number == 0 { first = clinux_monotonic() }
    }
    try await sent
    return clinux_monotonic() - first
  }

  /// Nothing may be faster than the model; slower it may be on a busy machine.
  @Test func bothDirectionsKeepTheirTime() async throws {
    let timing = "phy=1M&interval=7.5ms&dle=27"
    let (central, peripheral) = try await pair(timing)
    let parameters = try LinkParameters.reading(timing).parameters
    let count = 200
    // What must be waited for: not the first event, nor what is late in being received.
    let least = Double(count - 20) / parameters.throughput(of: .notify, value: 20).perSecond * 1e9
    let up = try await pass(count, of: 23, from: central, to: peripheral)
    #expect(Double(up) > least, "\(up)")
    let down = try await pass(count, of: 23, from: peripheral, to: central)
    #expect(Double(down) > least, "\(down)")
  }

  @Test func errorsDelayAndLoseNothing() async throws {
    let (central, peripheral) = try await pair("phy=2M&interval=7.5ms&per=0.5&seed=11")
    _ = try await pass(100, of: 100, from: central, to: peripheral)
    _ = try await pass(100, of: 100, from: peripheral, to: central)
  }

  /// A sender that does not wait is refused, and told when there is room.
  @Test func whatWaitsIsBounded() async throws {
    let (central, peripheral) = try await pair("phy=1M&interval=30ms&dle=27")
    // On a busy machine intervals pass meanwhile, and what arrives in them must find room.
    async let received = count(from: peripheral)
    var taken = 0
    while taken < 100_000, try await central.send([UInt8](repeating: 1, count: 23)) == .sent {
      taken += 1
    }
    #expect(taken >= 4 && taken < 100_000)
    // Closing delivers what was taken, in no time.
    await central.close()
    #expect(try await received == taken)
  }

  /// PDUs of 23 octets until the end of the link.
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
