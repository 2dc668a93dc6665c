import ATT
import EventLoop
import Links
import Testing

@testable import Radio

/// Peers beyond number: what is known of pairing with them is bounded at both radios.
@Suite struct PairingLimitTests {
  private func peer(_ number: Int) -> BluetoothAddress { BluetoothAddress(UInt64(number)) }

  @Test func failuresOfTheKernelAreForgotten() {
    let pairings = KernelPairings(on: .shared)
    for number in 0..<(KernelPairings.limit + 9) { _ = pairings.failed(peer(number), .timeout) }
    #expect(pairings.count == KernelPairings.limit)
    // The last is known: that its link ends then is no news.
    let last = peer(KernelPairings.limit + 8)
    #expect(pairings.disconnected(last, isAuthenticationFailure: true) == nil)
  }

  /// Who is pairing is not forgotten for the sake of others.
  @Test func pairingsUnderWayStay() {
    let pairings = KernelPairings(on: .shared)
    for number in 0..<(KernelPairings.limit + 9) { pairings.noted(peer(number)) }
    #expect(pairings.count == KernelPairings.limit)
    #expect(pairings.disconnected(peer(0), isAuthenticationFailure: false) == .linkLost)
    let further = peer(KernelPairings.limit)
    #expect(pairings.disconnected(further, isAuthenticationFailure: false) == nil)
  }

  @Test func bondsOnTheAirAreForgotten() {
    let pairings = AirPairings(on: .shared)
    let numbers = 0..<(AirPairings.limit + 9)
    for number in numbers {
      let bond = AirPairings.Bond(key: UInt64(number), security: LinkSecurity(.medium))
      pairings.paired(peer(number), bond)
      #expect(pairings.bond(peer(number))?.key == UInt64(number))
    }
    #expect(numbers.count { pairings.bond(peer($0)) != nil } == AirPairings.limit)
  }
}
