import CLinux
import EventLoop
import Glibc
import Links

/// What can only be found out by trying.
extension MachineEvidence {
  /// Opens the sockets that Atto needs, and closes them again.
  mutating func trySockets() {
    let socket = clinux_seqpacket_socket(AF_BLUETOOTH, BTPROTO_L2CAP)
    socketErrno = socket < 0 ? -socket : 0
    guard socket >= 0 else {
      // The attempt may have had the kernel load its module.
      isRegistered = MachineEvidence(SystemFiles()).isRegistered
      return
    }
    defer { _ = close(socket) }
    var size: Int32 = 0
    do throws(LinkError) {
      try L2CAPOptions().socket.apply(to: socket, endpoint: "le:")
    } catch {
      // What the socket has then is what counts.
    }
    if clinux_get_option(socket, SOL_SOCKET, SO_RCVBUF, &size) == 0 { receiveBuffer = Int(size) }
  }

  /// Opens the virtual air's folder, as every radio of it does.
  mutating func tryAir() {
    airPath = AirFolder.usualPath()
    do throws(RadioError) {
      let folder = try AirFolder()
      if access(folder.path, W_OK | X_OK) != 0 {
        airFault = .folder(path: folder.path, .system("written to", errno: errno))
      }
    } catch {
      airFault = error
    }
  }

  /// Looks for libraries that are loaded only where they are wanted.
  mutating func tryLibraries() {
    guard let handle = dlopen("libsqlite3.so.0", RTLD_LAZY | RTLD_LOCAL) else { return }
    hasSQLite = true
    dlclose(handle)
  }

  /// Asks the kernel's management for its adapters, and what it would let this process do.
  mutating func askKernel(_ loop: Loop) async {
    guard socketErrno == 0 else { return }
    do throws(RadioError) {
      let answer = try await KernelAdapters(loop: loop).survey()
      adapters = answer.adapters
      unconfigured = answer.unconfigured
      mayManage = answer.commands.map { $0.contains(.setPowered) }
    } catch {
      managementError = error
    }
  }
}

extension KernelAdapters {
  struct Survey: Sendable {
    var adapters: [AdapterInformation]
    var unconfigured: [UInt16]
    /// What this process may have the kernel do; nil if the kernel does not tell.
    var commands: Set<ManagementOpcode>?
  }

  /// What is there, and what this process may do.
  ///
  /// - Throws: `link` where the kernel has no Bluetooth, `managementSilent`, `system`.
  func survey() async throws(RadioError) -> Survey {
    let channel = try open()
    let adapters = try await channel.adapters()
    // Kernels before 4.0 know none of them.
    let unconfigured = (try? await channel.command(.readUnconfiguredIndexList)).flatMap {
      ManagementChannel.numbers($0)
    }
    return Survey(
      adapters: adapters, unconfigured: unconfigured ?? [], commands: try? await channel.commands())
  }
}
