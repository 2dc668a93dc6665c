import AttoATT
import TestSupport
import Testing

@Suite("SplitMix64", .sideBySide)
struct SplitMix64Tests {
  @Test("Known numbers")
  func known() {
    var random = SplitMix64(seed: 0)
    #expect(random.next() == 0xE220_A839_7B1D_CDAF)
    #expect(random.next() == 0x6E78_9E6A_A1B9_65F4)
    #expect(random.next() == 0x06C4_5D18_8009_454F)
  }

  @Test("Probabilities and bounds keep their ends")
  func ends() {
    var random = SplitMix64(seed: 42)
    for _ in 0..<1000 {
      let never = random.chance(0)
      let always = random.chance(1)
      #expect(!never && always)
      let small = random.below(3)
      #expect((0..<3).contains(small))
      let only = random.below(1)
      #expect(only == 0)
    }
  }
}
