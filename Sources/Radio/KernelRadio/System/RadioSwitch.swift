import Glibc

/// An entry of /sys/class/rfkill for Bluetooth.
package struct RadioSwitch: Hashable {
  /// rfkillN
  package var entry: String
  /// The adapter, or the name that the firmware of the machine has given the switch.
  package var name: String
  /// Blocked by software, which software can undo.
  package var isSoft: Bool
  /// Blocked by a hardware switch or the firmware.
  package var isHard: Bool

  package static func all(_ files: SystemFiles) -> [RadioSwitch] {
    let folder = "/sys/class/rfkill"
    return files.names(folder).filter {
      files.line("\(folder)/\($0)/type") == "bluetooth"
    }.map { entry in
      RadioSwitch(
        entry: entry, name: files.line("\(folder)/\(entry)/name") ?? entry,
        isSoft: files.line("\(folder)/\(entry)/soft") == "1",
        isHard: files.line("\(folder)/\(entry)/hard") == "1")
    }
  }
}
