import Links

/// Judgements of other programs, limits, files and libraries.
extension Diagnosis {
  static func daemon(_ evidence: MachineEvidence) -> Check {
    guard let process = evidence.daemons.first else {
      return Check("bluetoothd", .ok, "bluetoothd does not run")
    }
    return Check(
      "bluetoothd", .warn,
      "bluetoothd runs (process \(process)): it listens on the ATT channel too, connects to peers "
        + "that it knows, exchanges the MTU and discovers by itself, and changes the adapter's "
        + "settings",
      remedy: "sudo systemctl stop bluetooth")
  }

  static func list(_ programs: [MachineEvidence.Program]) -> String {
    programs.prefix(8).map { "\($0.name) (process \($0.process))" }.joined(separator: ", ")
      + (programs.count > 8 ? " and \(programs.count - 8) more" : "")
  }

  /// Others that use the kernel's Bluetooth. Some only look on.
  static func programs(_ evidence: MachineEvidence) -> [Check] {
    let onlookers: Set = ["btmon", "hcidump", "dumpcap", "tshark", "wireshark"]
    let others = evidence.programs.filter { !evidence.daemons.contains($0.process) }
    let active = others.filter { !onlookers.contains($0.name) }
    if !active.isEmpty {
      return [
        Check(
          "programs", .warn,
          "others hold Bluetooth sockets: \(list(active)); one program at a time has the ATT channel "
            + "to a peer, scans, or switches an adapter",
          remedy: "end those that you do not want")
      ]
    }
    // Whose processes may be looked at hides nothing.
    guard evidence.foreignSockets == 0 || !evidence.daemons.isEmpty else {
      return [
        Check(
          "programs", .warn,
          "processes of other users hold \(evidence.foreignSockets) Bluetooth sockets",
          remedy: "sudo atto doctor names them")
      ]
    }
    return [
      Check(
        "programs", .ok,
        others.isEmpty
          ? "no other program holds Bluetooth sockets" : "\(list(others)) only looks on")
    ]
  }

  /// Octets of the receive buffer that one short PDU takes, as the kernel counts: measured.
  private static let costOfPDU = 960

  static func receiveBuffer(_ evidence: MachineEvidence) -> [Check] {
    guard let size = evidence.receiveBuffer, let wish = L2CAPOptions().socket.receiveBuffer else {
      return []
    }
    // The kernel doubles what it is asked for, for its own needs.
    let count = size / costOfPDU
    guard size < 2 * Int(wish) else {
      return [
        Check(
          "receive-buffer", .ok, "a link's buffer holds \(size) octets, some \(count) short PDUs")
      ]
    }
    return [
      Check(
        "receive-buffer", .warn,
        "a link's buffer holds \(size) octets, some \(count) short PDUs; beyond, the kernel drops "
          + "what comes without a word",
        remedy: "sudo sysctl net.core.rmem_max=\(wish)"
          + (evidence.hasNetAdmin == true ? "" : ", or give CAP_NET_ADMIN, see capability"))
    ]
  }

  static func air(_ evidence: MachineEvidence) -> Check {
    guard let fault = evidence.airFault else {
      return Check("air", .ok, "the virtual air is in \(evidence.airPath)")
    }
    return Check(
      "air", .problem, "\(fault)",
      remedy: "set ATTO_AIR to a folder of your own, such as \"$HOME/.atto-air\"")
  }

  static func sqlite(_ evidence: MachineEvidence) -> Check {
    evidence.hasSQLite
      ? Check("sqlite", .ok, "libsqlite3.so.0 is there")
      : Check(
        "sqlite", .warn, "libsqlite3.so.0 is missing: bonds and attribute databases cannot be kept",
        remedy: "sudo apt-get install libsqlite3-0")
  }
}
