import AttoATT
import Foundation
import Glibc
import TestSupport
import Testing

@testable import AttoDiagnosis
@testable import AttoKernelRadio

/// A tree of files like /proc and /sys.
private final class FakeMachine {
  private let folder = TemporaryFolder()
  var root: String { folder.path }

  init(_ files: [String: String], links: [String: String] = [:]) throws {
    for (path, text) in files { try write(path, Array(text.utf8)) }
    for (path, target) in links {
      makeFolders(path)
      try #require(symlink(target, root + path) == 0)
    }
  }

  func write(_ path: String, _ octets: [UInt8]) throws {
    makeFolders(path)
    let file = try #require(fopen(root + path, "w"))
    fwrite(octets, 1, octets.count, file)
    fclose(file)
  }

  private func makeFolders(_ path: String) {
    var folder = root
    for part in path.split(separator: "/").dropLast() {
      folder += "/\(part)"
      mkdir(folder, 0o700)
    }
  }

  var evidence: MachineEvidence { MachineEvidence(SystemFiles(root: root)) }
}

@Suite(.oneByOne) struct MachineEvidenceTests {
  @Test func anEmptyMachine() throws {
    let evidence = try FakeMachine([:]).evidence
    #expect(evidence.release == "?")
    #expect(evidence.isRegistered == nil)
    #expect(evidence.kernelOption == .unknown)
    #expect(evidence.namespace == .unknown)
    #expect(evidence.hasNetAdmin == nil)
    #expect(evidence.switches.isEmpty && evidence.daemons.isEmpty)
  }

  @Test func theKernel() throws {
    let machine = try FakeMachine(
      [
        "/proc/sys/kernel/osrelease": "6.12.1-x\n",
        "/boot/config-6.12.1-x": "CONFIG_A=y\nCONFIG_BT=m\n",
        "/lib/modules/6.12.1-x/modules.dep":
          "kernel/net/bluetooth/bluetooth.ko.xz: kernel/net/rfkill/rfkill.ko.xz\n",
        "/proc/modules": "hci_vhci 1 0 - Live 0x0\nbluetooth 2 1 hci_vhci, Live 0x0\nloop 1 0 -\n",
        "/proc/net/protocols": "protocol size\nL2CAP     1 2\nTCP 3\n",
        "/etc/modprobe.d/a.conf": "# blacklist bluetooth\nblacklist btusb\n",
        "/proc/sys/net/core/rmem_max": "212992\n",
      ], links: ["/proc/self/exe": "/opt/bin/atto"])
    let evidence = machine.evidence
    #expect(evidence.release == "6.12.1-x")
    #expect(evidence.program == "/opt/bin/atto")
    #expect(evidence.kernelOption == .module)
    #expect(evidence.kernelOptionSource == "/boot/config-6.12.1-x")
    #expect(evidence.hasModuleTree && evidence.hasModuleFile)
    #expect(evidence.modules == ["bluetooth", "hci_vhci"])
    #expect(evidence.isRegistered == true)
    #expect(evidence.blacklist == "/etc/modprobe.d/a.conf")
    #expect(evidence.receiveLimit == 212_992)
    try machine.write("/boot/config-6.12.1-x", Array("# CONFIG_BT is not set\n".utf8))
    try machine.write("/proc/net/protocols", Array("protocol size\nTCP 3\n".utf8))
    #expect(machine.evidence.kernelOption == .absent)
    #expect(machine.evidence.isRegistered == false)
  }

  @Test func theProcess() throws {
    let status = "Name:\tatto\nCapEff:\t0000000000001000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
    let machine = try FakeMachine(
      ["/proc/self/status": status, "/proc/self/uid_map": "         0       1000          1\n"],
      links: ["/proc/self/ns/net": "net:[4026532500]", "/proc/1/ns/net": "net:[4026531840]"])
    let evidence = machine.evidence
    #expect(evidence.hasNetAdmin == true)
    #expect(evidence.isFiltered && evidence.cannotGainPrivileges && evidence.isUserNamespace)
    #expect(evidence.namespace == .other)
    try machine.write("/proc/self/status", Array("CapEff:\t00000000a80425fb\n".utf8))
    try machine.write("/proc/self/uid_map", Array("         0          0 4294967295\n".utf8))
    try machine.write("/proc/net/l2cap", Array("sk RefCnt\n".utf8))
    #expect(machine.evidence.hasNetAdmin == false)
    #expect(!machine.evidence.isUserNamespace)
    #expect(machine.evidence.namespace == .initial)
  }

  @Test func oneNetworkForAllInAContainer() throws {
    // The first process that is to be seen is the container's, and tells nothing.
    let machine = try FakeMachine(
      ["/.dockerenv": ""],
      links: [
        "/proc/self/ns/net": "net:[4026532500]", "/proc/1/ns/net": "net:[4026532500]",
        "/proc/self/ns/pid": "pid:[4026532600]",
      ])
    #expect(machine.evidence.namespace == .unknown)
    #expect(machine.evidence.container == "docker")
    let outside = try FakeMachine(
      [:],
      links: [
        "/proc/self/ns/net": "net:[4026531992]", "/proc/1/ns/net": "net:[4026531992]",
        "/proc/self/ns/pid": "pid:[4026531836]",
      ])
    #expect(outside.evidence.namespace == .initial)
    #expect(outside.evidence.container == nil)
  }

  @Test func hardwareAndSwitches() throws {
    let machine = try FakeMachine(
      [
        "/sys/class/bluetooth/hci0/x": "", "/sys/class/bluetooth/hci0:64/x": "",
        "/sys/class/rfkill/rfkill0/type": "wlan\n",
        "/sys/class/rfkill/rfkill1/type": "bluetooth\n",
        "/sys/class/rfkill/rfkill1/name": "hci0\n",
        "/sys/class/rfkill/rfkill1/soft": "1\n", "/sys/class/rfkill/rfkill1/hard": "0\n",
        "/sys/bus/usb/devices/1-3:1.0/bInterfaceClass": "e0\n",
        "/sys/bus/usb/devices/1-3:1.0/bInterfaceSubClass": "01\n",
        "/sys/bus/usb/devices/1-3:1.0/bInterfaceProtocol": "01\n",
        "/sys/bus/usb/devices/1-4:1.0/bInterfaceClass": "03\n",
      ], links: ["/sys/bus/usb/devices/1-3:1.0/driver": "../../bus/usb/drivers/btusb"])
    let evidence = machine.evidence
    #expect(evidence.systemAdapters == ["hci0"])
    #expect(
      evidence.switches == [.init(entry: "rfkill1", name: "hci0", isSoft: true, isHard: false)])
    #expect(evidence.usbControllers == [.init(interface: "1-3:1.0", driver: "btusb")])
  }

  @Test func otherPrograms() throws {
    let machine = try FakeMachine(
      [
        "/proc/312/comm": "bluetoothd\n", "/proc/313/comm": "btmon\n", "/proc/99/comm": "sh\n",
        "/proc/net/hci":
          "sk RefCnt Rmem Wmem User Inode Parent\n0 2 0 0 0 4711 0\n0 2 0 0 0 4712 0\n",
        "/proc/net/l2cap":
          "sk RefCnt Rmem Wmem User Inode Parent\n0 2 0 0 0 4713 0\n0 2 0 0 0 0 0\n",
      ],
      links: [
        "/proc/312/fd/7": "socket:[4711]", "/proc/313/fd/3": "socket:[4712]",
        "/proc/99/fd/3": "socket:[1]", "/proc/99/fd/4": "pipe:[4713]",
      ])
    let evidence = machine.evidence
    #expect(evidence.daemons == [312])
    #expect(
      evidence.programs == [
        .init(process: 312, name: "bluetoothd"), .init(process: 313, name: "btmon"),
      ])
    #expect(evidence.foreignSockets == 1)
  }

  @Test func filesOfNoForm() throws {
    let machine = try FakeMachine([:])
    for path in [
      "/proc/sys/kernel/osrelease", "/proc/net/hci", "/proc/net/l2cap",
      "/proc/self/status", "/proc/self/uid_map", "/proc/modules", "/sys/class/rfkill/rfkill0/type",
    ] {
      try machine.write(path, [0xFF, 0, 10, 10, 0x20, 0x3A, 10])
    }
    #expect(machine.evidence.programs.isEmpty)
    #expect(machine.evidence.foreignSockets == 0)
  }
}

@Suite(.oneByOne) struct SystemFilesTests {
  @Test func filesThatAreTooLong() throws {
    let machine = try FakeMachine([:])
    try machine.write("/long", [UInt8](repeating: 7, count: 3 * SystemFiles.limit))
    let read = SystemFiles(root: machine.root).octets("/long")
    #expect(read?.count == SystemFiles.limit)
  }
}
