internal import Atto
import Foundation

/// How a peer gets its UUID: from its address and our adapter's, so that it is the same in every
/// run, and other adapters see it under another, as other phones would.
///
/// FNV-1a of 128 bits over both addresses, as a UUID of version 8 (RFC 9562, 5.8: any content).
/// A peer that uses private addresses keeps its UUID where the kernel resolves them, which it
/// does for bonded peers: it tells the identity address then.
enum PeerIdentifier {
  static func make(peer: BluetoothAddress, adapter: BluetoothAddress) -> UUID {
    var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
    let octets =
      Array("Atto peer".utf8) + peer.littleEndian + [peer.kind.rawValue] + adapter.littleEndian
      + [adapter.kind.rawValue]
    for octet in octets {
      hash ^= UInt128(octet)
      hash = hash &* 0x0000_0000_0100_0000_0000_0000_0000_013B
    }
    var bytes = (0..<16).map { UInt8(truncatingIfNeeded: hash >> (120 - 8 * UInt128($0))) }
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return UUID(
      uuid: (
        bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
      ))
  }
}
