import CAttoLinux
import Glibc

/// Who a server says it is.
package struct ServerIdentity: Equatable, Sendable {
  /// The gateway's name.
  package var name: String
  package var friendlyName: String
  /// Names the gateway to Home Assistant, which keeps it for ever: it must be the same after each start,
  /// with any adapters. Not the address of a radio, which may be replaced, and which this machine may
  /// use for something else.
  package var address: UInt64

  /// An identity that this machine's gateway of this name always has.
  package init(name: String, friendlyName: String? = nil, machine: [UInt8] = machineID()) {
    self.name = name
    self.friendlyName = friendlyName ?? name
    // FNV-1a: nothing has to be hidden here.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for octet in machine + [0] + Array(name.utf8) {
      hash = (hash ^ UInt64(octet)) &* 0x0000_0100_0000_01B3
    }
    // A locally administered address of one station.
    address = (hash >> 16) & 0xFCFF_FFFF_FFFF | 0x0200_0000_0000
  }

  /// The address as 12 digits, as in the handshake and in mDNS.
  package var digits: String {
    let text = String(address, radix: 16)
    return String(repeating: "0", count: 12 - text.count) + text
  }

  /// The address in capitals with colons.
  package var addressText: String {
    let digits = Array(digits.uppercased())
    return stride(from: 0, to: 12, by: 2).map { String(digits[$0...($0 + 1)]) }
      .joined(separator: ":")
  }

  /// The content of /etc/machine-id; empty where there is none. Reads a file.
  package static func machineID() -> [UInt8] {
    let result = clinux_open("/etc/machine-id", O_RDONLY | O_NONBLOCK, 0)
    guard result >= 0 else { return [] }
    defer { close(result) }
    var octets = [UInt8](repeating: 0, count: 64)
    let count = read(result, &octets, octets.count)
    return Array(octets.prefix(max(count, 0)).prefix { $0 != 0x0A })
  }
}
