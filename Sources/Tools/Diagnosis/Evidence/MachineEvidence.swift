import AttoKernelRadio
import AttoRadio

/// Facts about the machine, which ``Diagnosis`` judges.
struct MachineEvidence {
  /// CONFIG_BT of the kernel.
  enum KernelOption {
    case builtIn, module, absent, unknown
  }

  /// Whether the process is in the network namespace of the machine.
  enum NetworkNamespace {
    case initial, other, unknown
  }

  /// A Bluetooth controller on USB, with or without a driver.
  struct USBController: Hashable {
    var interface: String
    var driver: String?
  }

  var release = "?"
  var program = "PROGRAM"
  var kernelOption = KernelOption.unknown
  /// The file in which the option was read.
  var kernelOptionSource = ""
  /// Whether /lib/modules has the modules of this kernel.
  var hasModuleTree = false
  /// Whether bluetooth.ko is among them.
  var hasModuleFile = false
  /// The file of /etc/modprobe.d that blocks Bluetooth modules.
  var blacklist: String?
  /// The Bluetooth modules that are loaded.
  var modules: [String] = []
  /// Whether the kernel has registered Bluetooth protocols; nil if it is not known.
  var isRegistered: Bool?
  var namespace = NetworkNamespace.unknown
  /// Whether system calls are filtered (seccomp).
  var isFiltered = false
  /// The kind of container; nil if this seems to be none.
  var container: String?
  /// Whether the process is in a user namespace, where privileges do not apply outside.
  var isUserNamespace = false
  /// Whether the process cannot gain privileges by executing a file (NoNewPrivs).
  var cannotGainPrivileges = false
  /// CAP_NET_ADMIN in the effective set; nil if it is not known.
  var hasNetAdmin: Bool?
  /// hciN of /sys/class/bluetooth, including those that the management socket does not list.
  var systemAdapters: [String] = []
  var usbControllers: [USBController] = []
  var switches: [RadioSwitch] = []
  /// Processes called bluetoothd.
  var daemons: [Int32] = []
  /// Other processes with sockets of HCI or L2CAP.
  var programs: [BluetoothProgram] = []
  /// The number of such sockets whose process this one may not examine.
  var foreignSockets = 0
  /// net.core.rmem_max
  var receiveLimit: Int?

  // Results of trying.

  /// The `errno` of opening an L2CAP socket; 0: it succeeded.
  var socketErrno: Int32 = 0
  /// The receive buffer of such a socket, as the kernel counts, after asking for as much as links
  /// do; nil if there is no socket.
  var receiveBuffer: Int?
  /// Whether the kernel accepts BT_MODE for enhanced bearers; nil if there is no socket.
  var hasEnhancedChannels: Bool?
  /// Whether the module bluetooth has the parameter that switches them on.
  var hasEnhancedSwitch = false
  /// Whether the kernel stamps PDUs that are sent.
  var stampsSentPDUs = false
  /// Whether the kernel accepts BT_PHY of a socket.
  var choosesPHY = false
  var airPath = ""
  var airFault: RadioError?
  var hasSQLite = false

  // Answers of the management socket.

  var adapters: [AdapterInformation] = []
  /// Adapters that need an address or other configuration.
  var unconfigured: [UInt16] = []
  /// The codes of the commands that this process may use; nil if they are not known.
  var commands: Set<UInt16>?
  /// The default parameters of adapters, by index.
  var defaults: [UInt16: AdapterDefaults] = [:]
  /// Whether this process may change settings; nil if it is not known.
  var mayManage: Bool?
  var managementError: RadioError?

  init() {}

  init(_ files: SystemFiles) {
    release = files.line("/proc/sys/kernel/osrelease") ?? release
    program = files.link("/proc/self/exe") ?? program
    readKernel(files)
    readProcess(files)
    readSockets(files)
    readHardware(files)
    receiveLimit = files.line("/proc/sys/net/core/rmem_max").flatMap { Int($0) }
  }

  private mutating func readKernel(_ files: SystemFiles) {
    let tree = "/lib/modules/\(release)"
    for source in ["/boot/config-\(release)", tree + "/config"] {
      guard kernelOption == .unknown, let lines = files.lines(source) else { continue }
      kernelOptionSource = source
      kernelOption =
        lines.contains("CONFIG_BT=y") ? .builtIn : lines.contains("CONFIG_BT=m") ? .module : .absent
    }
    hasModuleTree = files.exists(tree + "/modules.dep")
    hasModuleFile =
      files.lines(tree + "/modules.dep")?.contains { line in
        line.split(separator: "/").contains { $0.hasPrefix("bluetooth.ko") }
      }
      ?? false
    for name in files.names("/etc/modprobe.d") where name.hasSuffix(".conf") {
      let path = "/etc/modprobe.d/\(name)"
      let forbids = files.lines(path)?.contains { line in
        let words = line.split(separator: " ")
        return words.count >= 2 && ["bluetooth", "btusb"].contains(words[1])
          && (words[0] == "blacklist"
            || words[0] == "install" && ["/bin/false", "/bin/true"].contains(words.last))
      }
      if forbids == true { blacklist = path }
    }
    hasEnhancedSwitch = files.exists("/sys/module/bluetooth/parameters/enable_ecred")
    modules = (files.lines("/proc/modules") ?? []).compactMap { line in
      line.split(separator: " ").first.map { String($0) }
    }.filter { $0 == "bluetooth" || $0.hasPrefix("hci_") || $0.hasPrefix("bt") }.sorted()
    isRegistered = files.lines("/proc/net/protocols")?.contains {
      $0.hasPrefix("L2CAP ") || $0.hasPrefix("HCI ")
    }
  }

  private mutating func readProcess(_ files: SystemFiles) {
    let status = "/proc/self/status"
    isFiltered = files.field("Seccomp", of: status) == "2"
    cannotGainPrivileges = files.field("NoNewPrivs", of: status) == "1"
    let capNetAdmin: UInt64 = 12
    hasNetAdmin = files.field("CapEff", of: status).flatMap { UInt64($0, radix: 16) }.map {
      $0 >> capNetAdmin & 1 == 1
    }
    let map = files.line("/proc/self/uid_map")?.split(separator: " ")
    isUserNamespace = map.map { $0 != ["0", "0", "4294967295"] } ?? false
    namespace = Self.namespace(files)
    if let sort = files.line("/run/systemd/container"), !sort.isEmpty {
      container = sort
    } else if files.exists("/run/.containerenv") {
      container = "podman"
    } else if files.exists("/.dockerenv") {
      container = "docker"
    }
  }

  private static func namespace(_ files: SystemFiles) -> NetworkNamespace {
    // These lists exist in the machine's own network namespace only.
    if files.exists("/proc/net/l2cap") { return .initial }
    guard let own = files.link("/proc/self/ns/net") else { return .unknown }
    // NET_NS_INIT_INO of newer kernels.
    if own == "net:[\(0xEFFF_FFF9)]" { return .initial }
    guard let first = files.link("/proc/1/ns/net") else { return .unknown }
    guard own == first else { return .other }
    // In the PID namespace of the machine (PROC_PID_INIT_INO) process 1 is the machine's.
    return files.link("/proc/self/ns/pid") == "pid:[\(0xEFFF_FFFC)]" ? .initial : .unknown
  }

  private mutating func readSockets(_ files: SystemFiles) {
    daemons = files.processes.filter { files.name(of: $0) == "bluetoothd" }
    (programs, foreignSockets) = BluetoothProgram.all(["/proc/net/hci", "/proc/net/l2cap"], files)
  }

  private mutating func readHardware(_ files: SystemFiles) {
    systemAdapters = files.names("/sys/class/bluetooth").filter {
      $0.hasPrefix("hci") && UInt16($0.dropFirst(3)) != nil
    }
    let usb = "/sys/bus/usb/devices"
    for name in files.names(usb) {
      // USB class codes of wireless controller, RF controller, Bluetooth.
      let codes = ["bInterfaceClass", "bInterfaceSubClass", "bInterfaceProtocol"].map {
        files.line("\(usb)/\(name)/\($0)")
      }
      guard codes == ["e0", "01", "01"] else { continue }
      let driver = files.link("\(usb)/\(name)/driver")?.split(separator: "/").last
      usbControllers.append(USBController(interface: name, driver: driver.map { String($0) }))
    }
    switches = RadioSwitch.all(files)
  }
}
