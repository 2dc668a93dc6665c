import AttoKernelRadio
import AttoLinks

/// Checks of other programs, limits, files and libraries.
extension Diagnosis {
  static func daemon(_ evidence: MachineEvidence) -> Check {
    guard let process = evidence.daemons.first else {
      return Check("bluetoothd", .ok, "bluetoothd is not running")
    }
    return Check(
      "bluetoothd", .warn,
      "bluetoothd is running (process \(process)): it also listens on the ATT channel, connects to "
        + "peers that it knows, exchanges the MTU, discovers services, and changes the settings of "
        + "adapters", remedy: "sudo systemctl stop bluetooth")
  }

  private static func list(_ programs: [BluetoothProgram]) -> String {
    programs.prefix(8).map(\.description).joined(separator: ", ")
      + (programs.count > 8 ? " and \(programs.count - 8) more" : "")
  }

  /// Other programs that use the kernel's Bluetooth. Some only capture.
  static func programs(_ evidence: MachineEvidence) -> Check {
    let observers: Set = ["btmon", "hcidump", "dumpcap", "tshark", "wireshark"]
    let others = evidence.programs.filter { !evidence.daemons.contains($0.process) }
    let active = others.filter { !observers.contains($0.name) }
    if !active.isEmpty {
      return Check(
        "programs", .warn,
        "other programs hold Bluetooth sockets: \(list(active)); only one program at a time can use "
          + "the ATT channel to a peer, or scan", remedy: "stop those that you do not need")
    }
    guard evidence.foreignSockets == 0 || !evidence.daemons.isEmpty else {
      return Check(
        "programs", .warn,
        "processes of other users hold \(evidence.foreignSockets) Bluetooth sockets",
        remedy: "list them with: sudo atto doctor")
    }
    return Check(
      "programs", .ok,
      others.isEmpty ? "no other program holds Bluetooth sockets" : "\(list(others)) only captures")
  }

  /// Octets of the receive buffer that one short PDU takes, as the kernel counts. Measured.
  private static let costOfPDU = 960

  /// The check of the receive buffer of links; nil if no socket could be opened.
  static func receiveBuffer(_ evidence: MachineEvidence) -> Check? {
    guard let size = evidence.receiveBuffer, let wish = L2CAPOptions().socket.receiveBuffer else {
      return nil
    }
    let text =
      "the receive buffer of a link has \(size) octets, about \(size / costOfPDU) short PDUs"
    // The kernel doubles the size that it is asked for.
    guard size < 2 * Int(wish) else { return Check("receive-buffer", .ok, text) }
    return Check(
      "receive-buffer", .warn, "\(text); when it is full, the kernel drops PDUs without notice",
      remedy: "sudo sysctl net.core.rmem_max=\(wish)"
        + (evidence.hasNetAdmin == true ? "" : ", or give CAP_NET_ADMIN, see capability"))
  }

  static func air(_ evidence: MachineEvidence) -> Check {
    guard let fault = evidence.airFault else {
      return Check("air", .ok, "the virtual air uses \(evidence.airPath)")
    }
    return Check(
      "air", .problem, "\(fault)",
      remedy: "set ATTO_AIR to a folder of your own, such as \"$HOME/.atto-air\"")
  }

  static func sqlite(_ evidence: MachineEvidence) -> Check {
    evidence.hasSQLite
      ? Check("sqlite", .ok, "libsqlite3.so.0 is installed")
      : Check(
        "sqlite", .warn,
        "libsqlite3.so.0 is missing: bonds and attribute databases cannot be stored",
        remedy: "sudo apt-get install libsqlite3-0")
  }
}
