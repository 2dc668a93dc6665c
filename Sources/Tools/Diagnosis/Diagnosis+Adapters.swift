import AttoKernelRadio
import AttoRadio

extension Diagnosis {
  /// A fault of an adapter is a problem only if no other adapter is ready.
  static func adapters(_ evidence: MachineEvidence) -> [Check] {
    if let error = evidence.managementError {
      return [Check("adapter", .problem, "cannot use the kernel's management socket: \(error)")]
    }
    var checks = unusable(evidence)
    if evidence.adapters.isEmpty, checks.isEmpty { checks.append(none(evidence)) }
    let isReady = evidence.adapters.contains { $0.settings.isSuperset(of: [.powered, .le]) }
    for adapter in evidence.adapters {
      let version = adapter.versionText ?? "HCI version \(adapter.version)"
      checks.append(
        Check(
          "adapter", adapter: adapter.label, .ok,
          "\(adapter.address.digits), Bluetooth \(version)"
            + (adapter.name.isEmpty ? "" : ", \"\(adapter.name)\"")))
      checks += state(of: adapter, evidence, isReady ? .warn : .problem)
    }
    // A switch of the firmware belongs to no adapter, and may hide adapters.
    let labels = Set(evidence.adapters.map(\.label))
    for entry in evidence.switches where !labels.contains(entry.name) {
      if let check = blocked([entry], isReady ? .warn : .problem) { checks.append(check) }
    }
    return checks
  }

  private static func unusable(_ evidence: MachineEvidence) -> [Check] {
    let usual = Set(evidence.adapters.map(\.label))
    let unconfigured = Set(evidence.unconfigured.map { "hci\($0)" })
    let mark: Mark = evidence.adapters.isEmpty ? .problem : .warn
    return unconfigured.sorted().map {
      Check(
        "adapter", adapter: $0, mark,
        "the adapter has no address yet, so the kernel does not use it",
        remedy: "sudo btmgmt --index \($0.dropFirst(3)) public-addr AA:BB:CC:DD:EE:FF")
    }
      + evidence.systemAdapters.filter { !usual.contains($0) && !unconfigured.contains($0) }.map {
        Check(
          "adapter", adapter: $0, mark,
          "another program has exclusive use of the adapter (HCI user channel), or the kernel could "
            + "not set it up",
          remedy:
            "stop that program (Bumble, for instance), or look for errors: sudo dmesg | grep -i "
            + "bluetooth")
      }
  }

  private static func none(_ evidence: MachineEvidence) -> Check {
    let text = "there is no Bluetooth adapter"
    if let idle = evidence.usbControllers.first(where: { $0.driver == nil }) {
      return Check(
        "adapter", .problem,
        "\(text), but a controller on USB (\(idle.interface)) without a driver",
        remedy: evidence.blacklist.map {
          "remove the line that blocks it from \($0), then: sudo modprobe btusb"
        }
          ?? "sudo modprobe btusb")
    }
    if let taken = evidence.usbControllers.first {
      return Check(
        "adapter", .problem,
        "\(text), but a controller on USB (\(taken.interface)) that \(taken.driver ?? "?") could not "
          + "start; its firmware may be missing",
        remedy: "sudo dmesg | grep -iE 'bluetooth|firmware'")
    }
    return Check(
      "adapter", .problem, text,
      remedy: "connect one; a controller on a serial port needs sudo btattach; air: endpoints work "
        + "without an adapter")
  }

  private static func state(
    of adapter: AdapterInformation, _ evidence: MachineEvidence, _ mark: Mark
  ) -> [Check] {
    let label = adapter.label
    var checks: [Check] = []
    func add(_ name: String, _ mark: Mark, _ text: String, remedy: String? = nil) {
      checks.append(Check(name, adapter: label, mark, text, remedy: remedy))
    }
    guard adapter.supported.contains(.le) else {
      add(
        "le", mark, "the controller does not support LE",
        remedy: "use an adapter with Bluetooth 4.0 or later")
      return checks
    }
    let switches = evidence.switches.filter { $0.name == label }
    let block = blocked(switches, mark)
    if let block {
      checks.append(block)
    } else if !switches.isEmpty {
      add("rfkill", .ok, "not blocked")
    }
    let switchOn = "atto adapters \(label) --power on"
    if adapter.settings.contains(.powered) {
      add("power", .ok, "powered on")
    } else {
      add(
        "power", mark, "powered off",
        remedy: block == nil ? switchOn : "unblock it first, then: \(switchOn)")
    }
    if adapter.settings.contains(.le) {
      add("le", .ok, "LE is on")
    } else {
      add("le", mark, "LE is off", remedy: switchOn)
    }
    if adapter.address.value == 0 {
      add(
        "address", .warn, "the adapter has no public address, so le:@\(label) does not work",
        remedy: "use its random address: le:@AA:BB:CC:DD:EE:FF/random")
    }
    let isBondable = adapter.settings.contains(.bondable)
    add(
      "bondable", .ok,
      isBondable ? "bonding is on" : "bonding is off; atto serve and atto pair switch it on")
    let defaults = evidence.defaults[adapter.index]
    if let timeout = defaults?.supervisionTimeout {
      checks.append(supervision(of: label, timeout))
    }
    if let timing = defaults?.passiveScans { checks.append(scans(of: label, timing)) }
    return checks
  }

  /// The shortest default supervision timeout without a remark, in units of 10 ms. With 420 ms, the default of
  /// Linux, 50 of 1,847 links of a device were lost, and none with 720 ms (Analog Devices' msdk, issue 1508).
  private static let enoughSupervision: UInt16 = 72

  /// It works, but a weak link may not last.
  private static func supervision(of label: String, _ timeout: UInt16) -> Check {
    let text =
      "a new link ends after \(Int(timeout) * 10) ms without a packet (supervision timeout)"
    guard timeout < enoughSupervision else {
      return Check("supervision", adapter: label, .ok, text)
    }
    return Check(
      "supervision", adapter: label, .ok, text + ": too short for some weak links",
      remedy: "if links are lost, 2 s: echo 200 | sudo tee "
        + "/sys/kernel/debug/bluetooth/\(label)/supervision_timeout")
  }

  /// Passive scans listen for half of the time by default, and an advertisement in the other half is lost.
  private static func scans(of label: String, _ timing: ScanTiming) -> Check {
    let text = "a passive scan listens for \(timing)"
    guard timing.share < 1 else { return Check("scans", adapter: label, .ok, text) }
    return Check(
      "scans", adapter: label, .ok, text,
      remedy: "to hear more: atto scan --passive --scan-window 60ms --scan-interval 60ms; the keys"
        + " scanWindowMilliseconds and scanIntervalMilliseconds of a gateway")
  }

  /// A check of rfkill entries; nil if they block nothing.
  private static func blocked(_ switches: [RadioSwitch], _ mark: Mark) -> Check? {
    if let hard = switches.first(where: \.isHard) {
      return Check(
        "rfkill", adapter: hard.name, mark,
        "blocked by a hardware switch or the firmware (\(hard.entry))",
        remedy:
          "use the hardware switch or key (airplane mode), or the setup of the firmware")
    }
    if let soft = switches.first(where: \.isSoft) {
      return Check(
        "rfkill", adapter: soft.name, mark, "blocked by software (\(soft.entry))",
        remedy: "sudo rfkill unblock bluetooth, or: echo 0 | sudo tee /sys/class/rfkill/"
          + "\(soft.entry)/soft")
    }
    return nil
  }
}
