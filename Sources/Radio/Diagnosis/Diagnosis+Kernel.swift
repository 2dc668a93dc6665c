import Glibc

/// Judgements of the kernel and of what the process may see of it.
extension Diagnosis {
  static func kernel(_ evidence: MachineEvidence) -> Check {
    let release = evidence.release
    let numbers = release.split { !$0.isASCII || !$0.isNumber }.prefix(2).compactMap { Int($0) }
    guard numbers.count == 2 else {
      return Check("kernel", .warn, "the kernel calls itself \"\(release)\"")
    }
    guard (numbers[0], numbers[1]) < (6, 12) else {
      return Check("kernel", .ok, "Linux \(release)")
    }
    return Check(
      "kernel", .warn,
      "Linux \(release): kernels of the series 6.1 were seen to crash (a BUG in hci_chan_del) when "
        + "an ATT socket is closed while its link ends, and none before 6.12 was tried since",
      remedy: "boot Linux 6.12 or newer")
  }

  static func container(_ evidence: MachineEvidence) -> [Check] {
    guard let sort = evidence.container else { return [] }
    let network =
      switch evidence.namespace {
      case .initial: ", with the network of the machine"
      case .other: ", with a network of its own"
      case .unknown: ""
      }
    return [Check("container", .ok, "this is a container (\(sort))\(network)")]
  }

  /// Whether there are Bluetooth sockets, and if not, whose doing that is.
  ///
  /// The kernel answers EAFNOSUPPORT for four reasons. If its list of protocols has Bluetooth's,
  /// then it is not the kernel's lack: Bluetooth is for the machine's own network namespace alone,
  /// and filters of system calls may pretend a lack. If the list does not have them, then not even
  /// the attempt to open a socket has made it load a module: there is none, or it was refused.
  static func bluetooth(_ evidence: MachineEvidence) -> Check {
    switch evidence.socketErrno {
    case 0:
      let modules = evidence.modules.isEmpty ? "" : " (\(evidence.modules.joined(separator: ", ")))"
      return Check("bluetooth", .ok, "the kernel has Bluetooth\(modules)")
    case EAFNOSUPPORT: break
    case EPERM, EACCES:
      return Check(
        "bluetooth", .problem, "this process may not open Bluetooth sockets",
        remedy: "look for a security policy (SELinux, AppArmor, a filter of system calls) that "
          + "forbids the address family Bluetooth")
    case EMFILE, ENFILE:
      return Check(
        "bluetooth", .problem, "there are no descriptors left", remedy: "raise ulimit -n")
    case EPROTONOSUPPORT, ESOCKTNOSUPPORT:
      return Check(
        "bluetooth", .problem, "the kernel's Bluetooth lacks L2CAP",
        remedy: "sudo modprobe bluetooth, or boot a kernel that has L2CAP")
    case let errno:
      return Check("bluetooth", .problem, "no Bluetooth socket can be had: \(errorText(errno))")
    }
    if evidence.isRegistered == true { return hidden(evidence) }
    if evidence.isRegistered == nil, evidence.namespace == .other { return namespace }
    return missing(evidence)
  }

  private static let namespace = Check(
    "bluetooth", .problem,
    "this process is in a network namespace of its own, and the kernel has Bluetooth in the "
      + "machine's own only",
    remedy: "run it in the machine's network: docker run --network=host, podman run "
      + "--network=host, hostNetwork: true, or sudo nsenter --net=/proc/1/ns/net")

  /// The kernel has it, but not for us.
  private static func hidden(_ evidence: MachineEvidence) -> Check {
    // The lists of sockets are in the machine's own network only, so a loaded module decides it.
    guard evidence.namespace == .initial else { return namespace }
    guard evidence.isFiltered else {
      return Check(
        "bluetooth", .problem, "the kernel has Bluetooth, but refuses its sockets to this process",
        remedy: "look for a security policy that forbids the address family Bluetooth")
    }
    return Check(
      "bluetooth", .problem,
      "the kernel has Bluetooth, but a filter of system calls (seccomp) refuses its sockets to this "
        + "process",
      remedy: "allow the address family: RestrictAddressFamilies=AF_BLUETOOTH AF_UNIX in a unit of "
        + "systemd, or another seccomp profile for a container")
  }

  /// The kernel does not have it, or not loaded.
  private static func missing(_ evidence: MachineEvidence) -> Check {
    let release = evidence.release
    let also =
      evidence.namespace == .other
      ? "; this process is in a network namespace of its own besides, so run it in the machine's "
        + "(--network=host)"
      : ""
    func problem(_ text: String, _ remedy: String) -> Check {
      Check("bluetooth", .problem, text, remedy: remedy + also)
    }
    if evidence.kernelOption == .absent {
      return problem(
        "the kernel \(release) was built without Bluetooth (CONFIG_BT is not set in "
          + "\(evidence.kernelOptionSource))",
        "boot a kernel that has it (Debian: the package linux-image-amd64, not a cloud kernel); "
          + "until then endpoints that begin with air: work")
    }
    if let file = evidence.blacklist {
      return problem(
        "the kernel's Bluetooth is not loaded, and \(file) forbids it",
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
        "on the machine itself: sudo modprobe bluetooth")
    }
    if evidence.kernelOption == .module || evidence.hasModuleTree {
      return problem(
        "the kernel \(release) has no module bluetooth in /lib/modules/\(release)",
        "install the package with the rest of this kernel's modules (Ubuntu: "
          + "linux-modules-extra-\(release)), or boot a kernel that has Bluetooth")
    }
    return problem(
      "the kernel \(release) has no Bluetooth, or none that is loaded",
      "sudo modprobe bluetooth, or boot a kernel that has it; until then endpoints that begin with "
        + "air: work")
  }

  /// What only those with CAP_NET_ADMIN may do.
  static func capability(_ evidence: MachineEvidence) -> Check {
    let may = evidence.mayManage ?? (evidence.hasNetAdmin == true && !evidence.isUserNamespace)
    if may {
      return Check("capability", .ok, "this process may scan, advertise, pair and switch adapters")
    }
    let lack =
      "connecting and listening are possible, but scanning, advertising, pairing and switching "
      + "adapters are not"
    if evidence.hasNetAdmin == true, evidence.isUserNamespace {
      return Check(
        "capability", .problem,
        "CAP_NET_ADMIN counts only inside this process's user namespace: \(lack)",
        remedy: "run it outside (sudo, or a container that is not rootless)")
    }
    return Check(
      "capability", .problem, "CAP_NET_ADMIN is missing: \(lack)",
      remedy: evidence.cannotGainPrivileges
        ? "run it as root; this process cannot gain privileges (NoNewPrivs), so a capability of the "
          + "file would not count"
        : "sudo setcap cap_net_admin+ep \(evidence.program), or run it as root")
  }
}
