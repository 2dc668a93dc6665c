import AttoEventLoop
import AttoKernelRadio
import AttoLinks
import AttoRadio
import AttoVirtualRadio
import CAttoLinux
import Glibc

/// Evidence that is found by trying.
extension MachineEvidence {
  /// Opens the sockets that Atto needs, and closes them again.
  mutating func trySockets() {
    let socket = clinux_seqpacket_socket(AF_BLUETOOTH, BTPROTO_L2CAP)
    socketErrno = socket < 0 ? -socket : 0
    guard socket >= 0 else {
      // The attempt may have made the kernel load its module.
      isRegistered = MachineEvidence(SystemFiles()).isRegistered
      return
    }
    defer { _ = close(socket) }
    var size: Int32 = 0
    do throws(LinkError) {
      try L2CAPOptions().socket.apply(to: socket, endpoint: "le:")
    } catch {
      // The size that the socket has is what counts.
    }
    if clinux_get_option(socket, SOL_SOCKET, SO_RCVBUF, &size) == 0 { receiveBuffer = Int(size) }
    tryOptions(of: socket)
  }

  /// Sets options that kernels do not all have. The socket is not bound, so those that the kernel has are
  /// refused for that reason, and the others with ENOPROTOOPT.
  private mutating func tryOptions(of socket: Int32) {
    let mode = clinux_set_channel_mode(socket, UInt8(BT_MODE_EXT_FLOWCTL))
    hasEnhancedChannels = mode != -ENOPROTOOPT
    choosesPHY = !LinkPHY.isFixed(for: socket)
    // L2CAP stamps what it sends in the kernels that have SOF_TIMESTAMPING_TX_COMPLETION. The older flags
    // are accepted before, without effect.
    let stampsOfCompletion: Int32 = 1 << 18
    stampsSentPDUs =
      clinux_set_option(socket, SOL_SOCKET, SO_TIMESTAMPING, stampsOfCompletion) == 0
  }

  /// Opens the folder of the virtual air, as its radios do.
  mutating func tryAir() {
    airPath = AirFolder.defaultPath()
    do throws(RadioError) {
      let folder = try AirFolder()
      if access(folder.path, W_OK | X_OK) != 0 {
        airFault = .folder(path: folder.path, .system("written to", errno: errno))
      }
    } catch {
      airFault = error
    }
  }

  /// Loads libraries that Atto loads when they are first needed.
  mutating func tryLibraries() {
    guard let handle = dlopen("libsqlite3.so.0", RTLD_LAZY | RTLD_LOCAL) else { return }
    hasSQLite = true
    dlclose(handle)
  }

  /// Asks the management socket for adapters, and for what this process may do.
  mutating func askKernel(_ loop: Loop) async {
    guard socketErrno == 0 else { return }
    do throws(RadioError) {
      let answer = try await KernelAdapters(loop: loop).survey()
      adapters = answer.adapters
      unconfigured = answer.unconfigured
      commands = answer.commands
      defaults = answer.defaults
      mayManage = answer.commands.map { $0.contains(ManagementOpcode.setPowered.code) }
    } catch {
      managementError = error
    }
  }
}
