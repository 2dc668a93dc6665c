import AttoKernelRadio
import AttoRadio
import Glibc

/// Checks of the kernel and of the permissions of the process.
extension Diagnosis {
  static func kernel(_ evidence: MachineEvidence) -> Check {
    let release = evidence.release
    let numbers = release.split { !$0.isASCII || !$0.isNumber }.prefix(2).compactMap { Int($0) }
    guard numbers.count == 2 else {
      return Check("kernel", .warn, "unknown kernel version \"\(release)\"")
    }
    guard (numbers[0], numbers[1]) < (6, 12) else {
      return Check("kernel", .ok, "Linux \(release)")
    }
    return Check(
      "kernel", .warn,
      "Linux \(release): Linux 6.1 can crash (a BUG in hci_chan_del) when an ATT socket is closed "
        + "while its link ends; the first version tested without this is 6.12",
      remedy: "boot Linux 6.12 or later")
  }

  static func container(_ evidence: MachineEvidence) -> Check? {
    guard let sort = evidence.container else { return nil }
    let network =
      switch evidence.namespace {
      case .initial: ", in the network namespace of the machine"
      case .other: ", in a network namespace of its own"
      case .unknown: ""
      }
    return Check("container", .ok, "running in a container (\(sort))\(network)")
  }

  /// Whether Bluetooth sockets can be opened, and if not, the reason.
  ///
  /// There are four reasons for EAFNOSUPPORT. If the kernel has registered Bluetooth protocols, the
  /// process is in another network namespace, since Bluetooth exists in that of the machine only, or
  /// a system call filter pretends that Bluetooth is missing. Otherwise the attempt to open a socket
  /// has not loaded the module: there is none, or loading is blocked.
  static func bluetooth(_ evidence: MachineEvidence) -> Check {
    switch evidence.socketErrno {
    case 0:
      let modules = evidence.modules.isEmpty ? "" : " (\(evidence.modules.joined(separator: ", ")))"
      return Check("bluetooth", .ok, "the kernel has Bluetooth\(modules)")
    case EAFNOSUPPORT: break
    case EPERM, EACCES:
      return Check(
        "bluetooth", .problem, "this process is not permitted to open Bluetooth sockets",
        remedy:
          "change the security policy (SELinux, AppArmor, a system call filter) that denies the "
          + "address family AF_BLUETOOTH")
    case EMFILE, ENFILE:
      return Check(
        "bluetooth", .problem, "the process has no file descriptors left", remedy: "raise ulimit -n"
      )
    case EPROTONOSUPPORT, ESOCKTNOSUPPORT:
      return Check(
        "bluetooth", .problem, "the kernel's Bluetooth has no L2CAP",
        remedy: "sudo modprobe bluetooth, or boot a kernel that has L2CAP")
    case let errno:
      return Check("bluetooth", .problem, "cannot open a Bluetooth socket: \(errorText(errno))")
    }
    if evidence.isRegistered == true { return hidden(evidence) }
    if evidence.isRegistered == nil, evidence.namespace == .other { return namespace }
    return missing(evidence)
  }

  private static let namespace = Check(
    "bluetooth", .problem,
    "this process is in a network namespace of its own, and Bluetooth exists in that of the machine "
      + "only",
    remedy: "run it in the network namespace of the machine: docker run --network=host, podman run "
      + "--network=host, hostNetwork: true, or sudo nsenter --net=/proc/1/ns/net")

  /// The kernel has Bluetooth, but not for this process.
  private static func hidden(_ evidence: MachineEvidence) -> Check {
    // The lists of sockets exist in the network namespace of the machine only.
    guard evidence.namespace == .initial else { return namespace }
    guard evidence.isFiltered else {
      return Check(
        "bluetooth", .problem,
        "the kernel has Bluetooth, but does not permit this process to open its sockets",
        remedy: "change the security policy that denies the address family AF_BLUETOOTH")
    }
    return Check(
      "bluetooth", .problem,
      "the kernel has Bluetooth, but a system call filter (seccomp) denies its sockets to this "
        + "process",
      remedy:
        "permit the address family: RestrictAddressFamilies=AF_BLUETOOTH AF_UNIX in a systemd "
        + "unit, or another seccomp profile for a container")
  }

  /// The kernel has no Bluetooth, or it is not loaded.
  private static func missing(_ evidence: MachineEvidence) -> Check {
    let release = evidence.release
    let also =
      evidence.namespace == .other
      ? "; also run this process in the network namespace of the machine (--network=host)"
      : ""
    func problem(_ text: String, _ remedy: String) -> Check {
      Check("bluetooth", .problem, text, remedy: remedy + also)
    }
    if evidence.kernelOption == .absent {
      return problem(
        "the kernel \(release) was built without Bluetooth (CONFIG_BT is not set in "
          + "\(evidence.kernelOptionSource))",
        "boot a kernel with Bluetooth (Debian: linux-image-amd64, not a cloud kernel); air: endpoints "
          + "work without")
    }
    if let file = evidence.blacklist {
      return problem(
        "the kernel's Bluetooth is not loaded, and \(file) blocks it",
        "remove that line, then: sudo modprobe bluetooth")
    }
    if evidence.hasModuleFile {
      return problem(
        "the kernel's Bluetooth is not loaded",
        "sudo modprobe bluetooth, and btusb for USB adapters")
    }
    if evidence.container != nil, !evidence.hasModuleTree {
      return problem(
        "the kernel's Bluetooth is not loaded, and a container cannot load it",
        "on the host: sudo modprobe bluetooth")
    }
    if evidence.kernelOption == .module || evidence.hasModuleTree {
      return problem(
        "the kernel \(release) has no module bluetooth in /lib/modules/\(release)",
        "install the package with the other modules of this kernel (Ubuntu: "
          + "linux-modules-extra-\(release)), or boot a kernel with Bluetooth")
    }
    return problem(
      "the kernel \(release) has no Bluetooth, or it is not loaded",
      "sudo modprobe bluetooth, or boot a kernel with Bluetooth; air: endpoints work without")
  }

  /// What this kernel offers beyond connections, as sockets and the list of management commands show it;
  /// nil if no socket could be opened.
  static func features(_ evidence: MachineEvidence) -> Check? {
    guard let hasEnhancedChannels = evidence.hasEnhancedChannels else { return nil }
    let isSwitchedOff = !hasEnhancedChannels && evidence.hasEnhancedSwitch
    var parts = [
      "enhanced bearers (EATT) \(hasEnhancedChannels ? "on" : isSwitchedOff ? "off" : "missing")",
      "timestamps of \(evidence.stampsSentPDUs ? "received and sent" : "received") PDUs",
      "\(evidence.choosesPHY ? "a" : "no") choice of the PHY",
    ]
    // An unprivileged process is told of the commands that it may use only.
    if let commands = evidence.commands, evidence.mayManage == true {
      func add(_ opcode: ManagementOpcode, _ name: String) {
        parts.append("\(commands.contains(opcode.code) ? "" : "no ")\(name)")
      }
      add(.addPatternsMonitor, "passive scans by advertisement monitors")
      add(.setDefaultConfiguration, "default connection parameters")
      add(.sendHCICommand, "HCI commands through the management socket")
    }
    return Check(
      "features", isSwitchedOff ? .warn : .ok, parts.joined(separator: ", "),
      remedy: isSwitchedOff
        ? "echo 1 | sudo tee /sys/module/bluetooth/parameters/enable_ecred, for --bearers" : nil)
  }

  /// Whether the process has CAP_NET_ADMIN.
  static func capability(_ evidence: MachineEvidence) -> Check {
    let may = evidence.mayManage ?? (evidence.hasNetAdmin == true && !evidence.isUserNamespace)
    if may {
      return Check("capability", .ok, "this process may scan, advertise, pair and change adapters")
    }
    let lack =
      "the process can connect and listen, but not scan, advertise, pair or change adapters"
    if evidence.hasNetAdmin == true, evidence.isUserNamespace {
      return Check(
        "capability", .problem,
        "CAP_NET_ADMIN is effective only inside the user namespace of this process: \(lack)",
        remedy: outsideOfUserNamespace)
    }
    return Check(
      "capability", .problem, "CAP_NET_ADMIN is missing: \(lack)",
      remedy: granting("cap_net_admin", evidence))
  }

  /// Why ``KernelMonitor`` may not be opened by this process, and how to fix it. Call it after opening
  /// has failed. Reads files of /proc.
  public static var closedMonitor: Check { closedMonitor(MachineEvidence(SystemFiles())) }

  static func closedMonitor(_ evidence: MachineEvidence) -> Check {
    if evidence.isUserNamespace {
      return Check(
        "monitor", .problem,
        "capturing the kernel's HCI traffic requires CAP_NET_RAW outside of user namespaces, and this "
          + "process is in a user namespace", remedy: outsideOfUserNamespace)
    }
    return Check(
      "monitor", .problem, "CAP_NET_RAW is missing: capturing the kernel's HCI traffic requires it",
      remedy: granting("cap_net_raw,cap_net_admin", evidence))
  }

  private static let outsideOfUserNamespace =
    "run it outside of the user namespace (sudo, or a container that is not rootless)"

  private static func granting(_ capabilities: String, _ evidence: MachineEvidence) -> String {
    evidence.cannotGainPrivileges
      ? "run it as root; a file capability has no effect, since this process cannot gain privileges "
        + "(NoNewPrivs)"
      : "sudo setcap \(capabilities)+ep \(evidence.program), or run it as root"
  }
}
