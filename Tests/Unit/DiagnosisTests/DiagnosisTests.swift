import AttoRadio
import Glibc
import TestSupport
import Testing

@testable import AttoDiagnosis
@testable import AttoKernelRadio

/// What is judged of a machine that looks like this.
private func checks(_ change: (inout MachineEvidence) -> Void) -> [Diagnosis.Check] {
  var evidence = MachineEvidence()
  evidence.release = "6.12.57-amd64"
  evidence.isRegistered = true
  evidence.namespace = .initial
  evidence.hasNetAdmin = true
  evidence.mayManage = true
  evidence.receiveBuffer = 8 << 20
  evidence.hasEnhancedChannels = true
  evidence.hasSQLite = true
  evidence.airPath = "/tmp/air"
  evidence.adapters = [adapter(0)]
  change(&evidence)
  return Diagnosis(evidence).checks
}

private func adapter(
  _ index: UInt16, _ settings: AdapterSettings = [.powered, .le, .bondable],
  supported: AdapterSettings = AdapterSettings(rawValue: .max)
) -> AdapterInformation {
  var information = AdapterInformation(
    index: index, [UInt8](repeating: 0, count: AdapterInformation.length))!
  information.settings = settings
  information.address = .init(0xAA01_0000_0000 + UInt64(index))
  information.supported = supported
  information.version = 9
  return information
}

/// The one check of this name, as a line.
private func line(
  _ name: String, _ change: (inout MachineEvidence) -> Void
) -> (mark: Diagnosis.Mark?, text: String) {
  let found = checks(change).filter { $0.name == name }
  guard found.count == 1, let check = found.first else { return (nil, "\(found)") }
  return (check.mark, "\(check.adapter ?? "-") \(check.text). \(check.remedy ?? "")")
}

@Suite(.oneByOne) struct DiagnosisTests {
  @Test func aMachineInOrder() {
    let all = checks { _ in }
    #expect(all.allSatisfy { $0.mark == .ok && $0.remedy == nil }, "\(all)")
    #expect(
      all.map(\.name) == [
        "kernel", "bluetooth", "features", "adapter", "power", "le", "bondable", "capability",
        "bluetoothd", "programs", "receive-buffer", "air", "sqlite",
      ])
    #expect(all.allSatisfy { Diagnosis.names.contains($0.name) })
  }

  @Test(
    arguments: [
      // The kernel knows the protocols, and the lists of sockets are not there: another network.
      (true, .other, false, .unknown, false, "network namespace of its own"),
      (true, .unknown, true, .unknown, false, "network namespace of its own"),
      (true, .initial, true, .unknown, false, "seccomp"),
      (true, .initial, false, .unknown, false, "security policy"),
      (false, .initial, false, .absent, false, "was built without Bluetooth"),
      (false, .initial, false, .module, true, "sudo modprobe bluetooth"),
      (false, .initial, false, .module, false, "linux-modules-extra-6.12.57-amd64"),
      (false, .initial, false, .unknown, false, "no Bluetooth, or it is not loaded"),
      (
        false, .other, false, .unknown, true, "modprobe bluetooth, and btusb for USB adapters; also"
      ),
    ]
      as [(
        Bool?, MachineEvidence.NetworkNamespace, Bool, MachineEvidence.KernelOption, Bool, String
      )])
  func theFamilyIsMissing(
    isRegistered: Bool?, namespace: MachineEvidence.NetworkNamespace, isFiltered: Bool,
    option: MachineEvidence.KernelOption, hasFile: Bool, says: String
  ) {
    let change = { (evidence: inout MachineEvidence) in
      evidence.socketErrno = EAFNOSUPPORT
      evidence.isRegistered = isRegistered
      evidence.namespace = namespace
      evidence.isFiltered = isFiltered
      evidence.kernelOption = option
      evidence.hasModuleFile = hasFile
    }
    let found = line("bluetooth", change)
    #expect(found.mark == .problem)
    #expect(found.text.contains(says), "\(found.text)")
    #expect(checks(change).map(\.name) == ["kernel", "bluetooth", "air", "sqlite"])
  }

  @Test func aModuleThatMayNotBeLoaded() {
    let change = { (evidence: inout MachineEvidence) in
      evidence.socketErrno = EAFNOSUPPORT
      evidence.isRegistered = false
      evidence.hasModuleFile = true
      evidence.blacklist = "/etc/modprobe.d/no.conf"
    }
    #expect(line("bluetooth", change).text.contains("/etc/modprobe.d/no.conf blocks it"))
    let inside = line("bluetooth") {
      $0.socketErrno = EAFNOSUPPORT
      $0.isRegistered = false
      $0.container = "docker"
    }
    #expect(inside.text.contains("a container cannot load it"))
  }

  @Test func otherRefusalsOfASocket() {
    #expect(line("bluetooth") { $0.socketErrno = EACCES }.text.contains("security policy"))
    #expect(line("bluetooth") { $0.socketErrno = EMFILE }.text.contains("ulimit"))
    #expect(line("bluetooth") { $0.socketErrno = EPROTONOSUPPORT }.text.contains("L2CAP"))
    #expect(line("bluetooth") { $0.socketErrno = ENOMEM }.mark == .problem)
  }

  @Test func oldKernels() {
    for release in ["6.1.0-41-amd64", "5.15.0", "6.11.9"] {
      #expect(line("kernel") { $0.release = release }.mark == .warn)
    }
    for release in ["6.12.0", "6.18.44-x", "10.0"] {
      #expect(line("kernel") { $0.release = release }.mark == .ok)
    }
    #expect(line("kernel") { $0.release = "?" }.mark == .warn)
  }

  @Test func whatKernelsOffer() {
    let newest = line("features") {
      $0.stampsSentPDUs = true
      $0.choosesPHY = true
      $0.commands = [0x4C, 0x52, 0x5B]
    }
    #expect(newest.mark == .ok)
    #expect(
      newest.text
        == "- enhanced bearers (EATT) on, timestamps of received and sent PDUs, a choice of the PHY, "
        + "passive scans by advertisement monitors, default connection parameters, "
        + "HCI commands through the management socket. ")
    let old = line("features") {
      $0.hasEnhancedChannels = false
      $0.hasEnhancedSwitch = true
      $0.commands = [0x4C, 0x52]
    }
    #expect(
      old.mark == .warn && old.text.contains("(EATT) off, timestamps of received PDUs, no choice"))
    #expect(old.text.contains("no HCI commands") && old.text.contains("tee /sys/module/bluetooth"))
    let unprivileged = line("features") {
      $0.hasEnhancedChannels = false
      $0.commands = [0x03, 0x04]
      $0.mayManage = false
    }
    #expect(unprivileged.mark == .ok && unprivileged.text.contains("(EATT) missing"))
    #expect(!unprivileged.text.contains("monitors"))
    #expect(line("features") { $0.hasEnhancedChannels = nil }.mark == nil)
  }

  @Test func shortSupervisionTimeouts() {
    let usual = line("supervision") { $0.defaults = [0: AdapterDefaults(supervisionTimeout: 42)] }
    #expect(usual.mark == .ok)
    #expect(usual.text.contains("hci0 a new link ends after 420 ms without a packet"))
    #expect(usual.text.contains("tee /sys/kernel/debug/bluetooth/hci0/supervision_timeout"))
    let long = line("supervision") { $0.defaults = [0: AdapterDefaults(supervisionTimeout: 72)] }
    #expect(
      long.text == "hci0 a new link ends after 720 ms without a packet (supervision timeout). ")
    let other = line("supervision") { $0.defaults = [1: AdapterDefaults(supervisionTimeout: 42)] }
    #expect(other.mark == nil)
  }

  @Test func theKernelsDefaultParameters() {
    // A scan interval, the timeout, and a parameter of this kernel only.
    let answer: [UInt8] = [0x13, 0, 2, 0x60, 0, 0x1A, 0, 2, 0x2A, 0, 0xFF, 0, 1, 9]
    #expect(AdapterDefaults(answer) == AdapterDefaults(supervisionTimeout: 42))
    for malformed: [UInt8] in [[0x1A, 0, 2, 0x2A], [0x1A, 0, 1, 0x2A], [0x13, 0], []] {
      #expect(AdapterDefaults(malformed) == AdapterDefaults())
    }
    let timings = AdapterDefaults(
      activeScans: ScanTiming(interval: 0x12, window: 0x12),
      passiveScans: ScanTiming(interval: 0x60, window: 0x30))
    #expect(
      timings.scanOctets == [
        0x11, 0, 2, 0x12, 0, 0x12, 0, 2, 0x12, 0, 0x13, 0, 2, 0x60, 0, 0x14, 0, 2, 0x30, 0,
      ])
    #expect(AdapterDefaults(timings.scanOctets) == timings)
  }

  @Test func partsOfTheTimeInWhichPassiveScansListen() {
    func scans(_ interval: UInt16, _ window: UInt16) -> String {
      let timing = ScanTiming(interval: interval, window: window)
      return line("scans") { $0.defaults = [0: AdapterDefaults(passiveScans: timing)] }.text
    }
    #expect(scans(0x60, 0x30).contains("listens for 30 of each 60 ms"))
    #expect(scans(0x60, 0x30).contains("--scan-window"))
    #expect(scans(0x12, 0x12) == "hci0 a passive scan listens for 11.25 of each 11.25 ms. ")
  }

  @Test func noAdapter() {
    #expect(line("adapter") { $0.adapters = [] }.mark == .problem)
    let idle = line("adapter") {
      $0.adapters = []
      $0.usbControllers = [.init(interface: "1-3:1.0", driver: nil)]
    }
    #expect(idle.text.contains("sudo modprobe btusb"))
    let lame = line("adapter") {
      $0.adapters = []
      $0.usbControllers = [.init(interface: "1-3:1.0", driver: "btusb")]
    }
    #expect(lame.text.contains("firmware"))
    let taken = line("adapter") {
      $0.adapters = []
      $0.systemAdapters = ["hci0"]
    }
    #expect(taken.mark == .problem && taken.text.contains("user channel"))
    let unready = line("adapter") {
      $0.adapters = []
      $0.systemAdapters = ["hci0"]
      $0.unconfigured = [0]
    }
    #expect(unready.text.contains("--index 0 public-addr"))
    let silent = line("adapter") {
      $0.managementError = .managementSilent(.readIndexList, adapter: nil)
    }
    #expect(silent.mark == .problem)
  }

  @Test func poweredOffOrLEOff() {
    let off = line("power") { $0.adapters = [adapter(1, [.le])] }
    #expect(off.mark == .problem)
    #expect(off.text.contains("atto adapters hci1 --power on"))
    #expect(line("le") { $0.adapters = [adapter(0, [.powered])] }.mark == .problem)
    let none = line("le") { $0.adapters = [adapter(0, [.powered], supported: [.powered])] }
    #expect(none.mark == .problem && none.text.contains("does not support LE"))
    // Another adapter is ready: nothing is in the way.
    let all = checks { $0.adapters = [adapter(0), adapter(1, [.le])] }
    #expect(all.filter { $0.adapter == "hci1" && $0.name == "power" }.map(\.mark) == [.warn])
    #expect(!all.contains { $0.mark == .problem })
  }

  @Test func blockedByRfkill() {
    let soft = line("rfkill") {
      $0.adapters = [adapter(0, [.le])]
      $0.switches = [.init(entry: "rfkill3", name: "hci0", isSoft: true, isHard: false)]
    }
    #expect(soft.mark == .problem)
    #expect(soft.text.hasPrefix("hci0 blocked by software (rfkill3)"))
    #expect(soft.text.contains("sudo rfkill unblock bluetooth"))
    #expect(soft.text.contains("/sys/class/rfkill/rfkill3/soft"))
    let hard = line("rfkill") {
      $0.switches = [.init(entry: "rfkill0", name: "hci0", isSoft: true, isHard: true)]
    }
    #expect(hard.text.contains("hardware switch"))
    // A laptop's own switch takes the adapter away altogether.
    let firmware = checks {
      $0.adapters = []
      $0.switches = [
        .init(entry: "rfkill1", name: "tpacpi_bluetooth_sw", isSoft: true, isHard: false)
      ]
    }
    #expect(firmware.contains { $0.name == "rfkill" && $0.mark == .problem })
    let open = line("rfkill") {
      $0.switches = [.init(entry: "rfkill0", name: "hci0", isSoft: false, isHard: false)]
    }
    #expect(open.mark == .ok)
  }

  @Test func privileges() {
    let plain = line("capability") {
      $0.mayManage = false
      $0.hasNetAdmin = false
      $0.program = "/opt/atto"
    }
    #expect(plain.mark == .problem)
    #expect(plain.text.contains("sudo setcap cap_net_admin+ep /opt/atto"))
    let rootless = line("capability") {
      $0.mayManage = false
      $0.isUserNamespace = true
    }
    #expect(rootless.text.contains("user namespace"))
    let held = line("capability") {
      $0.mayManage = false
      $0.hasNetAdmin = false
      $0.cannotGainPrivileges = true
    }
    #expect(held.text.contains("NoNewPrivs") && !held.text.contains("setcap"))
    // An old kernel does not say what it would do.
    #expect(line("capability") { $0.mayManage = nil }.mark == .ok)
  }

  @Test func otherPrograms() {
    let daemon = line("bluetoothd") { $0.daemons = [312] }
    #expect(daemon.mark == .warn && daemon.text.contains("systemctl stop bluetooth"))
    let onlooker = line("programs") { $0.programs = [.init(process: 5, name: "btmon")] }
    #expect(onlooker.mark == .ok && onlooker.text.contains("btmon"))
    let other = line("programs") { $0.programs = [.init(process: 6, name: "gatttool")] }
    #expect(other.mark == .warn && other.text.contains("gatttool (process 6)"))
    let unknown = line("programs") { $0.foreignSockets = 2 }
    #expect(unknown.mark == .warn && unknown.text.contains("sudo atto doctor"))
    // What the daemon holds is the daemon's line.
    let both = line("programs") {
      $0.daemons = [312]
      $0.programs = [.init(process: 312, name: "bluetoothd")]
    }
    #expect(both.mark == .ok)
  }

  @Test func buffersFoldersLibraries() {
    let small = line("receive-buffer") {
      $0.receiveBuffer = 212_992 * 2
      $0.hasNetAdmin = false
    }
    #expect(small.mark == .warn && small.text.contains("net.core.rmem_max=4194304"))
    #expect(checks { $0.receiveBuffer = nil }.allSatisfy { $0.name != "receive-buffer" })
    let air = line("air") { $0.airFault = .folder(path: "/x", .notFolder) }
    #expect(air.mark == .problem && air.text.contains("ATTO_AIR"))
    #expect(line("sqlite") { $0.hasSQLite = false }.mark == .warn)
  }
}
