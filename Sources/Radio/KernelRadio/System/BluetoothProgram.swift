import Glibc

package struct BluetoothProgram: Hashable, CustomStringConvertible {
  package var process: Int32
  package var name: String

  /// For example `bluetoothd (process 312)`.
  package var description: String { "\(name) (process \(process))" }

  /// Other processes that hold sockets of these lists of /proc/net, and the number of sockets that
  /// are held by processes which this one may not examine.
  package static func all(
    _ lists: [String], _ files: SystemFiles
  ) -> ([BluetoothProgram], foreignSockets: Int) {
    var sockets: Set<Substring> = []
    for list in lists {
      for line in files.lines(list)?.dropFirst() ?? [] {
        // sk RefCnt Rmem Wmem User Inode Parent
        let fields = line.split(separator: " ")
        // A connection that was not accepted yet has no inode.
        if fields.count >= 6, fields[5] != "0" { sockets.insert(fields[5]) }
      }
    }
    var programs: [BluetoothProgram] = []
    for process in sockets.isEmpty ? [] : files.processes {
      let folder = "/proc/\(process)/fd"
      var holds = false
      for descriptor in files.names(folder) {
        guard let target = files.link("\(folder)/\(descriptor)"), target.hasPrefix("socket:[")
        else { continue }
        if sockets.remove(target.dropFirst(8).dropLast()) != nil { holds = true }
      }
      guard holds, process != getpid() else { continue }
      programs.append(BluetoothProgram(process: process, name: files.name(of: process) ?? "?"))
    }
    return (programs, sockets.count)
  }

  /// Other programs that may listen on L2CAP's ATT channel. Examines all processes.
  package static var otherListeners: [BluetoothProgram] {
    let files = SystemFiles()
    let (programs, _) = all(["/proc/net/l2cap"], files)
    return isChannelTaken(files) ?? true ? programs : []
  }

  /// Whether a socket listens on the ATT channel; nil if the kernel does not report it. It reports
  /// it to root only, and only where debugfs is mounted.
  package static func isChannelTaken(_ files: SystemFiles) -> Bool? {
    let listening = "4"
    // Source, destination, state, PSM, source's and destination's CID, and more.
    return files.lines("/sys/kernel/debug/bluetooth/l2cap")?.contains { line in
      let fields = line.split(separator: " ").map { $0.lowercased() }
      guard let state = fields.firstIndex(of: listening), state + 2 < fields.count else {
        return false
      }
      return fields[state + 2] == "0x0004"
    }
  }
}
