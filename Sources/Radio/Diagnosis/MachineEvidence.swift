import CLinux
import EventLoop
import Glibc
import Links

/// What a look at the machine found: facts only, judged elsewhere.
struct MachineEvidence {
  /// How the kernel was built with regard to Bluetooth (CONFIG_BT).
  enum KernelOption {
    case builtIn, module, absent, unknown
  }

  /// Whether the process shares the network of the machine itself.
  enum NetworkNamespace {
    case initial, other, unknown
  }

  /// An entry of /sys/class/rfkill that is about Bluetooth.
  struct RadioSwitch: Hashable {
    /// rfkillN
    var entry: String
    /// The adapter, or the name that the laptop's firmware gives it.
    var name: String
    /// Blocked by software, which software can undo.
    var isSoft: Bool
    /// Blocked by a switch or the firmware.
    var isHard: Bool
  }

  /// Another process that holds Bluetooth sockets.
  struct Program: Hashable {
    var process: Int32
    var name: String
  }

  /// A Bluetooth controller on USB, whether or not a driver has taken it.
  struct USBController: Hashable {
    var interface: String
    var driver: String?
  }

  /// As `uname -r` says it.
  var release = "?"
  /// The path of the program that runs.
  var program = "PROGRAM"
  var kernelOption = KernelOption.unknown
  /// Where the option was read.
  var kernelOptionSource = ""
  /// The kernel's modules lie in /lib/modules.
  var hasModuleTree = false
  /// bluetooth.ko lies there.
  var hasModuleFile = false
  /// A file of /etc/modprobe.d forbids Bluetooth's modules.
  var blacklist: String?
  /// Modules in the kernel that belong to Bluetooth.
  var modules: [String] = []
  /// Whether the kernel knows Bluetooth's protocols now; nil if it does not tell.
  var isRegistered: Bool?
  var namespace = NetworkNamespace.unknown
  /// Whether system calls are filtered (seccomp).
  var isFiltered = false
  /// What sort of container this seems to be.
  var container: String?
  /// Whether privileges count only inside a user namespace.
  var isUserNamespace = false
  /// Whether the process cannot gain privileges by running programs that have them.
  var cannotGainPrivileges = false
  /// CAP_NET_ADMIN in the effective set; nil if it is not known.
  var hasNetAdmin: Bool?
  /// hciN of /sys/class/bluetooth: also those that the management does not list.
  var systemAdapters: [String] = []
  var usbControllers: [USBController] = []
  var switches: [RadioSwitch] = []
  /// Processes called bluetoothd.
  var daemons: [Int32] = []
  /// Other processes with sockets of HCI or L2CAP.
  var programs: [Program] = []
  /// Sockets of HCI or L2CAP whose process may not be looked at.
  var foreignSockets = 0
  /// net.core.rmem_max
  var receiveLimit: Int?

  // What is tried rather than read.

  /// What opening an L2CAP socket ended with; 0: it can be had.
  var socketErrno: Int32 = 0
  /// What such a socket's receive buffer holds, as the kernel counts, after asking for as much as
  /// links do; nil if there is no socket.
  var receiveBuffer: Int?
  var airPath = ""
  var airFault: RadioError?
  var hasSQLite = false

  // What the kernel's management says.

  var adapters: [AdapterInformation] = []
  /// Adapters that want an address or the like before they can be used.
  var unconfigured: [UInt16] = []
  /// Whether the management lets this process change anything; nil if it does not tell.
  var mayManage: Bool?
  var managementError: RadioError?

  /// Nothing was looked at.
  init() {}

  /// What files tell.
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
    let packed = files.octets("/proc/config.gz").flatMap { GzipText.unpack($0) }
    for (source, octets) in [
      ("/proc/config.gz", packed),
      ("/boot/config-\(release)", files.octets("/boot/config-\(release)")),
    ] {
      guard let octets, kernelOption == .unknown else { continue }
      let lines = String(decoding: octets, as: UTF8.self).split(separator: "\n")
      kernelOptionSource = source
      kernelOption =
        lines.contains("CONFIG_BT=y") ? .builtIn : lines.contains("CONFIG_BT=m") ? .module : .absent
    }
    let tree = "/lib/modules/\(release)"
    hasModuleTree = files.exists(tree + "/modules.dep")
    hasModuleFile =
      files.lines(tree + "/modules.dep")?.contains { $0.contains("/bluetooth/bluetooth.ko") }
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
    // The kernel makes these lists in the machine's own network only.
    if files.exists("/proc/net/l2cap") { return .initial }
    guard let own = files.link("/proc/self/ns/net") else { return .unknown }
    // NET_NS_INIT_INO, which newer kernels keep to.
    if own == "net:[\(0xEFFF_FFF9)]" { return .initial }
    guard let first = files.link("/proc/1/ns/net") else { return .unknown }
    guard own == first else { return .other }
    // Where numbers of processes are the machine's own, so is its first process. PROC_PID_INIT_INO
    return files.link("/proc/self/ns/pid") == "pid:[\(0xEFFF_FFFC)]" ? .initial : .unknown
  }

  private mutating func readSockets(_ files: SystemFiles) {
    daemons = files.processes.filter { files.name(of: $0) == "bluetoothd" }
    (programs, foreignSockets) = Program.all(["/proc/net/hci", "/proc/net/l2cap"], files)
  }

  private mutating func readHardware(_ files: SystemFiles) {
    systemAdapters = files.names("/sys/class/bluetooth").filter {
      $0.hasPrefix("hci") && UInt16($0.dropFirst(3)) != nil
    }
    let usb = "/sys/bus/usb/devices"
    for name in files.names(usb) {
      // Wireless controller, RF controller, Bluetooth: the USB-IF's codes of classes.
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

extension MachineEvidence.RadioSwitch {
  /// The entries that are about Bluetooth.
  static func all(_ files: SystemFiles) -> [Self] {
    let folder = "/sys/class/rfkill"
    return files.names(folder).filter {
      files.line("\(folder)/\($0)/type") == "bluetooth"
    }.map { entry in
      Self(
        entry: entry, name: files.line("\(folder)/\(entry)/name") ?? entry,
        isSoft: files.line("\(folder)/\(entry)/soft") == "1",
        isHard: files.line("\(folder)/\(entry)/hard") == "1")
    }
  }
}

extension MachineEvidence.Program {
  /// Processes, but this one, that hold sockets of these lists of /proc/net, and how many sockets
  /// are held by processes that may not be looked at.
  static func all(_ lists: [String], _ files: SystemFiles) -> ([Self], Int) {
    var sockets: Set<Substring> = []
    for list in lists {
      for line in files.lines(list)?.dropFirst() ?? [] {
        // sk RefCnt Rmem Wmem User Inode Parent
        let fields = line.split(separator: " ")
        // What was not accepted yet has no inode.
        if fields.count >= 6, fields[5] != "0" { sockets.insert(fields[5]) }
      }
    }
    var programs: [Self] = []
    // Without such sockets no process need be looked through.
    for process in sockets.isEmpty ? [] : files.processes {
      let folder = "/proc/\(process)/fd"
      var holds = false
      for descriptor in files.names(folder) {
        guard let target = files.link("\(folder)/\(descriptor)"), target.hasPrefix("socket:[")
        else { continue }
        if sockets.remove(target.dropFirst(8).dropLast()) != nil { holds = true }
      }
      guard holds, process != getpid() else { continue }
      programs.append(Self(process: process, name: files.name(of: process) ?? "?"))
    }
    return (programs, sockets.count)
  }

  /// Whether somebody listens on the ATT channel; nil if the kernel does not tell, as it does only
  /// root, and only where debugfs is mounted.
  static func isChannelTaken(_ files: SystemFiles) -> Bool? {
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
