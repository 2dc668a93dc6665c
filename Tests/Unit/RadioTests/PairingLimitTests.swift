import AttoATT
import AttoEventLoop
import AttoLinks
import Synchronization
import TestSupport
import Testing

@testable import AttoKernelRadio
@testable import AttoRadio
@testable import AttoVirtualRadio

/// The limits of what radios store about pairing with their peers.
@Suite(.oneByOne) struct PairingLimitTests {
  private func peer(_ number: Int) -> BluetoothAddress { BluetoothAddress(UInt64(number)) }

  @Test func peersOfTheKernelAreForgotten() {
    let agents = AgentCalls(on: .shared)
    let pairings = KernelPairings(agents)
    for number in 0..<(KernelPairings.limit + 9) { pairings.failed(peer(number), .timeout) }
    #expect(pairings.count == KernelPairings.limit)
    // The failure of the last peer is known: the end of its link does not replace it.
    let last = peer(KernelPairings.limit + 8)
    pairings.disconnected(last, isAuthenticationFailure: true)
    #expect(agents.failure(last) == .timeout)
  }

  @Test func pairingsUnderWayStay() {
    let agents = AgentCalls(on: .shared)
    let pairings = KernelPairings(agents)
    for number in 0..<(KernelPairings.limit + 9) { pairings.noted(peer(number)) }
    #expect(pairings.count == KernelPairings.limit)
    pairings.disconnected(peer(0), isAuthenticationFailure: false)
    #expect(agents.failure(peer(0)) == .linkLost)
    let further = peer(KernelPairings.limit)
    pairings.disconnected(further, isAuthenticationFailure: false)
    #expect(agents.failure(further) == nil)
  }

  @Test func failuresAreForgotten() {
    let agents = AgentCalls(on: .shared)
    let numbers = 0..<(AgentCalls.failureLimit + 9)
    for number in numbers {
      agents.failed(peer(number), .linkLost)
      #expect(agents.failure(peer(number)) == .linkLost)
    }
    #expect(numbers.count { agents.failure(peer($0)) != nil } <= AgentCalls.failureLimit)
  }

  /// A watch takes what happens from its creation on, for one peer, and no earlier failure.
  @Test func aWatchTakesFailuresOfItsPeer() {
    let agents = AgentCalls(on: .shared)
    agents.failed(peer(1), .keyMissing)
    let watch = agents.watch(peer(1))
    #expect(agents.failure(peer(1)) == nil)
    agents.failed(peer(2), .linkLost)
    agents.failed(peer(1), .timeout)
    let told = Mutex<[PairingFailure]>([])
    watch.setHandler { failure in told.withLock { $0.append(failure) } }
    agents.failed(peer(1), .linkLost)
    #expect(told.withLock(\.self) == [.timeout, .linkLost])
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
