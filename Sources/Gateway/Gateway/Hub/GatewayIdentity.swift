import AttoATT
import AttoText
import Glibc

/// What names this gateway to Home Assistant and to brokers, whatever it is called. It is in the file
/// `identity.json` of the state folder from the first start on.
package struct GatewayIdentity: Equatable, Sendable {
  /// The address that ESPHome's clients know the gateway by. Not the address of a radio, which may be replaced,
  /// and which this machine may use for something else.
  package var address: UInt64
  /// Eight hexadecimal digits that differ between gateways of one name.
  package var instance: String

  /// The identity of a gateway without a state folder: the one that this name always has on this machine.
  package init(name: String, machine: [UInt8] = machineID()) {
    // FNV-1a: nothing has to be hidden here.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for octet in machine + [0] + Array(name.utf8) {
      hash = (hash ^ UInt64(octet)) &* 0x0000_0100_0000_01B3
    }
    // A locally administered address of one station.
    address = (hash >> 16) & 0xFCFF_FFFF_FFFF | 0x0200_0000_0000
    instance = Hex.digits(UInt32(truncatingIfNeeded: hash), uppercase: false)
  }

  /// Reads the identity in a folder, or else stores the one of this name there. Blocks on the disk.
  ///
  /// - Returns: also why the identity depends on the name; nil if it is stored.
  package static func kept(
    in folder: String, name: String, machine: [UInt8] = machineID()
  ) -> (identity: GatewayIdentity, problem: String?) {
    let path = folder + "/identity.json"
    var identity = GatewayIdentity(name: name, machine: machine)
    do throws(FileBytes.Failure) {
      guard let stored = GatewayIdentity(try FileBytes.read(path, waits: false)) else {
        return (identity, "\(path): expected the identity of a gateway, found something else")
      }
      return (stored, nil)
    } catch {
      guard access(path, F_OK) != 0, errno == ENOENT else {
        return (identity, "cannot read \(path): \(error.reason)")
      }
    }
    // Two gateways of one name on one machine differ in it.
    identity.instance = Hex.digits(UInt32.random(in: .min ... .max), uppercase: false)
    let failure = identity.write(path)
    if failure == 0 { return (identity, nil) }
    return (identity, "cannot write \(path): \(String(cString: strerror(failure)))")
  }

  /// The address as 12 digits, as in ESPHome's handshake and in mDNS.
  package var addressDigits: String { Hex.digits(address, count: 12, uppercase: false) }

  private init?(_ octets: [UInt8]) {
    guard let texts = JSON.texts(of: octets, limit: 4096) else { return nil }
    guard let address = texts["address"], address.utf8.count == 12,
      let number = UInt64(address, radix: 16), let instance = texts["instance"],
      instance.utf8.count == 8, UInt32(instance, radix: 16) != nil
    else { return nil }
    (self.address, self.instance) = (number, instance)
  }

  /// - Returns: 0, or the number of the error.
  private func write(_ path: String) -> Int32 {
    let text = JSON.object([
      ("address", .string(addressDigits)), ("instance", .string(instance)),
    ]).text
    return WholeFile.write(Array((text + "\n").utf8), to: path)
  }

  /// The content of /etc/machine-id; empty where there is none. Reads a file.
  package static func machineID() -> [UInt8] {
    let octets = (try? FileBytes.read("/etc/machine-id", waits: false)) ?? []
    return Array(octets.prefix(64).prefix { $0 != 0x0A })
  }
}
