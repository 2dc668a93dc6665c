import Glibc

// libFuzzer's way in. One program holds all targets; `ATTO_FUZZ_TARGET` names the one to run,
// because libFuzzer has the command line to itself.

/// The target of this process; chosen once, before the first input.
private let chosen: FuzzTarget = {
  let name = getenv("ATTO_FUZZ_TARGET").map { String(cString: $0) } ?? ""
  guard let target = FuzzTarget(rawValue: name) else {
    print("ATTO_FUZZ_TARGET names no target; there are:")
    for target in FuzzTarget.allCases { print(target.rawValue) }
    exit(2)
  }
  return target
}()

/// Writes the seed corpus of the target into `ATTO_FUZZ_SEEDS`, if that is set, and ends.
@_cdecl("LLVMFuzzerInitialize")
public func fuzzerInitialize(
  _ count: UnsafeMutableRawPointer, _ arguments: UnsafeMutableRawPointer
) -> CInt {
  Failure.traces = getenv("ATTO_FUZZ_TRACE") != nil
  guard let folder = getenv("ATTO_FUZZ_SEEDS").map({ String(cString: $0) }),
    let fixtures = getenv("ATTO_FUZZ_FIXTURES").map({ String(cString: $0) })
  else { return 0 }
  for (number, seed) in chosen.seeds(fixtures).enumerated() {
    guard let file = fopen("\(folder)/seed-\(number)", "w") else { exit(2) }
    fwrite(seed, 1, seed.count, file)
    fclose(file)
  }
  exit(0)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzerTestOneInput(_ octets: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  chosen.take([UInt8](UnsafeBufferPointer(start: octets, count: count)))
  return 0
}
