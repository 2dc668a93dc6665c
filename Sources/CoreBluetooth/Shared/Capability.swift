import Foundation

/// What the kernel lets this process do.
enum Capability {
  /// CAP_NET_ADMIN, which scanning, advertising and pairing on the kernel's radio want.
  static let mayManageNetwork: Bool = {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("CapEff:") }),
      let bits = UInt64(line.dropFirst(7).trimmingCharacters(in: .whitespaces), radix: 16)
    else { return geteuid() == 0 }
    return bits & 1 << 12 != 0
  }()
}
