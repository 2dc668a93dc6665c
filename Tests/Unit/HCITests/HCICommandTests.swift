import AttoHCI
import TestSupport
import Testing

/// Commands, compared with what Bumble 0.0.236 writes.
@Suite(.sideBySide) struct HCICommandTests {
  private static func hex(_ command: HCICommand) -> String {
    command.packet.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  @Test func packets() {
    #expect(Self.hex(.readLocalFeatures) == "01032000")
    #expect(Self.hex(.setHostFeature(38)) == "017420022601")
    #expect(
      Self.hex(.connectionUpdate(0x40, interval: 6...12, latency: 1, timeout: 200))
        == "0113200e400006000c000100c80000000000")
    #expect(
      Self.hex(.subrateRequest(0x40, factor: 2...10, latency: 1, continuation: 3, timeout: 420))
        == "017e200c400002000a0001000300a401")
    #expect(Self.hex(.frameSpaceUpdate(0x40, space: 60...150)) == "019d200940003c009600070300")
  }
}
