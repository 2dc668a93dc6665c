import AttoATT
import Glibc

/// The seed of a test with random input, which is printed. It is the same in each run, so that a
/// failure repeats; `ATTO_SEED` sets another one.
package func testSeed(_ test: String = #function) -> UInt64 {
  let chosen = getenv("ATTO_SEED").flatMap { UInt64(String(cString: $0)) }
  let seed = chosen ?? 0xA770
  print("\(test): seed \(seed)")
  return seed
}
