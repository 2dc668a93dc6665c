import AttoCommandLine

extension InputFile {
  /// The first bytes: this many, or fewer if the input is shorter or text, whose lines are decoded as
  /// they arrive.
  func beginning(_ length: Int) async throws -> [UInt8] {
    var octets: [UInt8] = []
    while octets.count < length, !Self.isLine(octets) {
      let more = try await next()
      if more.isEmpty { break }
      octets += more
    }
    return octets
  }

  /// Whether this can only be text: not the beginning of btsnoop, nor of pcapng, which begins with a
  /// line feed.
  private static func isLine(_ octets: [UInt8]) -> Bool {
    guard let first = octets.first, first != 0x0A else { return false }
    return octets.allSatisfy { (0x20...0x7E).contains($0) || (0x09...0x0D).contains($0) }
      && !Array("btsnoop".utf8).starts(with: octets)
      && !octets.starts(with: Array("btsnoop".utf8))
  }
}
