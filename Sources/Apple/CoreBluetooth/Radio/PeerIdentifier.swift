internal import Atto
import Foundation

/// Derives a peer's UUID from its address and the adapter's: the same peer has the same UUID in
/// every run, and another one at another adapter, as on another phone.
///
/// The UUID is the 128-bit FNV-1a hash of both addresses, as version 8 (RFC 9562, 5.8). A peer with
/// private addresses keeps its UUID where the kernel resolves them, which it does for bonded peers.
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
    // The version is 8, the variant binary 10.
    hash = hash & ~(0xF << 76) | 0x8 << 76
    hash = hash & ~(0x3 << 62) | 0x2 << 62
    return UUID(uuid: withUnsafeBytes(of: hash.bigEndian) { $0.loadUnaligned(as: uuid_t.self) })
  }
}
